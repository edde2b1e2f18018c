package gpu

// How many launches a pass is, counted on a driver that computes nothing: SPEED.md has the table.

import (
	"fmt"
	"slices"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

// TestLaunchesOfALayer counts those of texts of so many new tokens each, in models of one layer and
// of two.
func TestLaunchesOfALayer(t *testing.T) {
	cases.NotShort(t)
	type kind struct {
		format string
		layers int
	}
	models, fakes := map[kind]*model.Model{}, map[kind]*fakeDriver{}
	for layers := 1; layers <= 2; layers++ {
		config, file := fixture.Checkpoint(fixture.Options{Embd: 768, Head: 12, Inner: 96,
			Layer: layers, Vocab: 300, Positions: 70})
		for _, format := range []string{"f32", "f16", "bf16", "q8", "q4"} {
			fake := newFake(t)
			fakes[kind{format, layers}] = fake
			models[kind{format, layers}] = testmodel.New(t, config, file, model.Options{
				Format: format, Threads: 1, Device: NewDevice(Info{Name: "fake"},
					func() (Driver, error) { return fake, nil }).WithoutProbe()})
		}
	}
	launches := func(format string, layers int, tokens []int) int {
		m, fake := models[kind{format, layers}], fakes[kind{format, layers}]
		var batch []model.Input
		for _, n := range tokens {
			batch = append(batch, model.Input{Session: m.NewSession(), Tokens: make([]int, n)})
		}
		fake.launches = 0
		if err := m.Eval(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
		for _, in := range batch {
			in.Session.Release()
		}
		return fake.launches
	}
	for _, c := range []struct {
		what           string
		tokens         []int
		floats, blocks int // of a layer, in F32, F16 and BF16, and in Q8 and Q4
		head           int // of the embedding, the norm and the head in Q8 and Q4; in floats 3
	}{
		// norm, c_attn, attend, c_proj, norm, c_fc, c_proj
		{"one row", []int{1}, 7, 7, 3},
		// and activation; or quantize before both c_proj
		{"two rows", []int{1, 1}, 8, 9, 3},
		{"64 rows", slices.Repeat([]int{1}, 64), 8, 9, 3},
	} {
		for _, format := range []string{"f32", "f16", "bf16", "q8", "q4"} {
			layer, rest := c.floats, 3
			if format[0] == 'q' {
				layer, rest = c.blocks, c.head
			}
			one, two := launches(format, 1, c.tokens), launches(format, 2, c.tokens)
			if one != rest+layer || two != one+layer {
				t.Errorf("%s in %s: %d launches, and %d with a second layer, want %d and %d",
					c.what, format, one, two, rest+layer, rest+2*layer)
			}
		}
	}
	// rows of one text: also store
	for format, want := range map[string]int{"f32": 9, "q8": 10} {
		one, two := launches(format, 1, []int{3}), launches(format, 2, []int{3})
		if got := fmt.Sprint(two - one); got != fmt.Sprint(want) {
			t.Errorf("three rows of a text in %s: %s launches of a layer, want %d", format, got, want)
		}
	}
}
