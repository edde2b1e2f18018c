package batch

// The key of edits, by which texts share prompts.

import (
	"slices"
	"testing"

	"picogpt/decode"
	"picogpt/model"
)

// added is the edit that adds a direction with one number after a block.
func added(layer, at int, x float32) model.Edit {
	direction := make([]float32, 128)
	direction[at] = x
	return model.Edit{At: model.Point{Kind: model.ResidPost, Layer: layer}, Head: model.AllHeads,
		Op: model.Add, Values: direction}
}

func TestTheKeyOfEditsIsThatOfTheirBits(t *testing.T) {
	one := added(1, 7, 3)
	change := func(f func(*model.Edit)) []model.Edit {
		e := one
		e.Values = slices.Clone(one.Values)
		f(&e)
		return []model.Edit{e}
	}
	if KeyOf(change(func(*model.Edit) {})) != KeyOf([]model.Edit{one}) {
		t.Error("equal edits have other keys")
	}
	keys := map[string]string{KeyOf([]model.Edit{one}): "the edit"}
	for name, edits := range map[string][]model.Edit{
		"none": nil, "twice": {one, one},
		"kind":   change(func(e *model.Edit) { e.At.Kind = model.ResidMid }),
		"layer":  change(func(e *model.Edit) { e.At.Layer = 2 }),
		"head":   change(func(e *model.Edit) { e.Head = 0 }),
		"op":     change(func(e *model.Edit) { e.Op = model.Set }),
		"from":   change(func(e *model.Edit) { e.From = 1 }),
		"to":     change(func(e *model.Edit) { e.To = 1 }),
		"keys":   change(func(e *model.Edit) { e.KeysFrom = 1 }),
		"keysTo": change(func(e *model.Edit) { e.KeysTo = 1 }),
		"value":  change(func(e *model.Edit) { e.Values[127] = 1e-45 }),
		"fewer":  change(func(e *model.Edit) { e.Values = e.Values[:127] }),
		"moved":  {added(1, 8, 3)},
		"scale":  {added(1, 7, 3.0000002)},
	} {
		key := KeyOf(edits)
		if other, is := keys[key]; is {
			t.Errorf("%s and %s have one key", name, other)
		}
		keys[key] = name
	}
	r := Request{Salt: "s", Options: decode.Options{Edits: []model.Edit{one}}}
	computed := saltOf(&r)
	if r.EditsKey = KeyOf(r.Options.Edits); saltOf(&r) != computed {
		t.Error("a key that the caller has computed is another")
	}
	if r.Options.Edits = nil; saltOf(&r) != "s" {
		t.Error("a request without edits has a key of edits")
	}
}

// A large vector of 1.5B: 47 blocks of 1,600 numbers.
func BenchmarkKeyOf(b *testing.B) {
	edits := make([]model.Edit, 47)
	for i := range edits {
		edits[i].Values = make([]float32, 1600)
	}
	for b.Loop() {
		KeyOf(edits)
	}
}
