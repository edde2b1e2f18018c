package cuda

// What linear layers on Q8 and Q4 cost, counted on the interpreter: SPEED.md predicts from it.

import (
	"slices"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/ptx"
	"picogpt/model/gpu"
)

// integerCounts counts a linear layer [768, out], without the quantization of its inputs.
func integerCounts(
	t *testing.T, text, kernel string, groups [3]int, rows, out, tile int,
) ptx.Counts {
	t.Helper()
	program, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	const blocks = 768 / 32
	d := ptx.NewDriver(program, 1)
	l := gpu.Launch{Kernel: kernel, Groups: groups, Items: 256}
	const none = 1<<32 - 1 // no activation
	buffers := []int{4 * rows * out, 64 * rows * blocks, 4 * rows, out / 16 * blocks * tile, 4 * out}
	numbers := []int{rows, blocks, out, none}
	if rows == 1 {
		buffers, numbers = slices.Insert(buffers, 3, 0), []int{768, blocks, out, none}
	}
	for _, bytes := range buffers {
		if bytes == 0 {
			l.Args = append(l.Args, gpu.Arg{Size: 8})
			continue
		}
		b, err := d.Alloc(int64(bytes))
		if err == nil {
			err = d.Write(b, 0, make([]byte, bytes))
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Args = append(l.Args, gpu.Arg{Bits: uint64(b), Size: 8})
	}
	for _, n := range numbers {
		l.Args = append(l.Args, gpu.Arg{Bits: uint64(n), Size: 4})
	}
	if err := d.Launch(&l); err != nil {
		t.Fatal(err)
	}
	return d.Counts
}

// TestIntegersAreMultipliedTogether: a product of a weight and an input is half of a dp2a, or a 64th of
// an item's two mma, and its share of what is around.
func TestIntegersAreMultipliedTogether(t *testing.T) {
	cases.NotShort(t)
	const out = 64
	for _, c := range []struct {
		name, text, kernel string
		groups             [3]int
		rows               int
		most               [2]float64 // instructions for each product, in Q8 and Q4
	}{
		{"dp2a", kernels, "integers_one_", [3]int{out / 16, 1, 1}, 1, [2]float64{4.2, 5.4}},
		{"dp2a", kernels, "integers_few_", [3]int{out / 16, 1, 1}, 8, [2]float64{1.4, 1.6}},
		{"dp2a", kernels, "integers_many_", [3]int{1, 1, 1}, 64, [2]float64{0.75, 0.75}},
		{"mma", kernels80, "integers_many_", [3]int{1, 1, 1}, 64, [2]float64{0.26, 0.27}},
	} {
		for i, format := range []string{"q8", "q4"} {
			tile := []int{544, 288}[i]
			n := integerCounts(t, c.text, c.kernel+format, c.groups, c.rows, out, tile)
			each := 32 * float64(n.WarpInstructions) / float64(768*out*c.rows)
			t.Logf("%s, %d rows, %s: %.3f instructions for each product", c.name, c.rows, format, each)
			if each > c.most[i] {
				t.Errorf("%s%s, %d rows: %.3f instructions for each product, want %g at most", c.kernel,
					format, c.rows, each, c.most[i])
			}
		}
	}
}
