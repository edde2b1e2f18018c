package model_test

// Edits: beside float64, in batches and alone, and what is refused.

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

// editsOf returns the edits of an answer.
func editsOf(t testing.TB, list []fixture.InsideEdit, hide [][4]int) (edits []model.Edit) {
	t.Helper()
	for _, e := range list {
		p, err := model.ParsePoint(e.Point)
		if err != nil {
			t.Fatal(err)
		}
		edits = append(edits, model.Edit{At: p, Head: e.Head, From: e.From, To: e.To,
			Op: model.Op(e.Op), Values: e.Values})
	}
	for _, h := range hide {
		edits = append(edits, model.Edit{At: model.Point{Kind: model.Pattern, Layer: h[0]}, Head: h[1],
			From: h[2], To: h[2] + 1, Op: model.Hide, KeysFrom: h[3], KeysTo: h[3] + 1})
	}
	return edits
}

func TestEditsAreThoseOfFloat64(t *testing.T) {
	answers, m := insideAnswers(t), testmodel.Demo(t, model.Options{Threads: 2})
	ids := answers.IDs[0]
	var batch []model.Input
	for _, c := range answers.Cases {
		batch = append(batch, model.Input{Session: m.NewSession(), Tokens: ids,
			Trace: model.Editing(editsOf(t, c.Edits, c.Hide))})
	}
	if err := m.Eval(context.Background(), batch...); err != nil {
		t.Fatal(err)
	}
	for i, c := range answers.Cases {
		logits, largest := batch[i].Session.Logits(), 0.0
		for _, v := range logits {
			largest = max(largest, math.Abs(float64(v)))
		}
		for j, id := range c.Top {
			if d := math.Abs(float64(logits[id]) - c.Logits[j]); d > 1e-4*largest {
				t.Errorf("%s: id %d: %v, want %v", c.Name, id, logits[id], c.Logits[j])
			}
		}
		if !batch[i].Session.Edited() {
			t.Errorf("%s: the session does not say that it is edited", c.Name)
		}
		alone := m.NewSession()
		evalTrace(t, alone, ids, batch[i].Trace)
		if !slices.Equal(alone.Logits(), logits) {
			t.Errorf("%s: alone it has other bits", c.Name)
		}
		edited := testmodel.Demo(t, model.Options{Threads: 1, Edits: batch[i].Trace.Edits})
		whole := edited.NewSession()
		evalTrace(t, whole, ids, nil)
		if !slices.Equal(whole.Logits(), logits) || !whole.Edited() {
			t.Errorf("%s: as edits of the model it has other bits", c.Name)
		}
		edited.Close()
	}
}

func TestEditedSaysWhatASessionHolds(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	ids := insideAnswers(t).IDs[0][:8]
	edit := model.Edit{At: model.Point{Kind: model.ResidPost, Layer: 1}, Head: model.AllHeads,
		Op: model.Set, From: 5, To: 6, Values: []float32{0}}
	s := m.NewSession()
	evalTrace(t, s, ids[:5], model.Editing([]model.Edit{edit}))
	if s.Edited() {
		t.Error("edited before the edit's first token")
	}
	evalTrace(t, s, ids[5:], model.Editing([]model.Edit{edit}))
	if !s.Edited() || !s.Fork(6).Edited() || s.Fork(5).Edited() {
		t.Errorf("edited %v, forks %v and %v, want true, true, false", s.Edited(), s.Fork(6).Edited(),
			s.Fork(5).Edited())
	}
	if err := s.Save(context.Background(), &strings.Builder{}); err == nil ||
		!strings.Contains(err.Error(), "edits") {
		t.Errorf("Save: %v, want an error about edits", err)
	}
	other := m.NewSession()
	other.Take(s)
	if !other.Edited() || s.Edited() {
		t.Error("Take does not move the mark")
	}
	if other.Truncate(5); other.Edited() {
		t.Error("edited after the edited tokens are gone")
	}
	evalTrace(t, other, ids[5:], nil)
	if other.Edited() {
		t.Error("edited without an edit")
	}
}

func TestATokenWithoutKeysGetsZeros(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 2})
	ids := insideAnswers(t).IDs[0]
	var r reading
	z := model.Point{Kind: model.Z, Layer: 2}
	pattern := model.Point{Kind: model.Pattern, Layer: 2}
	evalTrace(t, m.NewSession(), ids, r.trace([]model.Point{z, pattern}, 0, len(ids),
		model.Edit{At: pattern, Head: 1, Op: model.Hide, From: 4, To: 5, KeysTo: 5}))
	dim := m.Config().Embd / m.Config().Head
	if x := r.rows[z.String()][4]; !slices.Equal(x[dim:2*dim], make([]float32, dim)) || x[0] == 0 {
		t.Errorf("z of head 1: %v, and of head 0 %v", x[dim:2*dim], x[0])
	}
	if w := r.rows["blocks.2.attn.hook_pattern"][4]; !slices.Equal(w[5:10], make([]float32, 5)) {
		t.Errorf("weights %v, want zeros", w[5:10])
	}
}

