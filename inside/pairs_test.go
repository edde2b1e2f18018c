package inside_test

// Many pairs: each row is what the pair alone has, and the means are theirs.

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"picogpt/inside"
	"picogpt/model"
)

func somePairs(a *gradientAnswers) []inside.Pair {
	third := append([]int{8}, a.IDs[1:]...)
	return []inside.Pair{
		{Clean: a.IDs, Corrupted: a.Other, Metric: inside.Metric{Target: 5, Against: &a.Against}},
		{Clean: a.Other, Corrupted: a.IDs, Metric: inside.Metric{Target: 7}},
		{Clean: third, Corrupted: a.IDs, Metric: inside.Metric{Target: 3, LogProb: true}},
	}
}

// averaged is an average in another order: by squares.
func averaged(x ...float64) (mean, spread float64) {
	square := 0.0
	for _, v := range x {
		mean, square = mean+v/float64(len(x)), square+v*v
	}
	n := float64(len(x))
	return mean, math.Sqrt(max(0, square-n*mean*mean) / (n - 1))
}

func TestPatchesOfManyPairs(t *testing.T) {
	a := readGradientAnswers(t)
	m, pairs := gradientModel(t, "gelu_new", model.Options{Threads: 2}), somePairs(a)
	for _, o := range []inside.PatchOptions{{}, {At: model.Z, Noising: true}, {At: model.MLPOut,
		Path: &inside.Path{Steps: 2}}} {
		set, err := inside.PatchAll(t.Context(), m, pairs, o)
		if err != nil {
			t.Fatal(err)
		}
		var alone [3]*inside.PatchTable
		for i, p := range pairs {
			if alone[i], err = inside.Patch(t.Context(), m, p.Clean, p.Corrupted, p.Metric, o); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(alone[i], set.Pairs[i]) {
				t.Errorf("pair %d is another one alone", i)
			}
		}
		clean, _ := averaged(alone[0].Clean, alone[1].Clean, alone[2].Clean)
		corrupted, spread := averaged(alone[0].Corrupted, alone[1].Corrupted, alone[2].Corrupted)
		near(t, "corrupted", set.Corrupted.Mean, corrupted, 1e-9)
		near(t, "corrupted", set.Corrupted.Spread, spread, 1e-7)
		for l, row := range set.Values {
			for j, got := range row {
				mean, spread := averaged(alone[0].Values[l][j], alone[1].Values[l][j],
					alone[2].Values[l][j])
				near(t, "mean", got.Mean, mean, 1e-9)
				near(t, "spread", got.Spread, spread, 1e-6)
				near(t, "share", set.Share[l][j], (mean-corrupted)/(clean-corrupted), 1e-6)
			}
		}
	}
	back := []inside.Pair{pairs[0], pairs[0]} // the means are the same
	back[1].Clean, back[1].Corrupted = pairs[0].Corrupted, pairs[0].Clean
	if _, err := inside.PatchAll(t.Context(), m, back, inside.PatchOptions{}); err == nil ||
		!strings.Contains(err.Error(), "in the mean") {
		t.Error(err)
	}
	pairs[1].Clean, pairs[1].Corrupted = pairs[1].Clean[1:], pairs[1].Corrupted[1:]
	if _, err := inside.PatchAll(t.Context(), m, pairs, inside.PatchOptions{}); err == nil ||
		!strings.HasPrefix(err.Error(), "pair 1: 6 tokens, want 7") {
		t.Error(err)
	}
	if _, err := inside.PatchAll(t.Context(), m, pairs, inside.PatchOptions{At: model.Z}); err != nil {
		t.Error(err)
	}
}

func TestPartsOfManyPairs(t *testing.T) {
	a := readGradientAnswers(t)
	m, pairs := gradientModel(t, "gelu_new", model.Options{Threads: 2}), somePairs(a)
	mean := [][]int{a.Other, {1, 2}}
	for name, o := range map[string]inside.AblateOptions{"zero": {}, "mean": {Mean: mean},
		"resample": {}, "together": {Mean: mean, Together: []string{"head 0.2", "mlp 1"}},
		"view": {View: inside.TransformerLens}} {
		set, err := inside.AblateAll(t.Context(), m, pairs, name == "resample", o, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range pairs {
			if name == "resample" {
				o.Resample = p.Corrupted
			}
			alone, err := inside.Ablate(t.Context(), m, p.Clean, p.Metric, o)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(alone.Parts, set.Texts[i].Parts) {
				t.Errorf("%s: pair %d: %v, alone %v", name, i, set.Texts[i].Parts, alone.Parts)
			}
		}
		for i, part := range set.Parts {
			want, spread := averaged(set.Texts[0].Parts[i].Value, set.Texts[1].Parts[i].Value,
				set.Texts[2].Parts[i].Value)
			near(t, part.Name, part.Mean, want, 1e-9)
			near(t, part.Name, part.Spread, spread, 1e-6)
		}
	}
	if _, err := inside.AblateAll(t.Context(), m, nil, false, inside.AblateOptions{}, nil); err == nil {
		t.Error("no pairs have parts")
	}
	pairs = pairs[:2]
	set, err := inside.AttributeAll(t.Context(), m, pairs, inside.AttributeOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	one := attribute(t, m, pairs[1].Clean, pairs[1].Metric)
	if !reflect.DeepEqual(one.Parts, set.Texts[1].Parts) || len(set.Parts) != len(one.Parts) {
		t.Error("the parts of a pair are others alone")
	}
}

// Several parts at once are one run with all their edits.
func TestPartsTogether(t *testing.T) {
	a := readGradientAnswers(t)
	m := gradientModel(t, "gelu_new", model.Options{Threads: 2})
	q := inside.Metric{Target: a.Target}
	o := inside.AblateOptions{Together: []string{"head 1.0", "attn 0", "mlp 1"}}
	e, err := inside.Ablate(t.Context(), m, a.IDs, q, o)
	if err != nil {
		t.Fatal(err)
	}
	off := func(k model.Kind, layer, head int) model.Edit {
		return model.Edit{At: model.Point{Kind: k, Layer: layer}, Head: head, Op: model.Set,
			Values: []float32{0}}
	}
	err = inside.Sweep(t.Context(), m, a.IDs, [][]model.Edit{{off(model.Z, 1, 0),
		off(model.AttnOut, 0, model.AllHeads), off(model.MLPOut, 1, model.AllHeads)}},
		func(_ int, logits []float32) {
			if got, ok := e.Parts.Value("together"); !ok || got != q.Of(logits) {
				t.Errorf("together %v, want %v", got, q.Of(logits))
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	o.Together = []string{"head 1.9"}
	if _, err := inside.Ablate(t.Context(), m, a.IDs, q, o); err == nil {
		t.Error("a head that is not there is taken away")
	}
}
