package inside_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/model"
)

// BenchmarkLens measures the lens of 512 tokens beside their prompt, in turns.
func BenchmarkLens(b *testing.B) {
	o := fixture.Options{Vocab: 50257, Positions: 1024, Embd: 768, Head: 12, Layer: 12}
	config, file := fixture.Checkpoint(o)
	m := testmodel.New(b, config, file, model.Options{})
	r, ids := rand.New(rand.NewPCG(3, 4)), make([]int, 512)
	for i := range ids {
		ids[i] = r.IntN(o.Vocab)
	}
	ctx := context.Background()
	seconds := func(f func() error) float64 {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start).Seconds()
	}
	var prompt, lens []float64
	for b.Loop() {
		prompt = append(prompt, seconds(func() error {
			s := m.NewSession()
			defer s.Release()
			return m.Eval(ctx, model.Input{Session: s, Tokens: ids})
		}))
		lens = append(lens, seconds(func() error {
			_, err := inside.Lens(ctx, m, ids, inside.LensOptions{})
			return err
		}))
	}
	median := func(x []float64) float64 { slices.Sort(x); return x[len(x)/2] }
	b.ReportMetric(median(prompt), "prompt-s")
	b.ReportMetric(median(lens), "lens-s")
	b.ReportMetric(median(lens)/median(prompt), "lens/prompt")
}
