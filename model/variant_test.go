package model_test

// Variants: texts of several in one Eval.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/weights"
)

// TestVariantsInOneEval: with each tensor of a block, an embedding or a norm changed, texts of a model
// and of the variant that are mixed in one Eval have the bits of models alone: those of prompts, whose
// last block has some rows only, and of tokens.
func TestVariantsInOneEval(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 64})
	c, err := model.ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	base, err := weights.FromBytes("base", file)
	if err != nil {
		t.Fatal(err)
	}
	open := func(tensors *weights.Tensors) *model.Model {
		m, err := model.New(t.Context(), c, tensors, model.Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	m, only := open(base), open(base)
	for _, changed := range base.All() {
		if strings.HasPrefix(changed.Name, "h.0.") || changed.Name == "wte.weight" {
			continue // the other blocks are alike; a head goes with wte
		}
		all := slices.Clone(base.All())
		for i := range all {
			if all[i].Name == changed.Name {
				all[i].Data = slices.Clone(all[i].Data)
				slices.Reverse(all[i].Data[4:])
				for k := 7; k < len(all[i].Data); k += 4 {
					all[i].Data[k] = byte(0x3e + k/4%2<<7) // some 0.1 or −0.1
				}
			}
		}
		tensors, err := weights.New(weights.Source{Name: "changed", Tensors: all})
		if err != nil {
			t.Fatal(err)
		}
		alone := open(tensors)
		v, err := m.Variant(t.Context(), model.Change{Tensors: tensors, Names: []string{changed.Name}})
		if err != nil {
			t.Fatal(err)
		}
		var mixed, want []*model.Session
		for i := range 5 {
			of, as := m, only
			if i%2 == 1 {
				of, as = v, alone
			}
			mixed, want = append(mixed, of.NewSession()), append(want, as.NewSession())
		}
		for _, ids := range [][]int{{1, 2, 3, 4, 5, 6, 7}, {8}, {9, 10}} {
			var batch []model.Input
			for i, s := range mixed {
				batch = append(batch, model.Input{Session: s, Tokens: ids})
				in := model.Input{Session: want[i], Tokens: ids}
				if err := want[i].Model().Eval(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Eval(t.Context(), batch...); err != nil {
				t.Fatal(err)
			}
			for i, s := range mixed {
				if fmt.Sprint(s.Logits()) != fmt.Sprint(want[i].Logits()) {
					t.Errorf("%s changed: text %d has other bits than alone", changed.Name, i)
				}
			}
			if fmt.Sprint(mixed[0].Logits()) == fmt.Sprint(mixed[1].Logits()) {
				t.Fatalf("%s: the change has no effect", changed.Name)
			}
		}
	}
}
