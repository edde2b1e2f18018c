package attention_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"picogpt/x/attention"
)

// A slice that does not fit is a caller's bug: the panic names it, what it holds and what was
// wanted.
func TestPanics(t *testing.T) {
	team := newTeam(t, 1, "go")
	f := func(n int) []float32 { return make([]float32, n) }
	s := attention.Sizes{Batch: 1, Heads: 2, Queries: 3, Keys: 4, KeyDim: 5, ValueDim: 6}
	sdpa := func(dst, q, k, v int, o attention.Options) func() {
		return func() { attention.ScaledDotProduct(team, f(dst), f(q), f(k), f(v), s, o) }
	}
	l := attention.NewGPT2(f(4*12), f(12), f(16), f(4), 4, 2)
	head := attention.Head{WQ: f(8), WK: f(8), WV: f(8)}
	for name, c := range map[string]struct {
		call func()
		want []string
	}{
		"q": {sdpa(36, 31, 40, 48, attention.Options{}),
			[]string{"q [batch heads queries key_dim] has 31 numbers", "want [1 2 3 5] = 30"}},
		"k": {sdpa(36, 30, 39, 48, attention.Options{}),
			[]string{"k [batch heads keys key_dim] has 39 numbers", "want [1 2 4 5] = 40"}},
		"v": {sdpa(36, 30, 40, 40, attention.Options{}),
			[]string{"v [batch heads keys value_dim] has 40 numbers", "want [1 2 4 6] = 48"}},
		"dst": {sdpa(0, 30, 40, 48, attention.Options{}),
			[]string{"dst [batch heads queries value_dim] has 0 numbers", "want [1 2 3 6] = 36"}},
		"weights": {sdpa(36, 30, 40, 48, attention.Options{Weights: f(7)}),
			[]string{"Weights [batch heads queries keys] has 7", "[1 2 3 4] = 24"}},
		"mean weights": {sdpa(36, 30, 40, 48, attention.Options{MeanWeights: f(7)}),
			[]string{"MeanWeights [batch queries keys] has 7", "[1 3 4] = 12"}},
		"mask": {sdpa(36, 30, 40, 48, attention.Options{Mask: attention.Mask{Add: f(11)}}),
			[]string{"Mask.Add has 11 numbers", "[1 1 3 4] = 12"}},
		"keep": {sdpa(36, 30, 40, 48,
			attention.Options{Mask: attention.Mask{Keep: make([]bool, 3)}}),
			[]string{"Mask.Keep has 3 numbers", "[1 1 3 4] = 12"}},
		"mask's shape": {sdpa(36, 30, 40, 48,
			attention.Options{Mask: attention.Mask{Add: f(6), Shape: [4]int{1, 2, 3, 1}}}),
			[]string{"Mask.Shape is [1 2 3 1]", "[1 2 3 4]"}},
		"past": {sdpa(36, 30, 40, 48, attention.Options{Past: 1}),
			[]string{"Past is 1 with Causal false"}},
		"negative size": {func() {
			attention.ScaledDotProduct(team, nil, nil, nil, nil, attention.Sizes{Batch: -1},
				attention.Options{})
		}, []string{"sizes [-1 0 0 0]"}},

		"c_attn": {func() { attention.NewGPT2(f(47), f(12), f(16), f(4), 4, 2) },
			[]string{"c_attn [width 3·width] has 47", "[4 12] = 48"}},
		"c_attn bias": {func() { attention.NewGPT2(f(48), f(4), f(16), f(4), 4, 2) },
			[]string{"c_attn bias [3·width] has 4", "[12] = 12"}},
		"heads": {func() { attention.NewGPT2(f(48), f(12), f(16), f(4), 4, 3) },
			[]string{"3 heads", "4 wide", "divisor"}},
		"no heads": {func() { attention.NewTorch(f(48), nil, f(16), nil, 4, 0) },
			[]string{"0 heads"}},
		"in_proj": {func() { attention.NewTorch(f(40), nil, f(16), nil, 4, 2) },
			[]string{"in_proj_weight [3·width width] has 40", "[12 4] = 48"}},
		"V": {func() { attention.NewEinsum(f(16), f(16), f(15), f(16), 4, 2) },
			[]string{"V [width width] has 15", "[4 4] = 16"}},
		"bu": {func() { attention.NewFullWidth(f(16), f(16), f(16), f(16), f(3), 4, 2) },
			[]string{"bias of the unifying projection [width] has 3", "4"}},
		"WK": {func() {
			attention.NewHead(attention.Head{WQ: f(8), WK: f(7), WV: f(8)}, 4,
				2, 2)
		}, []string{"WK [key_dim in] has 7", "[2 4] = 8"}},
		"Reduce": {func() {
			attention.NewReduced([]attention.Head{head}, nil, nil, 4, 4, 2,
				2)
		}, []string{"Reduce [reduced width] has 0", "[4 4] = 16"}},
		"Reduce set": {func() { attention.NewHead(attention.Head{Reduce: f(16)}, 4, 2, 2) },
			[]string{"Reduce is set"}},

		"x": {func() { l.Self(team, f(12), f(11), 1, 3, attention.Options{}) },
			[]string{"query [batch queries width] has 11", "[1 3 4] = 12"}},
		"memory": {func() {
			l.Forward(team, f(12), f(12), f(8), f(12), 1, 3, 3,
				attention.Options{})
		}, []string{"key [batch keys width] has 8", "[1 3 4] = 12"}},
		"out": {func() {
			l.Linear(team, f(1), f(12), f(12), f(12), 1, 3, 3,
				attention.LinearOptions{})
		}, []string{"dst [batch queries out_width] has 1",
			"[1 3 4] = 12"}},
		"cache": {func() { l.Next(team, f(12), f(12), 1, 3, attention.NewCache(1, 2, 2, 3)) },
			[]string{"the cache is", "[1 2 2 3]", "want [1 2 2 2]"}},
		"state": {func() {
			l.NextLinear(team, f(12), f(12), 1, 3,
				attention.NewLinearState(2, 2, 2, 2, attention.LinearOptions{}))
		}, []string{"the state is", "[2 2 2 2]", "want [1 2 2 2]"}},
		"append": {func() {
			attention.NewCache(1, 2, 3, 4).Append(team, f(8), f(6), f(5), f(8), 1,
				0)
		}, []string{"k [batch heads tokens key_dim] has 5", "[1 2 1 3] = 6"}},
		"linear": {func() {
			attention.Linear(team, f(36), f(30), f(40), f(47), s,
				attention.LinearOptions{})
		}, []string{"v [batch heads keys value_dim] has 47"}},
		"linear append": {func() {
			attention.NewLinearState(1, 2, 3, 4, attention.LinearOptions{}).Append(team, f(7), f(6),
				f(6), f(8), 1)
		}, []string{"dst [batch heads tokens value_dim] has 7", "[1 2 1 4] = 8"}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				message := fmt.Sprint(recover())
				for _, want := range c.want {
					if !strings.Contains(message, want) {
						t.Errorf("panic %q, want %q in it", message, want)
					}
				}
			}()
			c.call()
		})
	}
}

