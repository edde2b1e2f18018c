package attention_test

// The lesson that leads from this package to picoGPT, check/reference.

import (
	"errors"
	"fmt"
	"math"

	"picogpt/check/reference"
	"picogpt/dev/fixture"
	"picogpt/kernels"
	"picogpt/weights"
	"picogpt/weights/demo"
	"picogpt/x/attention"
)

// The attention of the demo's first block, on "Once upon a time": picoGPT's in float64, and a layer
// of this package with the same parameters in float32.
func Example_mha() {
	hp, err := reference.ParseHParams(demo.Config())
	if err != nil {
		panic(err)
	}
	f, err := weights.FromBytes("demo", demo.Weights())
	if err != nil {
		panic(err)
	}
	p, err := reference.FromTensors(hp, fixture.Tensors64(f))
	if err != nil {
		panic(err)
	}

	// Of the first block only attention is left: its MLP adds zeros. What the second block is given
	// less what the first one was given is what attention has added.
	first, out := p.Blocks[0], p.Blocks[0].MLP.CProj
	p.Blocks[0].MLP.CProj = reference.Linear{W: reference.NewMatrix(out.W.Rows, out.W.Cols, nil),
		B: make([]float64, len(out.B))}
	var given []*reference.Matrix // [4, n_embd] for each block
	enough := errors.New("two blocks")
	p.Watch = func(layer int, x *reference.Matrix) error {
		if given = append(given, x); layer == 1 {
			return enough
		}
		return nil
	}
	if _, err := reference.GPT2([]int{7454, 2402, 257, 640}, p, hp); err != enough {
		panic(err)
	}

	team, err := kernels.NewTeam(2, "")
	if err != nil {
		panic(err)
	}
	defer team.Close()
	attn := first.Attn
	l := attention.NewGPT2(floats32(attn.CAttn.W.Data), floats32(attn.CAttn.B),
		floats32(attn.CProj.W.Data), floats32(attn.CProj.B), hp.Embd, hp.Head)
	x := make([]float32, 0, 4*hp.Embd) // [4, n_embd]: normalized, as attention is given it
	for i := range 4 {
		x = append(x, normalized(given[0].Row(i), first.LN1, hp.Epsilon)...)
	}
	got := make([]float32, 4*hp.Embd)
	l.Self(team, got, x, 1, 4, attention.Options{Causal: true})

	largest, apart := 0.0, 0.0
	for i, v := range given[1].Data {
		want := v - given[0].Data[i]
		largest, apart = max(largest, math.Abs(want)), max(apart, math.Abs(want-float64(got[i])))
	}
	fmt.Println("the same but for float32's rounding:", apart < 1e-6*largest)
	// Output: the same but for float32's rounding: true
}

// normalized is LayerNorm of one row.
func normalized(x []float64, ln reference.LayerNorm, epsilon float64) []float32 {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(ln.G[i]*(v-mean)/math.Sqrt(variance+epsilon) + ln.B[i])
	}
	return y
}

func floats32(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
