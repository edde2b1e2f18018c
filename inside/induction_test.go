package inside_test

// The tools beside the closed-form answers of a model written by hand.

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/kernels"
	"picogpt/model"
)

// repeated is [bos, r, r] for the induction model: r has half different tokens.
const half = 15

func repeated() []int {
	ids := []int{0}
	for i := range 2 * half {
		ids = append(ids, 1+i%half*7%half) // 7 and 15 have no common factor
	}
	return ids
}

// repeatedRight returns how many tokens of the second r, all but its first, have the largest logit.
func repeatedRight(t testing.TB, m *model.Model, edits ...model.Edit) (right int) {
	t.Helper()
	ids, mu := repeated(), sync.Mutex{}
	in := model.Input{Session: m.NewSession(), Tokens: ids, Trace: model.Editing(edits),
		Visit: func(r model.Row) {
			if r.Index <= half || r.Index == 2*half {
				return
			}
			most := slices.Max(r.Logits)
			mu.Lock()
			defer mu.Unlock()
			if slices.Index(r.Logits, most) == ids[r.Index+1] {
				right++
			}
		}}
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	return right
}

func TestInductionModelIsAsItSays(t *testing.T) {
	for _, kernel := range kernels.Variants() {
		m := testmodel.Induction(t, model.Options{Threads: 2, Kernel: kernel})
		ids := repeated()
		one := func(what string, w float32) {
			if !(math.Abs(float64(w)-1) <= 1e-7) {
				t.Errorf("%s: %s: weight %v, want 1", kernel, what, w)
			}
		}
		in := model.Input{Session: m.NewSession(), Tokens: ids, Trace: &model.Trace{
			Points: []model.Point{{Kind: model.Pattern, Layer: model.AllLayers}},
			Read: func(r model.Reading) {
				n := r.Index + 1
				active, idle := r.Data[:n], r.Data[n:]
				for _, w := range idle {
					if w != 1/float32(n) {
						t.Errorf("%s: head %d.1: weight %v of %d tokens", kernel, r.At.Layer, w, n)
					}
				}
				switch what := fmt.Sprintf("head %d.0, token %d", r.At.Layer, r.Index); {
				case r.At.Layer == 0:
					one(what, active[max(0, r.Index-1)])
				case r.Index > half:
					one(what, active[r.Index-half+1])
				default: // no equal token before
					for _, w := range active {
						near(t, what, float64(w), 1/float64(n), 1e-4)
					}
				}
			}}}
		if err := m.Eval(context.Background(), in); err != nil {
			t.Fatal(err)
		}
		if n := repeatedRight(t, m); n != half-1 {
			t.Errorf("%s: %d repeated tokens right, want %d", kernel, n, half-1)
		}
		for layer := range 2 {
			off := model.Edit{At: model.Point{Kind: model.Z, Layer: layer}, Op: model.Set,
				Values: []float32{0}}
			if n := repeatedRight(t, m, off); n != 0 {
				t.Errorf("%s: without head %d.0 %d repeated tokens right, want 0", kernel, layer, n)
			}
			off.Head = 1 // an idle one
			if n := repeatedRight(t, m, off); n != half-1 {
				t.Errorf("%s: without head %d.1 %d repeated tokens right, want %d", kernel, layer, n,
					half-1)
			}
		}
	}
}

// Before layer 1 the stream holds the token itself, after it what came next before.
func TestLensOfTheInductionModel(t *testing.T) {
	m, ids := testmodel.Induction(t, model.Options{Threads: 2}), repeated()
	logits := make([][]float32, len(ids))
	in := model.Input{Session: m.NewSession(), Tokens: ids,
		Visit: func(r model.Row) { logits[r.Index] = slices.Clone(r.Logits) }}
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	table := lens(t, m, ids, inside.LensOptions{Top: 1,
		Logits: func(layer, position int, x []float32) {
			if layer == 2 && !slices.Equal(x, logits[position]) {
				t.Errorf("position %d: the last row is not the logits", position)
			}
		}})
	for at := half + 1; at < 2*half; at++ {
		for layer, want := range []int{ids[at], ids[at], ids[at+1]} {
			if top := table.Layers[layer][at].Top[0]; top != want {
				t.Errorf("layer %d, token %d: %d is the likeliest, want %d", layer, at, top, want)
			}
		}
		// the logits are 3, 1 and 14 zeros
		near(t, "p", table.Layers[2][at].P[0], math.Exp(3)/(math.Exp(3)+math.E+14), 1e-5)
	}
}

// Head 1.0 adds 3 to the repeated token's logit, the embedding 1 to the token's own.
func TestAttributionOfTheInductionModel(t *testing.T) {
	m, ids := testmodel.Induction(t, model.Options{Threads: 2}), repeated()
	for at := half + 1; at < 2*half; at++ {
		a := attribute(t, m, ids[:at+1], inside.Metric{Target: ids[at+1], Against: &ids[at]})
		want := map[string]float64{"head 1.0": 3, "embed": -1}
		for _, part := range a.Parts {
			near(t, part.Name, part.Value, want[part.Name], 1e-5)
		}
		near(t, "sum", a.Sum, 2, 1e-5)
		near(t, "difference", a.Difference, a.Sum, 1e-6)
	}
}

