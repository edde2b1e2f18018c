package cuda

// What a token costs on a device, counted on the interpreter: SPEED.md predicts from it.

import (
	"context"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/ptx"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/model/gpu"
)

// tokenCounts counts the second token of a text.
func tokenCounts(t *testing.T, format string, embd, layers, vocab int) ptx.Counts {
	t.Helper()
	program, err := ptx.Parse(kernels)
	if err != nil {
		t.Fatal(err)
	}
	d := ptx.NewDriver(program, 1)
	device := gpu.NewDevice(gpu.Info{Name: "interpreter", Memory: 1 << 30},
		func() (gpu.Driver, error) { return d, nil }).WithoutProbe()
	config, file := fixture.Checkpoint(fixture.Options{
		Seed: 9, Vocab: vocab, Positions: 64, Embd: embd, Head: embd / 64, Layer: layers,
	})
	m := testmodel.New(t, config, file,
		model.Options{Format: format, CacheFormat: "f16", Device: device, Threads: 1})
	s := m.NewSession()
	var before ptx.Counts
	for id := range 2 {
		before = d.Counts
		in := model.Input{Session: s, Tokens: []int{id}}
		if err := m.Eval(context.Background(), in); err != nil {
			t.Fatal(err)
		}
	}
	return d.Counts.Less(before)
}

// A token runs each weight's multiply-add once, and loads each weight once. Every layer costs the
// same, and every 64 ids; so small models say what the 12 layers and 50,257 ids of GPT-2 124M take.
// With the build tag long they have its widths, and -v prints that.
func TestATokenLoadsEachWeightOnce(t *testing.T) {
	cases.NotShort(t)
	embd := 256 // whole segments: past the end of one, numbers are loaded again
	if cases.Long {
		embd = 768
	}
	for format, bytes := range map[string]float64{"f32": 4, "f16": 2, "q8": 17. / 16} {
		one := tokenCounts(t, format, embd, 1, 64)
		layer := tokenCounts(t, format, embd, 2, 64).Less(one)
		ids := tokenCounts(t, format, embd, 1, 128).Less(one)
		weights, biasesAndNorms := float64(12*embd*embd), float64(13*embd*4) // and bytes
		// each group of c_proj also computes the activations of its inputs
		if got := float64(layer.FMAs) / weights; format != "q8" && (got < 1 || got > 1.25) {
			t.Errorf("%s: %.3f fma for each weight of a layer", format, got)
		}
		for what, got := range map[string]float64{
			"a layer's weights": (float64(layer.WeightBytes) - biasesAndNorms) / weights / bytes,
			"the head":          float64(ids.WeightBytes) / float64(64*embd) / bytes,
		} {
			if got < 1 || got > 1.1 { // the plan of a pass is small
				t.Errorf("%s: each byte of %s is loaded %.3f times", format, what, got)
			}
		}
		sum := func(count func(c ptx.Counts) int64) float64 {
			return float64(count(one)+11*count(layer)) + float64(count(ids))*(50257-64)/64
		}
		t.Logf("%s: %.0f launches, %.1f M instructions, %.2f M of warps, %.1f M fma; "+
			"MB: %.1f of weights, %.1f other loads, %.2f stored", format,
			sum(func(c ptx.Counts) int64 { return c.Launches }),
			sum(func(c ptx.Counts) int64 { return c.Instructions })/1e6,
			sum(func(c ptx.Counts) int64 { return c.WarpInstructions })/1e6,
			sum(func(c ptx.Counts) int64 { return c.FMAs })/1e6,
			sum(func(c ptx.Counts) int64 { return c.WeightBytes })/1e6,
			sum(func(c ptx.Counts) int64 { return c.LoadBytes })/1e6,
			sum(func(c ptx.Counts) int64 { return c.StoreBytes })/1e6)
	}
}
