package batch

// Texts of a model and of its variants in one batch.

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"weak"

	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/weights"
)

// changed returns a small checkpoint, and it with one tensor negated.
func changed(t *testing.T, name string) (m, alone *model.Model, change model.Change) {
	t.Helper()
	config, file := fixture.Checkpoint(fixture.Options{Positions: 64})
	base, err := weights.FromBytes("base", file)
	if err != nil {
		t.Fatal(err)
	}
	var all []weights.Tensor
	for _, x := range base.All() {
		if x.Name == name {
			x.Data = slices.Clone(x.Data)
			for i := 0; i < len(x.Data); i += 4 {
				v := math.Float32frombits(binary.LittleEndian.Uint32(x.Data[i:]))
				binary.LittleEndian.PutUint32(x.Data[i:], math.Float32bits(-v))
			}
		}
		all = append(all, x)
	}
	tensors, err := weights.New(weights.Source{Name: "changed", Tensors: all})
	if err != nil {
		t.Fatal(err)
	}
	c, err := model.ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	alone, err = model.New(t.Context(), c, tensors, model.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { alone.Close() })
	m = testmodel.New(t, config, file, model.Options{Threads: 1})
	return m, alone, model.Change{Tensors: tensors, Names: []string{name}}
}

// drawn are the options of a short text.
func drawn(seed uint64) decode.Options {
	return decode.Options{MaxTokens: 8, Params: sample.Params{Seed: seed, Temperature: 1}}
}

// TestVariantsShareNoPrompts: texts of a model and a variant that begin alike, in one batch, are
// those of the models alone; evaluated prompts are shared among those of one, and are gone with
// Drop.
func TestVariantsShareNoPrompts(t *testing.T) {
	m, alone, change := changed(t, "h.1.mlp.c_fc.weight")
	v, err := m.Variant(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	b := New(m, Options{PrefixBytes: 1 << 20})
	defer b.Close()
	prompt := randomIDs(rand.New(rand.NewPCG(1, 1)), 40)
	write := func(of *model.Model, seed uint64) []int {
		r := Request{Prompt: prompt, Model: of, Options: drawn(seed)}
		var got []int
		for tok, err := range b.Run(context.Background(), r) {
			if err != nil {
				t.Error(err)
				return nil
			}
			got = append(got, tok.ID)
		}
		return got
	}
	want := func(of *model.Model, seed uint64) (all []int) {
		for tok, err := range decode.Generate(t.Context(), of.NewSession(), prompt,
			drawn(seed)) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, tok.ID)
		}
		return all
	}
	different := 0
	for seed := range uint64(4) {
		var running sync.WaitGroup
		ofModel, ofVariant := want(m, seed), want(alone, seed)
		for range 3 {
			running.Go(func() {
				if got := write(v, seed); !slices.Equal(got, ofVariant) {
					t.Errorf("the variant wrote %v, want %v", got, ofVariant)
				}
			})
			running.Go(func() {
				if got := write(nil, seed); !slices.Equal(got, ofModel) {
					t.Errorf("the model wrote %v, want %v", got, ofModel)
				}
			})
		}
		if running.Wait(); !slices.Equal(ofModel, ofVariant) {
			different++
		}
	}
	if different == 0 {
		t.Error("the variant writes as the model does")
	}
	hits := func(of *model.Model) int64 {
		before := b.Stats().PrefixHits
		write(of, 9)
		return b.Stats().PrefixHits - before
	}
	if n := hits(v); n == 0 {
		t.Error("a text of the variant found no prompt of it")
	}
	b.Drop(v)
	if n := hits(v); n != 0 {
		t.Errorf("after Drop a text of the variant found %d tokens", n)
	}
	if n := hits(nil); n == 0 {
		t.Error("Drop of the variant dropped the model's prompts")
	}
	b.Drop(v)
	gone := weak.Make(v.Params())
	v = nil
	for tries := 0; gone.Value() != nil; tries++ {
		if runtime.GC(); tries == 100 {
			t.Fatal("after Drop something still refers to the variant")
		}
	}
}
