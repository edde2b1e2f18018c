package gpu

// The last block of passes of which few rows are read, on a driver that computes nothing.

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

// A rowCounter keeps the groups of each launch of a kernel.
type rowCounter struct {
	*fakeDriver
	groups map[string][][3]int
}

func (d *rowCounter) Launch(l *Launch) error {
	d.groups[l.Kernel] = append(d.groups[l.Kernel], l.Groups)
	return d.fakeDriver.Launch(l)
}

// TestTheLastBlockIsForTheRowsThatAreRead: of a prompt of 600 tokens in two passes, no row of the
// first is read, and one of the second; beside it three rows of other texts are.
func TestTheLastBlockIsForTheRowsThatAreRead(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 700, Layer: 2, Head: 3})
	d := &rowCounter{newFake(t), map[string][][3]int{}}
	m := testmodel.New(t, config, file, model.Options{Device: NewDevice(Info{Name: "fake"},
		func() (Driver, error) { return d, nil }).WithoutProbe()})
	batch := []model.Input{{Session: m.NewSession(), Tokens: make([]int, 600)}}
	for range 3 {
		batch = append(batch, model.Input{Session: m.NewSession(), Tokens: []int{1}})
	}
	if err := m.Eval(context.Background(), batch...); err != nil {
		t.Fatal(err)
	}
	rows := func(kernel string, dimension int) (all []int) {
		for _, g := range d.groups[kernel] {
			all = append(all, g[dimension])
		}
		return all
	}
	const second = 600 - 512 + 3
	for kernel, want := range map[string][]int{
		"layer_norm": { // ln_1 and ln_2 of each block, and ln_f
			512, 512, 512, second, second, second, 4, 4},
		"store_f32": {512, 512, second, second},
		"take_rows": {4},
	} {
		if got := rows(kernel, 0); !slices.Equal(got, want) {
			t.Errorf("%s of %d rows, want %d", kernel, got, want)
		}
	}
	for kernel, want := range map[string][]int{
		"attend_tile_f32": {32, 6, 1}, // groups of 16 rows; one of the last
		"attend_one_f32":  {3, 3},
	} {
		if got := rows(kernel, 1); !slices.Equal(got, want) {
			t.Errorf("%s of %d groups, want %d", kernel, got, want)
		}
	}
	all := fmt.Sprint(rows("activate_parts", 0))
	inner := m.Config().Inner
	if want := fmt.Sprint([]int{groups(512*inner, groupItems), groups(second*inner, groupItems),
		groups(4*inner, groupItems)}); all != want {
		t.Errorf("activations of %s groups, want %s", all, want)
	}
}
