package kernels

// The benchmarks of attention: of a decoding step, beside a plain reading of as many bytes, and of a
// prompt, beside the multiply-adds that it needs.

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkDecodeAttention is the attention of one token of GPT-2 124M, all layers, where each of
// several sessions in turn holds 900 tokens: their keys and values are in no cache. of-read is its
// speed beside that of reading as many bytes, both at their best.
func BenchmarkDecodeAttention(b *testing.B) {
	const layers, heads, dim, sessions = 12, 12, 64, 6
	team := newTeam(b, benchThreads, "")
	memory := make([]byte, 512<<20)
	for i := range memory {
		memory[i] = 1
	}
	qkv, out := filled(3*heads*dim), make([]float32, heads*dim)
	for _, format := range []Format{F32, F16, Q8} {
		const tokens = 900
		var spans [sessions][]Span
		for i := range spans {
			s := Span{
				Rows: 1, Heads: heads, KeyDim: dim, ValueDim: dim, Tokens: tokens,
				Query: HeadRows{Data: qkv, Head: dim},
				Key:   HeadRows{Data: qkv[heads*dim:], Head: dim},
				Value: HeadRows{Data: qkv[2*heads*dim:], Head: dim},
				Out:   HeadRows{Data: out, Head: dim},
			}
			for range (tokens + Block - 1) / Block {
				keys, values := KVRow(format, dim, dim)
				n := layers * heads * Block
				page := MakeKV(format, (keys+values)*n)
				for i := range page.F32 {
					page.F32[i] = 0.01
				}
				for i := range page.F16 {
					page.F16[i] = 0x2000
				}
				for i := range page.Q8 {
					page.Q8[i] = byte(i % 61) // scales are numbers, too
				}
				s.Keys = append(s.Keys, page.Part(0, keys*n))
				s.Values = append(s.Values, page.Part(keys*n, (keys+values)*n))
			}
			spans[i] = []Span{s}
		}
		keys, values := KVRow(format, dim, dim)
		bytes := int(KVBytes(format, layers*heads*(keys+values)*tokens))
		b.Run(format.String(), func(b *testing.B) {
			work, read, i := time.Hour, time.Hour, 0
			least := func(least *time.Duration, f func(w *Worker)) {
				start := time.Now()
				team.Run(f)
				*least = min(*least, time.Since(start))
			}
			for b.Loop() {
				least(&work, func(w *Worker) {
					for l := range layers {
						CausalAttention(w, spans[i%sessions], l*heads, 0.125)
					}
				})
				at := i * bytes % (len(memory) - bytes) &^ 4095
				least(&read, func(w *Worker) {
					const each = 256 << 10
					part := memory[at : at+bytes]
					for i := w.Next() * each; i < len(part); i = w.Next() * each {
						w.team.variant.readMemory(part[i:min(i+each, len(part))])
					}
					w.Sync()
				})
				i++
			}
			b.ReportMetric(float64(bytes)/work.Seconds()/1e9, "GB/s")
			b.ReportMetric(float64(bytes)/read.Seconds()/1e9, "read-GB/s")
			b.ReportMetric(read.Seconds()/work.Seconds(), "of-read")
		})
	}
}

// BenchmarkPromptAttention is a layer's attention for a prompt of GPT-2 124M, and of other shapes.
// of-peak is the time of its multiply-adds at the peak measured beside it, both at their best.
func BenchmarkPromptAttention(b *testing.B) {
	team := newTeam(b, 1, "")
	for _, shape := range []struct{ rows, heads, dim int }{
		{512, 12, 64}, {1024, 25, 64}, {256, 8, 32}, {512, 4, 128},
	} {
		rows, heads, dim := shape.rows, shape.heads, shape.dim
		width := heads * dim
		qkv, out := make([]float32, rows*3*width), make([]float32, rows*width)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range qkv {
			qkv[i] = float32(r.NormFloat64())
		}
		for _, format := range []Format{F32, F16, Q8} {
			s := Span{
				Rows: rows, Heads: heads, KeyDim: dim, ValueDim: dim, Tokens: rows,
				Query: HeadRows{Data: qkv, Row: 3 * width, Head: dim},
				Key:   HeadRows{Data: qkv[width:], Row: 3 * width, Head: dim},
				Value: HeadRows{Data: qkv[2*width:], Row: 3 * width, Head: dim},
				Out:   HeadRows{Data: out, Row: width, Head: dim},
			}
			for range (rows + Block - 1) / Block {
				keys, values := KVRow(format, dim, dim)
				n := heads * Block
				page := MakeKV(format, (keys+values)*n)
				s.Keys = append(s.Keys, page.Part(0, keys*n))
				s.Values = append(s.Values, page.Part(keys*n, (keys+values)*n))
			}
			spans := []Span{s}
			b.Run(fmt.Sprintf("%dx%dx%d/%v", rows, heads, dim, format), func(b *testing.B) {
				work, peak := time.Hour, 0.0
				for b.Loop() {
					start := time.Now()
					team.Run(func(w *Worker) { CausalAttention(w, spans, 0, 0.125) })
					work = min(work, time.Since(start))
					start = time.Now()
					operations := 0.0
					team.Run(func(w *Worker) { operations = w.Peak(F32, 1e5) })
					peak = max(peak, operations/time.Since(start).Seconds())
				}
				operations := 4 * float64(width) * float64(rows) * float64(rows+1) / 2
				b.ReportMetric(work.Seconds()*1e3, "least-ms")
				b.ReportMetric(operations/work.Seconds()/peak, "of-peak")
			})
		}
	}
}
