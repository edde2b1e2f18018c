//go:build gpu

package model_test

// Sessions that a processor saves and a GPU continues, and the other way.

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testdevice"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
)

func TestADeviceContinuesSessionsOfTheProcessor(t *testing.T) {
	device := testdevice.Open(t)
	on := func(o model.Options) model.Options { o.Device = device; return o }
	for i, name := range slices.Sorted(maps.Keys(shapes)) {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, name, snapshotFormats[i%4], on, on, on)
			r := rand.New(rand.NewPCG(81, uint64(i)))
			for range cases.Sized(4, 1000/len(shapes)) {
				f.check(t, r)
			}
		})
	}
}

// A fleet is models of one checkpoint that differ in kernel and threads, in each cache format.
type fleet struct {
	shape  fixture.Options
	models [3][]*model.Model
}

// newFleet opens the models, and with each of add one more for each cache format.
func newFleet(
	t *testing.T, shape, weights string, add ...func(model.Options) model.Options,
) *fleet {
	f := &fleet{shape: shapes[shape]}
	config, file := fixture.Checkpoint(f.shape)
	for i, cache := range model.CacheFormats() {
		o := model.Options{CacheFormat: cache, Format: weights, Digest: digested(shape)}
		for _, kernel := range kernels.Variants() {
			for _, threads := range []int{1, 7} {
				o := o
				o.Kernel, o.Threads = kernel, threads
				f.models[i] = append(f.models[i], testmodel.New(t, config, file, o))
			}
		}
		for _, change := range add {
			if o := change(o); o.Device == nil || cache != "q8" { // which no GPU has
				f.models[i] = append(f.models[i], testmodel.New(t, config, file, o))
			}
		}
	}
	return f
}

// check saves a random session on one model, restores it on another, and continues both.
func (f *fleet) check(t *testing.T, r *rand.Rand) {
	models := f.models[r.IntN(len(f.models))]
	from, to := models[r.IntN(len(models))], models[r.IntN(len(models))]
	s := randomSession(t, from, r, f.shape.Vocab)
	file := saved(t, s)
	what := fmt.Sprintf("%s to %s, %s, %d tokens", from.Kernel(), to.Kernel(), from.CacheFormat(),
		s.Len())
	restored, err := restore(to, file)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !slices.Equal(restored.Tokens(), s.Tokens()) {
		t.Fatalf("%s: other tokens", what)
	}
	if s.Len() > 0 && s.Logits() != nil {
		sameBits(t, what+", the last token", restored.Logits(), s.Logits())
	}
	if again := saved(t, restored); !bytes.Equal(again, file) {
		t.Fatalf("%s: saved again it is another file", what)
	}
	for i := range 50 {
		id := r.IntN(f.shape.Vocab)
		sameBits(t, fmt.Sprintf("%s, %d on", what, i+1), eval(t, restored, id), eval(t, s, id))
	}
	s.Release()
	restored.Release()
}

// randomSession returns a session that was made in chunks, with forks and truncations.
func randomSession(t *testing.T, m *model.Model, r *rand.Rand, vocab int) *model.Session {
	s, n := m.NewSession(), r.IntN(150)
	if r.IntN(3) == 0 {
		n = 64*r.IntN(3) + r.IntN(3) // at the border of a page
	}
	for s.Len() < n {
		eval(t, s, tokens(r, 1+r.IntN(n-s.Len()), vocab)...)
		switch r.IntN(4) {
		case 0:
			s = s.Fork(s.Len())
		case 1:
			s.Truncate(s.Len() - r.IntN(min(20, s.Len())))
		}
	}
	return s
}

// snapshotFormats are the number formats of the weights, for each of shapes.
var snapshotFormats = []string{"auto", "f32", "q8", "f16"}
