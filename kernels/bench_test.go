package kernels

// Benchmarks of the float kernels, beside gonum's where it has the operation, and of the machine's
// limits. Two workers.

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

const benchThreads = 2

// gpt2Shapes are the linear layers of GPT-2 124M, [in, out].
var gpt2Shapes = [][2]int{{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}}

// filled returns n numbers, each page of them written: memory that was never written is all one
// page.
func filled(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 0.01
	}
	return x
}

// filledMatrix returns weights of a format.
func filledMatrix(format Format, layout Layout, in, out int) *Matrix {
	m := &Matrix{Format: format, Layout: layout, In: in, Out: out}
	if format == F32 {
		m.F32 = filled(in * out)
		return m
	}
	m.F16 = make([]uint16, in*out)
	for i := range m.F16 {
		m.F16[i] = 0x2000
	}
	return m
}

// report adds GFLOP/s and, where bytes is not 0, GB/s.
func report(b *testing.B, operations, bytes float64) {
	seconds := b.Elapsed().Seconds() / float64(b.N)
	if operations > 0 {
		b.ReportMetric(operations/seconds/1e9, "GFLOP/s")
	}
	if bytes > 0 {
		b.ReportMetric(bytes/seconds/1e9, "GB/s")
	}
}

func BenchmarkLimits(b *testing.B) {
	team := newTeam(b, benchThreads, "")
	for _, format := range []Format{F32, Q8} {
		b.Run("peak "+format.String(), func(b *testing.B) {
			var operations [benchThreads]float64
			for b.Loop() {
				team.Run(func(w *Worker) { operations[w.ID()] = w.Peak(format, 1e5) })
			}
			report(b, operations[0]+operations[1], 0)
		})
	}
	b.Run("read", func(b *testing.B) {
		memory := make([]byte, 512<<20)
		for i := range memory {
			memory[i] = 1
		}
		for b.Loop() {
			team.Run(func(w *Worker) { ReadMemory(w, memory) })
		}
		report(b, 0, float64(len(memory)))
	})
}

// BenchmarkPrefill is each layer on 512 rows, and the head on 64.
func BenchmarkPrefill(b *testing.B) {
	team := newTeam(b, benchThreads, "")
	one := func(m *Matrix, rows int) {
		x, y := filled(rows*m.In), make([]float32, rows*m.Out)
		operations := 2 * float64(rows*m.In*m.Out)
		name := fmt.Sprintf("%dx%dx%d/%v", rows, m.In, m.Out, m.Format)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				team.Run(func(w *Worker) { Linear(w, y, x, rows, m, nil) })
			}
			report(b, operations, 0)
		})
		if m.Format != F32 {
			return
		}
		general := func(rows, cols int, x []float32) blas32.General {
			return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: x}
		}
		weights, t := general(m.In, m.Out, m.F32), blas.NoTrans
		if m.Layout == OutIn {
			weights, t = general(m.Out, m.In, m.F32), blas.Trans
		}
		b.Run(name+"/gonum", func(b *testing.B) {
			for b.Loop() {
				blas32.Gemm(blas.NoTrans, t, 1, general(rows, m.In, x), weights, 0,
					general(rows, m.Out, y))
			}
			report(b, operations, 0)
		})
	}
	for _, format := range []Format{F32, F16} {
		for _, s := range gpt2Shapes {
			one(filledMatrix(format, InOut, s[0], s[1]), 512)
		}
		one(filledMatrix(format, OutIn, 768, 50257), 64)
		one(filledMatrix(format, OutIn, 128, 50257), 64)
	}
}

