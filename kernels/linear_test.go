package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"picogpt/dev/cases"
)

func randoms(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

func randomMatrix(rng *rand.Rand, format Format, layout Layout, in, out int) *Matrix {
	m := &Matrix{Format: format, Layout: layout, In: in, Out: out}
	switch format {
	case F32:
		m.F32 = randoms(rng, in*out)
	case F16:
		m.F16 = make([]uint16, in*out)
		for i := range m.F16 {
			m.F16[i] = uint16(rng.Uint32()) & 0xbfff
		}
	case BF16:
		m.F16 = make([]uint16, in*out)
		for i := range m.F16 {
			m.F16[i] = uint16(math.Float32bits(float32(rng.NormFloat64())) >> 16)
		}
	}
	return m
}

// at returns the weight of input k and output j.
func (m *Matrix) at(k, j int) float32 {
	i := k*m.Out + j
	if m.Layout == OutIn {
		i = j*m.In + k
	}
	if m.Format == F32 {
		return m.F32[i]
	}
	return widen(m.F16[i], m.bf16())
}

// linearByDefinition is the package comment's words, one output at a time.
func linearByDefinition(dst, x []float32, rows int, m *Matrix, bias []float32) {
	for i := range rows {
		for j := range m.Out {
			var b float32
			if bias != nil {
				b = bias[j]
			}
			if m.Layout == InOut {
				var total float32
				for from := 0; from < max(m.In, 1); from += 256 {
					sum := float32(0)
					if from == 0 {
						sum = b
					}
					for k := from; k < min(from+256, m.In); k++ {
						sum = fma(x[i*m.In+k], m.at(k, j), sum)
					}
					if from == 0 {
						total = sum
					} else {
						total = float32(total + sum)
					}
				}
				dst[i*m.Out+j] = total
				continue
			}
			var l [8]float32
			for k := range m.In {
				l[k%8] = fma(x[i*m.In+k], m.at(k, j), l[k%8])
			}
			sum := float32(float32(float32(l[0]+l[1])+float32(l[2]+l[3])) +
				float32(float32(l[4]+l[5])+float32(l[6]+l[7])))
			if bias != nil {
				sum = float32(sum + b)
			}
			dst[i*m.Out+j] = sum
		}
	}
}

func TestLinearIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	turn := 0
	for _, size := range [][2]int{{1, 1}, {3, 5}, {8, 16}, {20, 33}, {65, 130}, {300, 97},
		{256, 40}, {257, 17}, {771, 40}, {1301, 40}} {
		in, out := size[0], size[1]
		for _, format := range []Format{F32, F16, BF16} {
			for _, layout := range []Layout{InOut, OutIn} {
				m := randomMatrix(rng, format, layout, in, out)
				bias := randoms(rng, out)
				for _, rows := range cases.Some([]int{1, 9, 2, 13, 5, 26, 8, 66, 41}, cases.Few(1, 3, 8), turn) {
					x := randoms(rng, rows*in)
					want := make([]float32, rows*out)
					linearByDefinition(want, x, rows, m, bias)
					counts := []int{1, 3}
					if rows <= streamRows && in > segment {
						counts = []int{1, 2, 3, 8} // the workers share the inputs
					}
					for _, variant := range Variants() {
						for _, threads := range counts {
							got := make([]float32, rows*out)
							newTeam(t, threads,
								variant).Run(func(w *Worker) { Linear(w, got, x, rows, m, bias) })
							what := fmt.Sprintf("%s, %d threads: %d rows × [%d,%d] %v layout %d",
								variant, threads, rows, in, out, format, layout)
							sameSlices(t, what, got, want)
						}
					}
				}
				turn++
			}
		}
	}
}

// The blocks of many rows, split for a few workers and for more than there are columns for.
func TestLinearOfManyRowsIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	sizes := [][4]int{{97, 20, 33, 1}, {98, 300, 97, 2}, {745, 11, 200, 31}, {800, 9, 40, 3},
		{130, 40, 1700, 2}, {98, 1025, 50, 2}}
	for _, size := range sizes[:cases.Few(2, len(sizes), len(sizes))] {
		rows, in, out, threads := size[0], size[1], size[2], size[3]
		for turn, format := range []Format{F32, BF16, F32, BF16} {
			layout := []Layout{InOut, OutIn}[turn/2]
			m, x, bias := randomMatrix(rng, format, layout, in, out), randoms(rng, rows*in),
				randoms(rng, out)
			want, got := make([]float32, rows*out), make([]float32, rows*out)
			linearByDefinition(want, x, rows, m, bias)
			newTeam(t, threads, "").Run(func(w *Worker) { Linear(w, got, x, rows, m, bias) })
			sameSlices(t, fmt.Sprintf("%d rows × [%d,%d] %v layout %d, %d threads", rows, in, out,
				format, layout, threads), got, want)
		}
	}
}

