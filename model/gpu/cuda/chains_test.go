package cuda

// What linear layers of several rows cost, counted on the interpreter: SPEED.md predicts from it.

import (
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/ptx"
	"picogpt/model/gpu"
)

// chainCounts counts a linear layer [768, out] in f16, by groups of all segments or of each.
func chainCounts(t *testing.T, kernel string, items, wide, high, rows, out, each int) ptx.Counts {
	t.Helper()
	program, err := right()
	if err != nil {
		t.Fatal(err)
	}
	const in, segments = 768, 3
	d := ptx.NewDriver(program, 1)
	l := gpu.Launch{Kernel: kernel, Items: items,
		Groups: [3]int{out / wide, segments / max(1, each), (rows + high - 1) / high}}
	for _, words := range []int{segments * rows * out, rows * in, in * out / 2, out} {
		b, err := d.Alloc(int64(4 * words))
		if err == nil {
			err = d.Write(b, 0, make([]byte, 4*words))
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Args = append(l.Args, gpu.Arg{Bits: uint64(b), Size: 8})
	}
	numbers := []int{rows, in, out}
	if each > 0 {
		numbers = append(numbers, each)
	}
	for _, n := range numbers {
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
	cases.NotShort(t)
	const out = 128
	for _, c := range []struct {
		kernel            string
		items, wide, high int // items, outputs and rows of a group
		rows, each        int
		loads, all        float64 // for each fma, at most
	}{
		{"chains_few_f16", 256, 32, 16, 8, 0, 0.63, 4.8},
		{"chains_few_f16", 256, 32, 16, 16, 0, 0.63, 3.3},
		{"chains_many_f16", 128, 64, 64, 64, 1, 0.094, 1.4},
		{"chains_most_f16", 256, 128, 128, 128, 1, 0.063, 1.26},
		{"chains_most_f16", 256, 128, 128, 128, 3, 0.063, 1.26},
	} {
		n := chainCounts(t, c.kernel, c.items, c.wide, c.high, c.rows, out, c.each)
		if want := int64(768 * out * c.rows); n.FMAs != want {
			t.Errorf("%s, %d rows: %d fma, want %d", c.kernel, c.rows, n.FMAs, want)
		}
		loads := float64(n.SharedLoads) / float64(n.FMAs)
		all := 32 * float64(n.WarpInstructions) / float64(n.FMAs)
		t.Logf("%s, %d rows: for each fma %.4f loads of local memory, %.3f instructions", c.kernel,
			c.rows, loads, all)
		if loads > c.loads || all > c.all {
			t.Errorf("%s, %d rows: for each fma %.4f loads of local memory, %.3f instructions, "+
				"want %g and %g at most", c.kernel, c.rows, loads, all, c.loads, c.all)
		}
	}
}
