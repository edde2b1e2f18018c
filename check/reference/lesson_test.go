package reference

// Lessons that lead from package attention to this one. Each runs as a test.

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"picogpt/dev/fixture"
	"picogpt/kernels"
	"picogpt/weights"
	"picogpt/weights/demo"
	layers "picogpt/x/attention"
)

// The first lesson of package attention by this package's function: the same vectors, the same
// results. With the causal mask the first vector sees itself alone.
func Example_attention() {
	x := NewMatrix(3, 2, []float64{1, 0, 0, 1, 1, 1}) // [n_seq, d]: queries, keys and values
	none := NewMatrix(3, 3, nil)                      // [n_seq, n_seq]: hides nothing
	for _, mask := range []*Matrix{none, causalMask(3)} {
		y := attention(x, x, x, mask, 1/math.Sqrt2) // [n_seq, d]
		fmt.Printf("%.4f\n", mat.Formatted(mat.NewDense(3, 2, y.Data)))
	}
	// Output:
	// ⎡0.8022  0.5989⎤
	// ⎢0.5989  0.8022⎥
	// ⎣0.7517  0.7517⎦
	// ⎡1.0000  0.0000⎤
	// ⎢0.3302  0.6698⎥
	// ⎣0.7517  0.7517⎦
}

// The attention of the demo's first block, on "Once upon a time": this package's in float64, and a
// layer of package attention with the same parameters in float32.
func Example_mha() {
	hp, err := ParseHParams(demo.Config())
	if err != nil {
		panic(err)
	}
	f, err := weights.FromBytes("demo", demo.Weights())
	if err != nil {
		panic(err)
	}
	p, err := FromTensors(hp, fixture.Tensors64(f))
	if err != nil {
		panic(err)
	}
	block := p.Blocks[0]
	x := layerNorm(embed([]int{7454, 2402, 257, 640}, p), block.LN1, hp.Epsilon) // [4, n_embd]
	want := mha(x, block.Attn, hp, 0)                                            // [4, n_embd]

	team, err := kernels.NewTeam(2, "")
	if err != nil {
		panic(err)
	}
	defer team.Close()
	in, out := block.Attn.CAttn, block.Attn.CProj
	l := layers.NewGPT2(floats32(in.W.Data), floats32(in.B),
		floats32(out.W.Data), floats32(out.B), hp.Embd, hp.Head)
	got := make([]float32, 4*hp.Embd)
	l.Self(team, got, floats32(x.Data), 1, 4, layers.Options{Causal: true})

	largest, apart := 0.0, 0.0
	for i, v := range want.Data {
		largest, apart = max(largest, math.Abs(v)), max(apart, math.Abs(v-float64(got[i])))
	}
	fmt.Println("the same but for float32's rounding:", apart < 1e-6*largest)
	// Output: the same but for float32's rounding: true
}

func floats32(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