// BenchmarkDecode is all linear layers of GPT-2 124M one after the other, so that no weight is in a
// cache, for a few rows.
func BenchmarkDecode(b *testing.B) {
	team := newTeam(b, benchThreads, "")
	for _, format := range []Format{F32, F16, BF16} {
		var layers []*Matrix
		for range 12 {
			for _, s := range gpt2Shapes {
				layers = append(layers, filledMatrix(format, InOut, s[0], s[1]))
			}
		}
		head := []*Matrix{filledMatrix(format, OutIn, 768, 50257)}
		for _, part := range []struct {
			name string
			of   []*Matrix
		}{{"layers", layers}, {"head", head}, {"all", append(layers, head...)}} {
			for _, rows := range []int{1, 8} {
				x, y, bytes := filled(rows*3072), make([]float32, rows*50257), int64(0)
				for _, m := range part.of {
					bytes += m.Bytes()
				}
				b.Run(fmt.Sprintf("%v/%s/%d", format, part.name, rows), func(b *testing.B) {
					for b.Loop() {
						team.Run(func(w *Worker) {
							for _, m := range part.of {
								Linear(w, y, x, rows, m, nil)
							}
						})
					}
					report(b, 0, float64(bytes))
				})
				if format == F32 && rows == 1 {
					b.Run(fmt.Sprintf("%v/%s/%d/gonum", format, part.name, rows),
						func(b *testing.B) {
							for b.Loop() {
								for _, m := range part.of {
									gonumVector(y, x, m)
								}
							}
							report(b, 0, float64(bytes))
						})
				}
			}
		}
	}
}

// gonumVector is one row through gonum: y = x·m.
func gonumVector(y, x []float32, m *Matrix) {
	in, out := blas32.Vector{N: m.In, Inc: 1, Data: x}, blas32.Vector{N: m.Out, Inc: 1, Data: y}
	if m.Layout == OutIn {
		blas32.Gemv(blas.NoTrans, 1, blas32.General{Rows: m.Out, Cols: m.In, Stride: m.In,
			Data: m.F32}, in, 0, out)
		return
	}
	blas32.Gemv(blas.Trans, 1, blas32.General{Rows: m.In, Cols: m.Out, Stride: m.Out, Data: m.F32},
		in, 0, out)
}

// BenchmarkRow is the operations on rows that fit in a cache, on one thread.
func BenchmarkRow(b *testing.B) {
	const n = 3072
	rng := rand.New(rand.NewPCG(1, 1))
	x, y, z, w := randoms(rng, n), randoms(rng, n), randoms(rng, n), randoms(rng, 8*n)
	vx, vy := blas32.Vector{N: n, Inc: 1, Data: x}, blas32.Vector{N: n, Inc: 1, Data: y}
	for _, v := range available {
		run := func(name string, f func()) {
			b.Run(name, func(b *testing.B) {
				b.SetBytes(4 * n)
				for b.Loop() {
					f()
				}
			})
		}
		run("Dot/"+v.name, func() { v.dot(z, 1, x, n, w, n, 1, 4, n) })
		run("Chain/"+v.name, func() { v.chain(y, x[:8], w, n) })
		run("LayerNorm/"+v.name, func() { v.layerNorm(z, x, y, y, 1e-5) })
		run("GELUTanh/"+v.name, func() { copy(z, x); v.activate(z, GELUTanh) })
		run("GELUErf/"+v.name, func() { copy(z, x); v.activate(z, GELUErf) })
		run("SiLU/"+v.name, func() { copy(z, x); v.activate(z, SiLU) })
		run("Tanh/"+v.name, func() { copy(z, x); v.activate(z, Tanh) })
		run("ExpShift/"+v.name, func() { copy(z, x); v.expShift(z, 4) })
		run("LogSumExp/"+v.name, func() { v.logSumExp(x) })
		run("Add/"+v.name, func() { v.add(z, x) })
	}
	b.Run("Dot/gonum", func(b *testing.B) { // four of them, as above
		b.SetBytes(4 * n)
		for b.Loop() {
			for j := range 4 {
				z[j] = blas32.Dot(vx, blas32.Vector{N: n, Inc: 1, Data: w[j*n:]})
			}
		}
	})
	b.Run("Chain/gonum", func(b *testing.B) {
		b.SetBytes(4 * n)
		for b.Loop() {
			for k := range 8 {
				blas32.Axpy(x[k], blas32.Vector{N: n, Inc: 1, Data: w[k*n:]}, vy)
			}
		}
	})
}

// BenchmarkBarrier times the barrier alone, and BenchmarkTask the taking of a task that is nothing:
// what sharing costs, for SPEED.md's model of more processors.
func BenchmarkBarrier(b *testing.B) {
	for _, workers := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			newTeam(b, workers, "").Run(func(w *Worker) {
				for range b.N {
					w.Sync()
				}
			})
		})
	}
}

func BenchmarkTask(b *testing.B) {
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			newTeam(b, workers, "").Run(func(w *Worker) {
				for w.Next() < b.N {
				}
			})
		})
	}
}
