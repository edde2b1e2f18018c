package kernels

// Values that are not finite stay so: every operation with a NaN or an infinity at each position of
// each input, in every variant. attendfinite_test.go does the same for attention.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/dev/cases"
)

var (
	nan32   = float32(math.NaN())
	inf32   = float32(math.Inf(1))
	planted = []float32{nan32, inf32, -inf32}
)

func finite(x float32) bool { return x-x == 0 }

// A plantTest is an operation with its inputs, and the outputs that each number of the inputs
// affects.
type plantTest struct {
	name    string
	inputs  [][]float32
	run     func(inputs [][]float32) []float32
	touches func(input, at, output int) bool
}

// planting calls run on a copy of the inputs, since an operation may work in place, with bad at a
// position of input n.
func (p *plantTest) planting(bad float32, n, at int) []float32 {
	inputs := make([][]float32, len(p.inputs))
	for i, input := range p.inputs {
		inputs[i] = slices.Clone(input)
	}
	if bad != 0 {
		inputs[n][at] = bad
	}
	return p.run(inputs)
}

// check plants a NaN, +Inf and −Inf in turn at about that many positions of each input. Outputs
// that the number affects must not be finite, and all others must not change.
func (p *plantTest) check(t *testing.T, positions int) {
	t.Helper()
	clean := p.planting(0, 0, 0)
	for i, v := range clean {
		if !finite(v) {
			t.Fatalf("%s: output %d of finite inputs is %v", p.name, i, v)
		}
	}
	for n, input := range p.inputs {
		for i := range positions * min(len(input), 1) {
			at, bad := i*len(input)/positions, planted[i%len(planted)]
			for j, v := range p.planting(bad, n, at) {
				touched := p.touches(n, at, j)
				if touched && finite(v) || !touched && !sameBits(v, clean[j]) {
					t.Fatalf("%s: %v at %d of input %d: output %d is %v, %v without; touched is %v",
						p.name, bad, at, n, j, v, clean[j], touched)
				}
			}
		}
	}
}

// nonzeros are like randoms, but away from 0: a product with Inf is then an infinity of a known
// sign.
func nonzeros(seed uint64) func(n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, seed+1))
	return func(n int) []float32 {
		x := randoms(rng, n)
		for i, v := range x {
			x[i] = v + float32(math.Copysign(0.1, float64(v)))
		}
		return x
	}
}

// Row i of x reaches row i of the product, weight (k, j) reaches column j, and so does bias j.
func TestLinearKeepsWhatIsNotFinite(t *testing.T) {
	const in, out = 37, 35 // two blocks and three tiles of Q8, two panels and a rest of F32
	numbers := nonzeros(31)
	positions := cases.Of(4, 9)
	if testing.Short() {
		positions = 3
	}
	for _, variant := range Variants() {
		team := newTeam(t, 2, variant)
		for format := F32; format <= Q4; format++ {
			for _, layout := range []Layout{InOut, OutIn} {
				if format >= Q8 && layout == OutIn { // blocks have one layout
					continue
				}
				for _, rows := range []int{1, 3, usualSizes.batchRows + 1} {
					p := plantTest{
						fmt.Sprintf("%s, %v, layout %d, %d rows", variant, format, layout, rows),
						[][]float32{numbers(rows * in), numbers(in * out), numbers(out)},
						func(x [][]float32) []float32 {
							src := Matrix{Layout: layout, In: in, Out: out, F32: x[1]}
							m, dst := Convert(team, format, &src), make([]float32, rows*out)
							team.Run(func(w *Worker) { Linear(w, dst, x[0], rows, &m, x[2]) })
							return dst
						},
						func(input, at, output int) bool {
							switch {
							case input == 0:
								return output/out == at/in
							case input == 1 && layout == InOut:
								return output%out == at%out
							case input == 1:
								return output%out == at/in
							}
							return output%out == at
						},
					}
					p.check(t, positions)
				}
			}
		}
	}
}