// patched returns [bos, r, r] up to a token of the second r, whose successor in the first r, at the
// position that is returned, is bos in the corrupted text.
func patched(at int) (clean, corrupted []int, source int) {
	clean, source = repeated()[:at+1], at-half+1
	corrupted = slices.Clone(clean)
	corrupted[source] = 0
	return clean, corrupted, source
}

// Head 1.0 copies the token of one position to the last one. So all of the difference is in that
// position's stream in both layers, and in what head 1.0 writes at the last.
func TestPatchingOfTheInductionModel(t *testing.T) {
	m, bos := testmodel.Induction(t, model.Options{Threads: 2}), 0
	for _, at := range []int{half + 1, 2*half - 1} {
		clean, corrupted, source := patched(at)
		q := inside.Metric{Target: clean[source], Against: &bos}
		for _, noising := range []bool{false, true} {
			for kind, where := range map[model.Kind][2]int{ // the column of each layer; -1: none
				model.ResidPre: {source, source}, model.AttnOut: {-1, at}, model.MLPOut: {-1, -1},
				model.Z: {-1, 0}, model.Value: {-1, 0}, model.Key: {-1, -1}} {
				table := patch(t, m, clean, corrupted, q, inside.PatchOptions{At: kind, Noising: noising})
				near(t, "clean", table.Clean, 3, 1e-5)
				near(t, "corrupted", table.Corrupted, -3, 1e-5)
				for layer, row := range table.Share {
					for i, share := range row {
						want := 0.0
						if noising != (i == where[layer]) {
							want = 1
						}
						near(t, fmt.Sprintf("kind %d, noising %v: layer %d, %d", kind, noising, layer, i),
							share, want, 1e-5)
					}
				}
			}
		}
	}
}

// scale returns the factor by which a LayerNorm whose gain is for one stream (by the sum and the
// sum of squares of its elements) multiplies another.
func scale(sum, squares float64, stream []float64) float64 {
	const n = 2*testmodel.InductionVocab + testmodel.InductionPositions
	deviation := func(sum, squares float64) float64 {
		return math.Sqrt(squares/n - sum/n*(sum/n) + 1e-5)
	}
	ownSum, ownSquares := 0.0, 0.0
	for _, x := range stream {
		ownSum, ownSquares = ownSum+x, ownSquares+x*x
	}
	return deviation(sum, squares) / deviation(ownSum, ownSquares)
}

// Without head 1.0 the token's own logit is the greatest. Without head 0.0, or where head 1.0 does
// not see its source, that head attends to all tokens alike. Nothing else has an effect.
func TestAblationAndKnockoutOfTheInductionModel(t *testing.T) {
	m := testmodel.Induction(t, model.Options{Threads: 2})
	for _, at := range []int{half + 1, 2*half - 1} {
		ids, source := repeated()[:at+1], at-half+1
		target, own, n := ids[source], ids[at], float64(at+1)
		q := inside.Metric{Target: target, Against: &own}

		// alike returns the metric where head 1.0 attends to all tokens but one alike, and the
		// stream has besides some more vectors of a single 1. The LayerNorm before makes each 1 of
		// the stream one times gain, and adds offset to everything.
		alike := func(but int, more int, gain, offset float64) float64 {
			logits, seen := make([]float64, testmodel.InductionVocab), n
			if but >= 0 {
				seen--
			}
			for i, id := range ids {
				if i != but {
					logits[id] += 3 * gain / seen
				}
			}
			for id := range logits {
				logits[id] += 3 * offset
			}
			logits[own]++
			stream := slices.Clone(logits)
			for range more {
				stream = append(stream, 1)
			}
			return (logits[target] - logits[own]) * scale(6, 12, stream)
		}
		const width = 2*testmodel.InductionVocab + testmodel.InductionPositions
		gain := scale(3, 3, []float64{1, 1})
		silent := -scale(6, 12, []float64{1, 1, 1})
		withoutPrevious := alike(-1, 1, gain, 3./width-2./width*gain)
		want := map[string]float64{"head 0.0": withoutPrevious, "attn 0": withoutPrevious,
			"head 1.0": silent, "attn 1": silent}
		effects := ablate(t, m, ids, q, inside.AblateOptions{})
		near(t, "difference", effects.Difference, 2, 1e-5)
		for _, part := range effects.Parts {
			value, has := want[part.Name]
			if !has {
				value = effects.Difference
			}
			near(t, part.Name, part.Value, value, 1e-5)
		}
		for i, part := range knockout(t, m, ids, q, 1, model.AllHeads).Parts {
			value := effects.Difference
			if i == source {
				value = alike(source, 2, 1, 0)
			}
			near(t, part.Name, part.Value, value, 1e-5)
		}
	}
}

// Another text's values give what that text would: of head 1.0 the token that it copies.
func TestResamplingOfTheInductionModel(t *testing.T) {
	m, bos := testmodel.Induction(t, model.Options{Threads: 2}), 0
	clean, corrupted, source := patched(2*half - 1)
	effects := ablate(t, m, clean, inside.Metric{Target: clean[source], Against: &bos},
		inside.AblateOptions{Resample: corrupted})
	for _, part := range effects.Parts {
		want := 3.0
		if part.Name == "head 1.0" || part.Name == "attn 1" {
			want = -3
		}
		near(t, part.Name, part.Value, want, 1e-5)
	}
}
