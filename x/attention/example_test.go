package attention_test

// Lessons: each runs as a test.

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"picogpt/kernels"
	"picogpt/x/attention"
)

func exampleTeam() *kernels.Team {
	team, err := kernels.NewTeam(2, "")
	if err != nil {
		log.Fatal(err)
	}
	return team
}

// Why the scores are divided by √d. The product of two random vectors grows as √d, and softmax of
// large numbers gives nearly all the weight to one key: then there is almost no gradient to learn
// from. Divided by √d, the scores are of the order of one for any d.
func Example_whyScale() {
	team := exampleTeam()
	defer team.Close()
	const keys = 16
	for _, d := range []int{4, 64, 1024} {
		r := rand.New(rand.NewPCG(1, uint64(d)))
		q, k, v := randomVectors(r, 1, d), randomVectors(r, keys, d), make([]float32, keys)
		s := attention.Sizes{Batch: 1, Heads: 1, Queries: 1, Keys: keys, KeyDim: d, ValueDim: 1}
		var largest [2]float32
		for i, scale := range []float32{1, float32(1 / math.Sqrt(float64(d)))} {
			weights := make([]float32, keys)
			attention.ScaledDotProduct(team, make([]float32, 1), q, k, v, s,
				attention.Options{Scale: scale, Weights: weights})
			for _, w := range weights {
				largest[i] = max(largest[i], w)
			}
		}
		fmt.Printf("d = %4d: the largest of %d weights is %.2f, and %.2f with 1/√d\n", d, keys,
			largest[0], largest[1])
	}
	// Output:
	// d =    4: the largest of 16 weights is 0.31, and 0.16 with 1/√d
	// d =   64: the largest of 16 weights is 1.00, and 0.30 with 1/√d
	// d = 1024: the largest of 16 weights is 1.00, and 0.28 with 1/√d
}