func TestRowOperationsKeepWhatIsNotFinite(t *testing.T) {
	const n, rows = 43, 2
	numbers := nonzeros(33)
	for _, variant := range Variants() {
		team := newTeam(t, 2, variant)
		sameRow := func(input, at, output int) bool {
			if input >= 2 { // gain or bias
				return output%n == at
			}
			return output%(rows*n)/n == at/n
		}
		same := func(_, at, output int) bool { return output == at }
		norms := func(sum []float32) [][]float32 {
			return [][]float32{numbers(rows * n), sum, numbers(n), numbers(n)}
		}
		stored := func(f Format) func([][]float32) []float32 {
			return func(x [][]float32) []float32 {
				m := Convert(team, f, &Matrix{Layout: OutIn, In: n, Out: 1, F32: x[0]})
				dst := make([]float32, n)
				m.Row(dst, 0)
				return dst
			}
		}
		sameBlock := func(_, at, output int) bool { return output/quantBlock == at/quantBlock }
		for _, p := range []plantTest{
			{"LayerNorm", norms(nil), func(x [][]float32) []float32 {
				dst := make([]float32, rows*n)
				team.Run(func(w *Worker) { LayerNorm(w, dst, x[0], rows, x[2], x[3], 1e-5) })
				return dst
			}, sameRow},
			{"AddLayerNorm", norms(numbers(rows * n)), func(x [][]float32) []float32 {
				dst, sum := make([]float32, rows*n), x[1]
				team.Run(func(w *Worker) { AddLayerNorm(w, dst, x[0], sum, rows, x[2], x[3], 1) })
				return dst
			}, sameRow},
			{"Add", [][]float32{numbers(n), numbers(n)}, func(x [][]float32) []float32 {
				team.Run(func(w *Worker) { Add(w, x[0], x[1]) })
				return x[0]
			}, same},
			{"Row of f16", [][]float32{numbers(n)}, stored(F16), same},
			{"Row of bf16", [][]float32{numbers(n)}, stored(BF16), same},
			{"Row of q8", [][]float32{numbers(n)}, stored(Q8), sameBlock},
			{"Row of q4", [][]float32{numbers(n)}, stored(Q4), sameBlock},
		} {
			p.name = variant + ", " + p.name
			// all three everywhere, in inputs of n numbers twice
			positions := cases.Of(70, 3*rows*n)
			if testing.Short() {
				positions = 40
			}
			p.check(t, positions)
		}
	}
}

// A row whose squared deviations, or whose sum, overflow is NaN, at every length and whatever the
// place.
func TestLayerNormThatOverflowsIsNaN(t *testing.T) {
	for _, variant := range Variants() {
		v, err := findVariant(variant)
		if err != nil {
			t.Fatal(err)
		}
		for n := 2; n < 70; n++ {
			ones, dst := make([]float32, n), make([]float32, n)
			for i := range ones {
				ones[i] = 1
			}
			for at := range n {
				for _, huge := range []float32{1e20, -3e38, math.MaxFloat32} {
					x := slices.Clone(ones)
					x[at] = huge
					v.layerNorm(dst, x, ones, ones, 1e-5)
					if i := slices.IndexFunc(dst, finite); i >= 0 {
						t.Fatalf("%s: %v at %d of %d: [%d] is %v, want NaN",
							variant, huge, at, n, i, dst[i])
					}
				}
			}
			x := slices.Clone(ones)
			x[n-1] = 1e19 // squared it fits
			if v.layerNorm(dst, x, ones, ones, 1e-5); !finite(dst[0]) || !finite(dst[n-1]) {
				t.Fatalf("%s: 1e19 at the end of %d gives %v", variant, n, dst)
			}
		}
	}
}

// What PyTorch gives for the activations, and for elu(x) + 1.
func TestActivationsKeepWhatIsNotFinite(t *testing.T) {
	const never = 7 // stands for a result that is not finite
	functions := []struct {
		name string
		want [3]float32 // of NaN, +Inf and −Inf
	}{
		GELUTanh:    {"GELUTanh", [3]float32{never, never, never}},
		GELUErf:     {"GELUErf", [3]float32{never, never, never}},
		QuickGELU:   {"QuickGELU", [3]float32{never, never, never}},
		SiLU:        {"SiLU", [3]float32{never, never, never}},
		ReLU:        {"ReLU", [3]float32{never, never, 0}},
		Tanh:        {"Tanh", [3]float32{never, 1, -1}},
		ReLU2:       {"ReLU2", [3]float32{never, never, 0}},
		Mish:        {"Mish", [3]float32{never, never, never}},
		activations: {"ELU1", [3]float32{never, never, 0}},
	}
	for _, variant := range Variants() {
		team := newTeam(t, 1, variant)
		for a, f := range functions {
			for n := 1; n < 35; n++ {
				for at := range n {
					for i, bad := range planted {
						x := make([]float32, n)
						x[at] = bad
						team.Run(func(w *Worker) {
							if Activation(a) == activations {
								w.ELU1(x, slices.Clone(x))
							} else {
								Activate(w, x, Activation(a))
							}
						})
						if w := f.want[i]; w == never && finite(x[at]) || w != never && x[at] != w {
							t.Fatalf("%s: %s of %v at %d of %d is %v, want %v",
								variant, f.name, bad, at, n, x[at], w)
						}
					}
				}
			}
		}
	}
}

func TestLogSumExpKeepsWhatIsNotFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for _, v := range available {
		for n := 2; n < 35; n++ {
			for at := range n {
				x := randoms(rng, n)
				x[at] = nan32
				if got := v.logSumExp(x); got == got {
					t.Fatalf("%s: NaN at %d of %d gives %v", v.name, at, n, got)
				}
				x[at] = inf32
				if got := v.logSumExp(x); !math.IsInf(got, 1) {
					t.Fatalf("%s: +Inf at %d of %d gives %v", v.name, at, n, got)
				}
			}
		}
	}
}
