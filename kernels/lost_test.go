package kernels

// What a conversion makes zeros of, counted one by one.

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"picogpt/dev/cases"
)

// counted is Zeroed by its definition. It also reports whether all weights that were not zero have
// become zero.
func counted(m, src *Matrix) (z Zeroed, all bool) {
	at := func(m *Matrix, in, out int) float32 {
		dst := make([]float32, m.In)
		one := *m
		if m.Layout == InOut && m.Blocks == nil {
			i := in*m.Out + out
			if m.Format == F32 {
				return m.F32[i]
			}
			return widen(m.F16[i], m.bf16())
		}
		one.Layout = OutIn
		one.Row(dst, out)
		return dst[in]
	}
	rows := map[int][2]bool{}   // of what was there, what is
	blocks := map[int][2]bool{} //
	all = true
	for out := range m.Out {
		for in := range m.In {
			was, is := at(src, in, out) != 0, at(m, in, out) != 0
			all = all && !is
			if was {
				z.Of++
			}
			if was && !is {
				z.Weights++
			}
			row := in
			if m.Layout == OutIn {
				row = out
			}
			note := func(to map[int][2]bool, i int) {
				seen := to[i]
				to[i] = [2]bool{seen[0] || was, seen[1] || is}
			}
			note(rows, row)
			note(blocks, out*1000+in/32)
		}
	}
	for _, seen := range rows {
		if seen[0] && !seen[1] {
			z.Rows++
		}
	}
	for _, seen := range blocks {
		if seen[0] && !seen[1] {
			z.Blocks++
		}
	}
	if m.Blocks != nil { // these are not counted
		z.Of, z.Weights, z.Rows = m.In*m.Out, 0, 0
	}
	return z, all && z.Of > 0
}

func TestWhatBecomesZeroIsCounted(t *testing.T) {
	cases.NotShort(t)
	team, err := NewTeam(2, "")
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	rng := rand.New(rand.NewPCG(9, 9))
	failed, rounds := 0, cases.Of(120, 400)
	for round := range rounds {
		src := Matrix{Layout: Layout(round % 2), In: 1 + rng.IntN(80), Out: 1 + rng.IntN(40)}
		src.F32 = make([]float32, src.In*src.Out)
		small := []float32{0, 1e-9, 1e-26, -1e-44}[rng.IntN(4)]
		share := rng.IntN(4)
		for i := range src.F32 {
			at := i / src.columns() // whole rows
			if rng.IntN(2) == 0 {
				at = i % src.columns() / 32 // and parts of them
			}
			if x := float32(rng.NormFloat64()); at%3 >= share {
				src.F32[i] = x * 0.02
			} else {
				src.F32[i] = x * small
			}
		}
		for _, f := range []Format{F16, BF16, Q8, Q4} {
			m, got, err := ConvertChecked(team, f, &src)
			want, all := counted(&m, &src)
			if all = all && (want.Weights > 0 || want.Blocks > 0); all != (err != nil) {
				t.Fatalf("%v of [%d %d] with %g: error %v, all of it zero: %t", f, src.In, src.Out,
					small, err, all)
			}
			if err != nil {
				failed++
				got.Rows = want.Rows // not looked for
			}
			if got != want {
				t.Fatalf("%v of [%d %d], layout %v, with %g: %+v, want %+v", f, src.In, src.Out,
					src.Layout, small, got, want)
			}
		}
	}
	if failed < rounds/20 {
		t.Errorf("%d matrices became zeros, want more", failed)
	}
}

// TestWeightsAsThoseOfGPT2BecomeNoZeros: normally distributed weights with standard deviation 0.02.
// Single weights that Q8 and Q4 round to zero are not counted.
func TestWeightsAsThoseOfGPT2BecomeNoZeros(t *testing.T) {
	team, err := NewTeam(2, "")
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	src := Matrix{Format: F32, Layout: InOut, In: 768, Out: 768, F32: make([]float32, 768*768)}
	for i := range src.F32 {
		src.F32[i] = float32(rng.NormFloat64() * 0.02)
	}
	for _, f := range []Format{F16, BF16, Q8, Q4} {
		_, z, err := ConvertChecked(team, f, &src)
		if err != nil || z.Blocks != 0 || z.Rows != 0 || z.Weights*10000 > z.Of {
			t.Errorf("%v: %+v, %v", f, z, err)
		}
	}
}

func ExampleConvertChecked() {
	team, _ := NewTeam(1, "")
	defer team.Close()
	src := Matrix{Format: F32, In: 1, Out: 2, F32: []float32{0, -1e-9}}
	_, _, err := ConvertChecked(team, F16, &src)
	fmt.Println(err)
	// Output: f16 makes zeros of all weights, of which the largest is 1e-09: want f32
}
