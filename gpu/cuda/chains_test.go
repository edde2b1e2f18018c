package cuda

// What linear layers of several rows cost, counted on the interpreter: SPEED.md predicts from it.

import (
	"testing"

	"picogpt/gpu"
	"picogpt/internal/ptx"
)

// chainCounts counts a linear layer [768, out] in f16.
func chainCounts(
	t *testing.T, text, kernel string, groups [3]int, items, rows, out int,
) ptx.Counts {
	t.Helper()
	program, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	const in = 768
	d := ptx.NewDriver(program, 1)
	l := gpu.Launch{Kernel: kernel, Groups: groups, Items: items}
	for _, words := range []int{3 * rows * out, rows * in, in * out / 2, out} {
		b, err := d.Alloc(int64(4 * words))
		if err == nil {
			err = d.Write(b, 0, make([]byte, 4*words))
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Args = append(l.Args, gpu.Arg{Bits: uint64(b), Size: 8})
	}
	for _, n := range []int{rows, in, out} {
		l.Args = append(l.Args, gpu.Arg{Bits: uint64(n), Size: 4})
	}
	if err := d.Launch(&l); err != nil {
		t.Fatal(err)
	}
	return d.Counts
}

// TestRowsShareWhatLocalMemoryGives: with more rows there are more multiplications for each number
// that is read from local memory, and for each instruction.
func TestRowsShareWhatLocalMemoryGives(t *testing.T) {
	const out = 128
	for _, c := range []struct {
		kernel     string
		wide, high int // outputs and rows of a group
		rows       int
		loads, all float64 // for each fma, at most
	}{
		{"chains_few_f16", 32, 16, 8, 0.65, 5.7},
		{"chains_few_f16", 32, 16, 16, 0.65, 4.4},
		{"chains_many_f16", 64, 64, 64, 0.13, 1.9},
	} {
		grid := [3]int{out / c.wide, 3, (c.rows + c.high - 1) / c.high}
		n := chainCounts(t, kernels, c.kernel, grid, 256, c.rows, out)
		if want := int64(768 * out * c.rows); n.FMAs != want {
			t.Errorf("%s, %d rows: %d fma, want %d", c.kernel, c.rows, n.FMAs, want)
		}
		loads := float64(n.SharedLoads) / float64(n.FMAs)
		all := 32 * float64(n.WarpInstructions) / float64(n.FMAs)
		t.Logf("%s, %d rows: for each fma %.3f loads of local memory, %.2f instructions", c.kernel,
			c.rows, loads, all)
		if loads > c.loads || all > c.all {
			t.Errorf("%s, %d rows: for each fma %.3f loads of local memory, %.2f instructions, "+
				"want %g and %g at most", c.kernel, c.rows, loads, all, c.loads, c.all)
		}
	}
}