// A feature map that panics on any worker panics in the caller, and the state is as it was: the
// same tokens can be appended again, with the results that they would have had.
func TestAPanicInAFeatureMap(t *testing.T) {
	const heads, tokens, dim = 4, 70, 3
	r := rand.New(rand.NewPCG(81, 82))
	x := randoms(r, 3*heads*tokens*dim)
	for at := range int64(4 * heads) {
		var calls atomic.Int64
		calls.Store(1 << 20)
		options := attention.LinearOptions{Map: func(dst, x []float32) {
			if calls.Add(-1) == 0 {
				panic("map")
			}
			elu1(dst, x)
		}}
		team := newTeam(t, 3, "")
		run := func(fails bool) []float32 {
			state := attention.NewLinearState(1, heads, dim, dim, options)
			dst := make([]float32, heads*tokens*dim)
			for from := range 3 {
				part := x[from*heads*tokens*dim:][:heads*tokens*dim]
				if fails {
					calls.Store(1 + at*tokens/2)
					value := func() (value any) {
						defer func() { value = recover() }()
						state.Append(team, dst, part, part, part, tokens)
						return nil
					}()
					if value != "map" || state.Len() != from*tokens {
						t.Fatalf("Append panics with %v and holds %d tokens, want map and %d",
							value, state.Len(), from*tokens)
					}
					calls.Store(1 << 20)
				}
				state.Append(team, dst, part, part, part, tokens)
			}
			return dst
		}
		sameBits(t, "after panics", run(true), run(false))
	}
}
