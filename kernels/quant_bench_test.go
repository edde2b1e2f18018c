package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkQuantLinear is a layer of GPT-2's mlp: one row reads memory, many rows multiply. MB/s
// are of weights; compare formats by ns/op.
func BenchmarkQuantLinear(b *testing.B) {
	const in, out, copies = 768, 3072, 16 // copies: more than a cache holds, for one row
	rng := rand.New(rand.NewPCG(13, 14))
	for _, threads := range []int{1, 2} {
		team := newTeam(b, threads, "")
		for _, f := range []Format{F32, Q8, Q4} {
			var ms [copies]Matrix
			for i := range ms {
				ms[i] = Convert(team, f, &Matrix{In: in, Out: out, F32: randoms(rng, in*out)})
			}
			for _, rows := range []int{1, 8, 512} {
				x, y := randoms(rng, rows*in), make([]float32, rows*out)
				b.Run(fmt.Sprintf("%v/threads=%d/rows=%d", f, threads, rows), func(b *testing.B) {
					b.SetBytes(ms[0].Bytes())
					n := 0
					body := func(w *Worker) { Linear(w, y, x, rows, &ms[n%copies], nil) }
					for b.Loop() {
						team.Run(body)
						n++
					}
				})
			}
		}
	}
}

func BenchmarkConvert(b *testing.B) {
	const in, out = 768, 768
	team := newTeam(b, 1, "")
	src := Matrix{In: in, Out: out, F32: randoms(rand.New(rand.NewPCG(15, 16)), in*out)}
	for _, f := range []Format{F16, Q8, Q4} {
		b.Run(f.String(), func(b *testing.B) {
			b.SetBytes(4 * in * out)
			for b.Loop() {
				Convert(team, f, &src)
			}
		})
	}
}
