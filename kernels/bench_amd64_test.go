//go:build !purego

package kernels

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkAhead is each layer of GPT-2 124M, twelve times, and its head, for one row of f32: where
// leaves ask for memory that they need later and where they do not, in turns.
func BenchmarkAhead(b *testing.B) {
	was := asksAhead
	defer func() { asksAhead = was }()
	team := newTeam(b, benchThreads, "")
	for _, s := range append(gpt2Shapes, [2]int{0, 50257}) {
		layout, n := InOut, 12
		if s[0] == 0 {
			layout, n, s[0] = OutIn, 1, 768
		}
		var layers []*Matrix
		for range max(n, 150<<20/(4*s[0]*s[1])) {
			layers = append(layers, filledMatrix(F32, layout, s[0], s[1]))
		}
		x, y := filled(s[0]), make([]float32, s[1])
		var times [2]time.Duration
		b.Run(fmt.Sprintf("%v/%dx%d", F32, s[0], s[1]), func(b *testing.B) {
			for b.Loop() {
				for i := range times {
					asksAhead = i == 1
					start := time.Now()
					team.Run(func(w *Worker) {
						for _, m := range layers {
							Linear(w, y, x, 1, m, nil)
						}
					})
					times[i] += time.Since(start)
				}
			}
			b.ReportMetric(times[0].Seconds()/times[1].Seconds(), "without/with")
		})
	}
}