func TestBadTracesAreRefused(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	read := func(model.Reading) {}
	at := func(k model.Kind, layer int) model.Point { return model.Point{Kind: k, Layer: layer} }
	edit := func(k model.Kind, op model.Op, values ...float32) model.Edit {
		return model.Edit{At: at(k, 0), Op: op, Values: values}
	}
	wrong := func(e model.Edit, change func(*model.Edit)) model.Trace {
		change(&e)
		return model.Trace{Edits: []model.Edit{e}}
	}
	same := func(*model.Edit) {}
	z, hide := edit(model.Z, model.Set, 0), edit(model.Pattern, model.Hide)
	nan := append(make([]float32, 31), float32(math.NaN()))
	for want, trace := range map[string]model.Trace{
		"layers 0 to 3":           {Points: []model.Point{at(model.Z, 4)}, Read: read},
		"without Read":            {Points: []model.Point{at(model.Z, 0)}},
		"From -1":                 {From: -1},
		"layer from 0 to 3":       wrong(z, func(e *model.Edit) { e.At.Layer = 4 }),
		"head 4, want 0 to 3":     wrong(z, func(e *model.Edit) { e.Head = 4 }),
		"tokens 3 to 3":           wrong(z, func(e *model.Edit) { e.From, e.To = 3, 3 }),
		"keys_from and keys_to":   wrong(z, func(e *model.Edit) { e.KeysTo = 2 }),
		"keys 2 to 2":             wrong(hide, func(e *model.Edit) { e.KeysFrom, e.KeysTo = 2, 2 }),
		"point without heads":     wrong(edit(model.ResidPre, model.Set, 0), func(e *model.Edit) { e.Head = 1 }),
		"read, not edited":        wrong(edit(model.LN1Normalized, model.Set, 0), same),
		"31 values, want 32":      wrong(edit(model.Z, model.Set, make([]float32, 31)...), same),
		"value 31 is not finite":  wrong(edit(model.Z, model.Add, nan...), same),
		`"x", want set`:           wrong(edit(model.Z, "x"), same),
		"want attn.hook_pattern":  wrong(edit(model.Z, model.Hide), same),
		"scale: 2 values, want 1": wrong(edit(model.Z, model.Scale, 0, 1), same),
	} {
		s := m.NewSession()
		err := m.Eval(context.Background(), model.Input{Session: s, Tokens: []int{1}, Trace: &trace})
		if err == nil || !strings.Contains(err.Error(), want) || s.Len() != 0 {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for name, want := range map[string]string{
		"blocks.3.hook_resid_pre": "", "resid_pre.3": "", "blocks.*.attn.hook_z": "",
		"hook_embed": "", "embed": "",
		"blocks.3.hook_resid_prr": "did you mean blocks.3.hook_resid_pre?",
		"resid_prr.11":            "did you mean blocks.11.hook_resid_pre?",
		"blocks.0.hook_embed":     "did you mean hook_embed?",
		"HOOK_EMBED":              "did you mean hook_embed?",
		"Blocks.2.Hook_Mlp_Out":   "did you mean blocks.2.hook_mlp_out?",
		"blocks.x.hook_resid_pre": "layer x", "blocks.-1.hook_resid_pre": "layer -1",
		"blocks.01.attn.hook_z":  "layer 01",
		"":                       "want one such as",
		strings.Repeat("x", 1e6): "want one such as",
	} {
		p, err := model.ParsePoint(name)
		if want == "" && err == nil {
			if again, err := model.ParsePoint(p.String()); err != nil || again != p {
				t.Errorf("%s: %v, %v", name, again, err)
			}
		} else if want == "" || err == nil || !strings.Contains(err.Error(), want) ||
			len(err.Error()) > 300 {
			t.Errorf("%.40q: error %v, want %q", name, err, want)
		}
	}
}

func TestEditsAsJSON(t *testing.T) {
	edits := []model.Edit{
		{At: model.Point{Kind: model.Z, Layer: 3}, Head: 0, Op: model.Set, From: 2, To: 4,
			Values: []float32{0.1}},
		{At: model.Point{Kind: model.Pattern, Layer: model.AllLayers}, Head: model.AllHeads,
			Op: model.Hide, KeysFrom: 1, KeysTo: 2},
	}
	b, err := json.Marshal(edits)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"at":"blocks.3.attn.hook_z","op":"set","from":2,"to":4,"values":[0.1],"head":0},` +
		`{"at":"blocks.*.attn.hook_pattern","op":"hide","keys_from":1,"keys_to":2}]`
	if string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
	var got []model.Edit
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, edits) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestValuesForEachToken(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	ids := insideAnswers(t).IDs[0]
	at, width := model.Point{Kind: model.Z, Layer: 1}, m.Config().Embd/m.Config().Head
	values := make([]float32, 2*width)
	for i := range values {
		values[i] = float32(i%7) - 3
	}
	edit := func(from, to int, values []float32) model.Edit {
		return model.Edit{At: at, Head: 2, Op: model.Add, From: from, To: to, Values: values}
	}
	together, apart := m.NewSession(), m.NewSession()
	evalTrace(t, together, ids, model.Editing([]model.Edit{edit(7, 9, values)}))
	evalTrace(t, apart, ids, model.Editing([]model.Edit{edit(7, 8, values[:width]),
		edit(8, 9, values[width:])}))
	if !slices.Equal(together.Logits(), apart.Logits()) {
		t.Error("values for each of two tokens are not those of two edits")
	}
}
