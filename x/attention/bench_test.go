package attention_test

import (
	"math/rand/v2"
	"testing"

	"picogpt/x/attention"
)

func BenchmarkScaledDotProduct(b *testing.B) {
	for name, s := range map[string]attention.Sizes{
		"one head of 512": {Batch: 1, Heads: 1, Queries: 1024, Keys: 1024, KeyDim: 512,
			ValueDim: 512},
		"heads of 64": {Batch: 4, Heads: 8, Queries: 128, Keys: 128, KeyDim: 64, ValueDim: 64},
	} {
		b.Run(name, func(b *testing.B) {
			p, team := newProblem(rand.New(rand.NewPCG(1, 1)), s, attention.Options{}),
				newTeam(b, 0, "")
			dst := make([]float32, s.Batch*s.Heads*s.Queries*s.ValueDim)
			for b.Loop() {
				attention.ScaledDotProduct(team, dst, p.q, p.k, p.v, s, p.Options)
			}
			operations := 2 * float64(s.Batch*s.Heads*s.Queries) * float64(s.Keys) * float64(s.KeyDim+s.ValueDim)
			b.ReportMetric(operations*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkLinear(b *testing.B) {
	s := attention.Sizes{Batch: 1, Heads: 1, Queries: 2048, Keys: 2048, KeyDim: 256, ValueDim: 256}
	p, team := newProblem(rand.New(rand.NewPCG(1, 1)), s, attention.Options{}), newTeam(b, 0, "")
	dst := make([]float32, s.Queries*s.ValueDim)
	for b.Loop() {
		attention.Linear(team, dst, p.q, p.k, p.v, s, attention.LinearOptions{})
	}
}