func randomVectors(r *rand.Rand, n, d int) []float32 {
	x := make([]float32, n*d)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// What a causal mask does: each token sees itself and the tokens before it. All scores are equal
// here, so that a token has equal weights for all tokens that it sees, and the result is the mean
// of their values.
func Example_causalMask() {
	team := exampleTeam()
	defer team.Close()
	q, k := make([]float32, 4*2), make([]float32, 4*2) // [4, 2]: zeros, so that every score is 0
	v := []float32{1, 2, 3, 4}                         // [4, 1]
	s := attention.Sizes{Batch: 1, Heads: 1, Queries: 4, Keys: 4, KeyDim: 2, ValueDim: 1}
	for _, causal := range []bool{false, true} {
		out, weights := make([]float32, 4), make([]float32, 4*4)
		attention.ScaledDotProduct(team, out, q, k, v, s,
			attention.Options{Causal: causal, Weights: weights})
		fmt.Println("causal:", causal)
		for i := range 4 {
			fmt.Printf("  weights %.2f -> %.2f\n", weights[i*4:(i+1)*4], out[i])
		}
	}
	// Output:
	// causal: false
	//   weights [0.25 0.25 0.25 0.25] -> 2.50
	//   weights [0.25 0.25 0.25 0.25] -> 2.50
	//   weights [0.25 0.25 0.25 0.25] -> 2.50
	//   weights [0.25 0.25 0.25 0.25] -> 2.50
	// causal: true
	//   weights [1.00 0.00 0.00 0.00] -> 1.00
	//   weights [0.50 0.50 0.00 0.00] -> 1.50
	//   weights [0.33 0.33 0.33 0.00] -> 2.00
	//   weights [0.25 0.25 0.25 0.25] -> 2.50
}

// Self-attention by hand, on three vectors: they are queries, keys and values at once.
func Example_selfAttention() {
	x := [][]float64{{1, 0}, {0, 1}, {1, 1}}
	for _, q := range x {
		var weights [3]float64
		sum := 0.0
		for j, k := range x {
			// exp of the score: how much they have in common
			weights[j] = math.Exp((q[0]*k[0] + q[1]*k[1]) / math.Sqrt2)
			sum += weights[j]
		}
		var out [2]float64
		for j, v := range x {
			weights[j] /= sum // now they add up to 1
			out[0] += weights[j] * v[0]
			out[1] += weights[j] * v[1]
		}
		fmt.Printf("by hand  %.4f weights %.4f\n", out, weights)
	}

	team := exampleTeam()
	defer team.Close()
	flat := []float32{1, 0, 0, 1, 1, 1} // [1, 1, 3, 2]
	s := attention.Sizes{Batch: 1, Heads: 1, Queries: 3, Keys: 3, KeyDim: 2, ValueDim: 2}
	out, weights := make([]float32, 6), make([]float32, 9)
	attention.ScaledDotProduct(team, out, flat, flat, flat, s, attention.Options{Weights: weights})
	for i := range 3 {
		fmt.Printf("SDPA     %.4f weights %.4f\n", out[i*2:i*2+2], weights[i*3:i*3+3])
	}
	// Output:
	// by hand  [0.8022 0.5989] weights [0.4011 0.1978 0.4011]
	// by hand  [0.5989 0.8022] weights [0.1978 0.4011 0.4011]
	// by hand  [0.7517 0.7517] weights [0.2483 0.2483 0.5035]
	// SDPA     [0.8022 0.5989] weights [0.4011 0.1978 0.4011]
	// SDPA     [0.5989 0.8022] weights [0.1978 0.4011 0.4011]
	// SDPA     [0.7517 0.7517] weights [0.2483 0.2483 0.5035]
}

// Cross-attention: the queries come from one sequence, the keys and values from another, which has
// another length. Here a key is the name of a drawer, its value is the contents, and each query
// asks for one drawer with a large score, the last one for either of two.
func Example_crossAttention() {
	team := exampleTeam()
	defer team.Close()
	keys := []float32{ // [3, 3]
		1, 0, 0,
		0, 1, 0,
		0, 0, 1,
	}
	values := []float32{ // [3, 2]
		10, 11,
		20, 21,
		40, 41,
	}
	queries := []float32{ // [2, 3]
		0, 30, 0,
		30, 0, 30,
	}
	s := attention.Sizes{Batch: 1, Heads: 1, Queries: 2, Keys: 3, KeyDim: 3, ValueDim: 2}
	out, weights := make([]float32, 2*2), make([]float32, 2*3)
	attention.ScaledDotProduct(team, out, queries, keys, values, s,
		attention.Options{Weights: weights})
	for i := range 2 {
		fmt.Printf("weights %.3f -> %.2f\n", weights[i*3:i*3+3], out[i*2:i*2+2])
	}
	// Output:
	// weights [0.000 1.000 0.000] -> [20.00 21.00]
	// weights [0.500 0.000 0.500] -> [25.00 26.00]
}

// What softmax and linear attention cost. Softmax compares each of N queries with each of N keys:
// 2·N²·d multiplications for one head. Linear attention sums keys and values once, into a d×d
// matrix, and multiplies each query with that: 2·N·d². They cost the same if N = d.
func Example_cost() {
	const d = 64
	for _, n := range []int{64, 1024, 16384} {
		softmax, linear := 2*n*n*d, 2*n*d*d
		fmt.Printf("N = %5d: softmax %11d, linear %9d multiplications, %d times as many\n", n,
			softmax, linear, softmax/linear)
	}

	// The price: a sum does not know the single keys any more. For two keys of the same direction,
	// one of them longer, softmax gives any preference, depending on the length of the query;
	// linear attention with φ = elu+1 prefers the longer one only a little.
	team := exampleTeam()
	defer team.Close()
	s := attention.Sizes{Batch: 1, Heads: 1, Queries: 1, Keys: 2, KeyDim: 1, ValueDim: 1}
	// the result is the weight of the second key
	query, keys, values := []float32{5}, []float32{1, 3}, []float32{0, 1}
	var sharp, soft [1]float32
	attention.ScaledDotProduct(team, sharp[:], query, keys, values, s, attention.Options{})
	attention.Linear(team, soft[:], query, keys, values, s, attention.LinearOptions{})
	fmt.Printf("weight of the longer key: softmax %.4f, linear %.4f\n", sharp[0], soft[0])
	// Output:
	// N =    64: softmax      524288, linear    524288 multiplications, 1 times as many
	// N =  1024: softmax   134217728, linear   8388608 multiplications, 16 times as many
	// N = 16384: softmax 34359738368, linear 134217728 multiplications, 256 times as many
	// weight of the longer key: softmax 1.0000, linear 0.6667
}

// A sequence that continues: the cache holds the keys and values so far, and the results token by
// token are those of the whole sequence.
func ExampleLayer_Next() {
	team := exampleTeam()
	defer team.Close()
	const width, tokens = 8, 5
	r := rand.New(rand.NewPCG(1, 2))
	l := attention.NewGPT2(randomVectors(r, width, 3*width), make([]float32, 3*width),
		randomVectors(r, width, width), make([]float32, width), width, 2)
	x := randomVectors(r, tokens, width)

	whole := make([]float32, tokens*width)
	l.Self(team, whole, x, 1, tokens, attention.Options{Causal: true})

	cache := attention.NewCache(1, l.Heads(), l.KeyDim(), l.ValueDim())
	same := true
	for i := range tokens {
		out := make([]float32, width)
		l.Next(team, out, x[i*width:(i+1)*width], 1, 1, cache)
		for j := range out {
			same = same && out[j] == whole[i*width+j]
		}
	}
	fmt.Println(cache.Len(), "tokens, the same bits:", same)
	// Output:
	// 5 tokens, the same bits: true
}