func sameSlices(t testing.TB, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !sameBits(got[i], want[i]) {
			t.Fatalf("%s: [%d] is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// A product at real sizes does not depend on how many rows it is given at once, nor on the threads;
// and it is right.
func TestLinearDoesNotDependOnTheBatch(t *testing.T) {
	const in, out, rows = 768, 770, 520 // past every block size
	rng := rand.New(rand.NewPCG(11, 12))
	x := randoms(rng, rows*in)
	for _, layout := range []Layout{InOut, OutIn} {
		for _, format := range []Format{F32, F16} {
			m := randomMatrix(rng, format, layout, in, out)
			all := make([]float32, rows*out)
			newTeam(t, 2, "").Run(func(w *Worker) { Linear(w, all, x, rows, m, nil) })
			for _, n := range []int{1, 8, 30} {
				part := make([]float32, n*out)
				newTeam(t, 1, "").Run(func(w *Worker) {
					Linear(w, part, x[(rows-n)*in:], n, m,
						nil)
				})
				sameSlices(t, fmt.Sprintf("%v layout %d, %d rows", format, layout, n), part,
					all[(rows-n)*out:])
			}
			for range 1000 {
				i, j := rng.IntN(rows), rng.IntN(out)
				var want, size float64
				for k := range in {
					p := float64(x[i*in+k]) * float64(m.at(k, j))
					want, size = want+p, size+math.Abs(p)
				}
				if got := float64(all[i*out+j]); math.Abs(got-want) > 1e-5*size {
					t.Fatalf("%v layout %d: [%d,%d] is %v, want %v", format, layout, i, j, got,
						want)
				}
			}
		}
	}
}

// TestColumns: some outputs of a matrix are those of the whole.
func TestColumns(t *testing.T) {
	cases.NotShort(t)
	rng := rand.New(rand.NewPCG(3, 9))
	for _, variant := range Variants() {
		team, err := NewTeam(2, variant)
		if err != nil {
			t.Fatal(err)
		}
		defer team.Close()
		for _, format := range []Format{F32, F16, BF16, Q8, Q4} {
			const in = 300
			out := 3 * (16 + rng.IntN(200))
			m := randomMatrix(rng, min(format, BF16), InOut, in, out)
			if format > BF16 {
				quantized := Convert(team, format, randomMatrix(rng, F32, InOut, in, out))
				m = &quantized
			}
			for _, rows := range []int{1, 3, 50, 110} {
				from := rng.IntN(out)
				n := rng.IntN(out-from) + 1
				view, ok := m.Columns(from, n)
				if !ok && format > BF16 {
					from = from / 16 * 16
					view, ok = m.Columns(from, n)
				}
				if !ok {
					t.Fatalf("%v: no view of outputs %d to %d", format, from, from+n)
				}
				x, bias := randoms(rng, rows*in), randoms(rng, out)
				whole, got, want := make([]float32, rows*out), make([]float32, rows*n), []float32{}
				team.Run(func(w *Worker) {
					Linear(w, whole, x, rows, m, bias)
					Linear(w, got, x, rows, &view, bias[from:from+n])
				})
				for i := range rows {
					want = append(want, whole[i*out+from:][:n]...)
				}
				sameSlices(t, fmt.Sprintf("%s, %v, %d rows, outputs %d to %d of %d", variant, format, rows,
					from, from+n, out), got, want)
			}
		}
	}
	if _, ok := randomMatrix(rng, F32, OutIn, 32, 32).Columns(0, 16); ok {
		t.Error("a view of columns of an [out, in] matrix")
	}
}

func TestLinearWithoutBiasStartsAtZero(t *testing.T) {
	m := &Matrix{Format: F32, In: 1, Out: 1, F32: []float32{0}}
	for _, x := range []float32{1, -1} { // fma(−1, 0, +0) is +0
		dst := []float32{99}
		newTeam(t, 1, "").Run(func(w *Worker) { Linear(w, dst, []float32{x}, 1, m, nil) })
		sameSlices(t, "0 · x", dst, []float32{0})
	}
}

func TestLinearPanicsOnShortSlices(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	m := &Matrix{Format: F32, In: 2, Out: 2, F32: make([]float32, 4)}
	m.check(make([]float32, 3), make([]float32, 4), 2, nil)
}

func TestRowOfAMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for i, format := range []Format{F32, F16, BF16, F32, F16, BF16} {
		m := randomMatrix(rng, format, []Layout{OutIn, InOut}[i/3], 21, 5)
		row, view := make([]float32, 21), m
		column := 3
		if i >= 3 { // the rows of a view are those of the whole
			part, ok := m.Columns(2, 3)
			if view, column = &part, 1; !ok {
				t.Fatal("no view")
			}
		}
		view.Row(row, column)
		for k := range row {
			if row[k] != m.at(k, 3) {
				t.Fatalf("%v: Row(3)[%d] = %v, want %v", format, k, row[k], m.at(k, 3))
			}
		}
	}
}

func TestRowOperations(t *testing.T) {
	const rows, n = 5, 37
	rng := rand.New(rand.NewPCG(15, 16))
	x, y, gain, bias := randoms(rng, rows*n), randoms(rng, rows*n), randoms(rng, n), randoms(rng, n)
	for _, variant := range Variants() {
		norm, sum, act := make([]float32, rows*n), append([]float32{}, x...),
			append([]float32{}, x...)
		newTeam(t, 3, variant).Run(func(w *Worker) {
			LayerNorm(w, norm, x, rows, gain, bias, 1e-5)
			Add(w, sum, y)
			Activate(w, act, SiLU)
		})
		for i := range x {
			var mean, variance float64
			row := x[i/n*n : i/n*n+n]
			for _, v := range row {
				mean += float64(v) / n
			}
			for _, v := range row {
				variance += (float64(v) - mean) * (float64(v) - mean) / n
			}
			want := (float64(x[i])-mean)/math.Sqrt(variance+1e-5)*float64(gain[i%n]) +
				float64(bias[i%n])
			if math.Abs(float64(norm[i])-want) > 2e-6 {
				t.Errorf("%s: LayerNorm [%d] = %v, want %v", variant, i, norm[i], want)
			}
			if sum[i] != x[i]+y[i] {
				t.Errorf("%s: Add [%d] = %v, want %v", variant, i, sum[i], x[i]+y[i])
			}
			if want := float64(x[i]) / (1 + math.Exp(-float64(x[i]))); math.Abs(float64(act[i])-want) > 1e-6 {
				t.Errorf("%s: Activate [%d] = %v, want %v", variant, i, act[i], want)
			}
		}
	}
}

// TestTouchLeavesNoWindow: whichever 32 KiB of the weights are the only ones that are not 0, a
// worker finds them.
func TestTouchLeavesNoWindow(t *testing.T) {
	const n = 37<<14 + 77 // more than a task
	first := Matrix{Blocks: make([]byte, 3)}
	for _, m := range []Matrix{{F32: make([]float32, n)}, {F16: make([]uint16, 2*n)},
		{Blocks: make([]byte, 4*n)}, {}} {
		set := func(from, bytes, to int) {
			for i := from; i < from+bytes; i++ {
				switch {
				case m.F32 != nil:
					m.F32[i/4] = float32(to)
				case m.F16 != nil:
					m.F16[i/2] = uint16(to)
				default:
					m.Blocks[i] = byte(to)
				}
			}
		}
		for _, threads := range []int{1, 2, 7} {
			team := newTeam(t, threads, "")
			touched := func() (sum int) {
				found := make([]int, threads)
				team.Run(func(w *Worker) { found[w.ID()] = Touch(w, &first, &m, &first) })
				for _, n := range found {
					sum += n
				}
				return sum
			}
			for from := 0; from < int(m.Bytes()); from += touchStep / 4 {
				from := min(from, int(m.Bytes())-touchStep)
				set(from, touchStep, 1)
				if n := touched(); n != 1 {
					t.Errorf("%d threads, bytes %d on: %d weights found, want 1", threads, from, n)
				}
				set(from, touchStep, 0)
			}
			if n := touched(); n != 0 {
				t.Errorf("%d threads: %d weights found, want none", threads, n)
			}
		}
	}
}
