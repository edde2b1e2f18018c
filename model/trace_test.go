package model_test

// Traces: every point beside float64, and bits that depend on nothing. Edits: in batches and alone,
// and what is refused.

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
)

// A reading collects what a trace hands out: [point][token].
type reading struct {
	mu   sync.Mutex
	rows map[string][][]float32
}

func (r *reading) trace(points []model.Point, from, tokens int, edits ...model.Edit) *model.Trace {
	if r.rows == nil {
		r.rows = map[string][][]float32{}
	}
	return &model.Trace{Points: points, From: from, Edits: edits, Read: func(v model.Reading) {
		r.mu.Lock()
		defer r.mu.Unlock()
		name := v.At.String()
		if r.rows[name] == nil {
			r.rows[name] = make([][]float32, tokens)
		}
		if r.rows[name][v.Index] != nil {
			panic("a value comes twice")
		}
		r.rows[name][v.Index] = slices.Clone(v.Data)
	}}
}

// everyPoint returns all points of a model.
func everyPoint(t testing.TB, m *model.Model) []model.Point {
	t.Helper()
	var all []model.Point
	for _, name := range model.PointNames() {
		p, err := model.ParsePoint(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	all, err := m.Points(all...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func evalTrace(t testing.TB, s *model.Session, ids []int, trace *model.Trace) {
	t.Helper()
	err := s.Model().Eval(context.Background(), model.Input{Session: s, Tokens: ids, Trace: trace})
	if err != nil {
		t.Fatal(err)
	}
}

func insideAnswers(t testing.TB) *fixture.InsideAnswers {
	t.Helper()
	a, err := fixture.Inside()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPointsAreThoseOfFloat64(t *testing.T) {
	answers, m := insideAnswers(t), testmodel.Demo(t, model.Options{Threads: 2})
	var r reading
	ids := answers.IDs[0]
	evalTrace(t, m.NewSession(), ids, r.trace(everyPoint(t, m), 0, len(ids)))
	checked := 0
	for name, want := range answers.Points {
		rows, ok := r.rows[name]
		if !ok {
			if name != "logits_last" {
				t.Errorf("%s is not read", name)
			}
			continue
		}
		checked++
		largest, worst := 0.0, 0.0
		for _, v := range want.Data {
			largest = max(largest, math.Abs(float64(v)))
		}
		each := len(want.Data) / len(ids)
		for i, row := range rows {
			for j, v := range row {
				at := i*each + j
				if strings.Contains(name, "pattern") { // [head, to, from]
					h, from := j/(i+1), j%(i+1)
					at = (h*len(ids)+i)*len(ids) + from
				}
				worst = max(worst, math.Abs(float64(v)-float64(want.Data[at])))
			}
		}
		if !(worst <= 2e-4*largest) {
			t.Errorf("%s: off by %.1e of the largest", name, worst/largest)
		}
	}
	if checked != len(answers.Points)-1 || checked < 50 {
		t.Errorf("%d points checked of %d", checked, len(answers.Points))
	}
	definitions(t, m, r.rows)
	for l := range m.Config().Layer { // the results of all heads, and the bias, are attn_out
		bias := m.Params().H[l].AttnProj.Bias
		for i, out := range r.rows[fmt.Sprintf("blocks.%d.hook_attn_out", l)] {
			results := r.rows[fmt.Sprintf("blocks.%d.attn.hook_result", l)][i]
			for j, want := range out {
				sum := float64(bias[j])
				for at := j; at < len(results); at += len(out) {
					sum += float64(results[at])
				}
				if math.Abs(sum-float64(want)) > 1e-4 {
					t.Fatalf("layer %d: token %d: results add up to %v, want %v", l, i, sum, want)
				}
			}
		}
	}
}

// definitions checks the points that the answers lack by others: LayerNorms and scores.
func definitions(t *testing.T, m *model.Model, rows map[string][][]float32) {
	c := m.Config()
	dim := c.Embd / c.Head
	for i := range rows["hook_embed"] {
		last := rows[fmt.Sprintf("blocks.%d.hook_resid_post", c.Layer-1)][i]
		if d := scaleOf(last) - float64(rows["ln_final.hook_scale"][i][0]); math.Abs(d) > 1e-4 {
			t.Errorf("token %d: final scale off by %g", i, d)
		}
		for l := range c.Layer {
			at := func(name string) []float32 { return rows[fmt.Sprintf("blocks.%d.%s", l, name)][i] }
			if d := scaleOf(at("hook_resid_mid")) - float64(at("ln2.hook_scale")[0]); math.Abs(d) > 1e-4 {
				t.Errorf("token %d: layer %d: ln2 scale off by %g", i, l, d)
			}
			scores, q := at("attn.hook_attn_scores"), at("attn.hook_q")
			for h := range c.Head {
				for j := range i + 1 {
					k := rows[fmt.Sprintf("blocks.%d.attn.hook_k", l)][j]
					want := 0.0
					for x := range dim {
						want += float64(q[h*dim+x]) * float64(k[h*dim+x])
					}
					want /= math.Sqrt(float64(dim))
					if got := float64(scores[h*(i+1)+j]); math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
						t.Fatalf("token %d: layer %d: score %d.%d: %g, want %g", i, l, h, j, got, want)
					}
				}
			}
		}
	}
}

func scaleOf(x []float32) float64 {
	mean, square := 0.0, 0.0
	for _, v := range x {
		mean += float64(v) / float64(len(x))
	}
	for _, v := range x {
		square += (float64(v) - mean) * (float64(v) - mean) / float64(len(x))
	}
	return math.Sqrt(square + 1e-5)
}

// TestATraceHasTheSameBits reads every point in ways that must not matter.
func TestATraceHasTheSameBits(t *testing.T) {
	cases.NotShort(t)
	ids := insideAnswers(t).IDs[0]
	edits := []model.Edit{
		{At: model.Point{Kind: model.ResidMid, Layer: 1}, Head: model.AllHeads, Op: model.Scale,
			From: 3, Values: []float32{1.5}},
		{At: model.Point{Kind: model.Pattern, Layer: model.AllLayers}, Head: 2, Op: model.Hide,
			From: 9, To: 15, KeysFrom: 2, KeysTo: 9},
	}
	for name, edits := range map[string][]model.Edit{"read": nil, "edited": edits} {
		base := testmodel.Demo(t, model.Options{Threads: 1})
		var want reading
		first := base.NewSession()
		evalTrace(t, first, ids, want.trace(everyPoint(t, base), 0, len(ids), edits...))
		plain := base.NewSession()
		evalTrace(t, plain, ids, model.Editing(edits))
		if !slices.Equal(plain.Logits(), first.Logits()) {
			t.Errorf("%s: reading changes the logits", name)
		}
		for turn, kernel := range kernels.Variants() {
			for _, threads := range cases.Some([]int{7, 1}, 1, turn) {
				m := testmodel.Demo(t, model.Options{Threads: threads, Kernel: kernel})
				points := everyPoint(t, m)
				check := func(how string, s *model.Session, got *reading, from int) {
					t.Helper()
					if !slices.Equal(s.Logits(), first.Logits()) {
						t.Errorf("%s, %s, %d threads, %s: other logits", name, kernel, threads, how)
					}
					for point, rows := range want.rows {
						for i := from; i < len(ids); i++ {
							if !slices.Equal(got.rows[point][i], rows[i]) {
								t.Errorf("%s, %s, %d threads, %s: %s of token %d has other bits", name,
									kernel, threads, how, point, i)
								break
							}
						}
					}
				}
				// in a batch, from the fifth token on, beside others without a trace
				texts := 4
				if threads == 7 && turn == 0 {
					texts = 40
				}
				batch, readings := []model.Input{}, make([]reading, texts)
				for i := range readings {
					in := model.Input{Session: m.NewSession(), Tokens: ids, NoLogits: i%2 == 1}
					if i%2 == 0 {
						in.Trace = readings[i].trace(points, 5, len(ids), edits...)
					}
					batch = append(batch, in)
				}
				if err := m.Eval(context.Background(), batch...); err != nil {
					t.Fatal(err)
				}
				check("in a batch", batch[2].Session, &readings[2], 5)
				for point, rows := range readings[2].rows {
					if rows[4] != nil {
						t.Errorf("%s: a token before From is read", point)
					}
				}
				// token by token, with the cache
				s, whole := m.NewSession(), reading{rows: map[string][][]float32{}}
				for i, id := range ids {
					var one reading
					evalTrace(t, s, []int{id}, one.trace(points, 0, 1, edits...))
					for point, rows := range one.rows {
						if whole.rows[point] == nil {
							whole.rows[point] = make([][]float32, len(ids))
						}
						whole.rows[point][i] = rows[0]
					}
				}
				check("token by token", s, &whole, 0)
				m.Close()
			}
		}
		base.Close()
	}
}

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
		"layers 0 to 3":               {Points: []model.Point{at(model.Z, 4)}, Read: read},
		"without Read":                {Points: []model.Point{at(model.Z, 0)}},
		"From -1":                     {From: -1},
		"layer from 0 to 3":           wrong(z, func(e *model.Edit) { e.At.Layer = 4 }),
		"head 4, want 0 to 3":         wrong(z, func(e *model.Edit) { e.Head = 4 }),
		"tokens 3 to 3":               wrong(z, func(e *model.Edit) { e.From, e.To = 3, 3 }),
		"keys_from and keys_to":       wrong(z, func(e *model.Edit) { e.KeysTo = 2 }),
		"keys 2 to 2":                 wrong(hide, func(e *model.Edit) { e.KeysFrom, e.KeysTo = 2, 2 }),
		"point without heads":         wrong(edit(model.ResidPre, model.Set, 0), func(e *model.Edit) { e.Head = 1 }),
		"read, not edited":            wrong(edit(model.LN1Normalized, model.Set, 0), same),
		"31 values, want 32":          wrong(edit(model.Z, model.Set, make([]float32, 31)...), same),
		"value 31 is not finite":      wrong(edit(model.Z, model.Add, nan...), same),
		`"x", want set`:               wrong(edit(model.Z, "x"), same),
		"want attn.hook_pattern":      wrong(edit(model.Z, model.Hide), same),
		"clamp: 260 values, want 261": wrong(edit(model.MLPOut, model.Clamp, make([]float32, 260)...), same),
		"transcode: want hook_mlp":    wrong(edit(model.ResidPost, model.Transcode, make([]float32, 261)...), same),
		"transcode: 0 values":         wrong(edit(model.MLPOut, model.Transcode), same),
		"scale: 2 values, want 1":     wrong(edit(model.Z, model.Scale, 0, 1), same),
	} {
		s := m.NewSession()
		err := m.Eval(context.Background(), model.Input{Session: s, Tokens: []int{1}, Trace: &trace})
		if err == nil || !strings.Contains(err.Error(), want) || s.Len() != 0 {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for name, want := range map[string]string{
		"blocks.3.hook_resid_pre": "", "resid_pre.3": "", "blocks.0.hook_out": "", "result.*": "",
		"blocks.3.attn.q.hook_out": "", "embed.hook_out": "", "ln_final.hook_out": "", "blocks.*.attn.hook_z": "",
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

// TestAClampMakesAFeatureWhatItShallBe: a feature of MLPOut, read there and from ln_2's output, is
// what is wanted, on every kernel; one below its threshold is 0.
func TestAClampMakesAFeatureWhatItShallBe(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 2})
	ids, n := insideAnswers(t).IDs[0], m.Config().Embd
	out, norm := model.Point{Kind: model.MLPOut, Layer: 2}, model.Point{Kind: model.LN2Normalized, Layer: 2}
	values := make([]float32, 2*n+5) // encoder and decoder: one number, so that the feature is it
	values[3], values[n+3] = 1, 1
	values[2*n+1], values[2*n+2] = -1e9, 1 // threshold, gain
	values[2*n], values[2*n+4] = 1000, 7   // bias, to
	for _, op := range []model.Op{model.Clamp, model.Transcode} {
		var plain, edited reading
		evalTrace(t, m.NewSession(), ids, plain.trace([]model.Point{out, norm}, 0, len(ids)))
		evalTrace(t, m.NewSession(), ids, edited.trace([]model.Point{out, norm}, 0, len(ids),
			model.Edit{At: out, Head: model.AllHeads, Op: op, From: 4, Values: values}))
		for i := range ids {
			before, after := plain.rows[out.String()][i], slices.Clone(edited.rows[out.String()][i])
			from := before
			if op == model.Transcode {
				from = plain.rows[norm.String()][i]
			}
			want := before[3]
			if i >= 4 {
				want = float32(float64(before[3]) + float64(7-float32(1000+float64(from[3]))))
			}
			if after[3] != want {
				t.Errorf("%s: token %d: %v, want %v", op, i, after[3], want)
			}
			if after[3] = before[3]; !slices.Equal(after, before) {
				t.Errorf("%s: token %d: other numbers changed", op, i)
			}
		}
		values[2*n+1], values[2*n+4] = 1e9, 0 // never active, and wanted so
		same := m.NewSession()
		evalTrace(t, same, ids, model.Editing([]model.Edit{{At: out, Head: model.AllHeads, Op: op, Values: values}}))
		clean := m.NewSession()
		evalTrace(t, clean, ids, nil)
		if !slices.Equal(same.Logits(), clean.Logits()) {
			t.Errorf("%s: a feature that is 0 and becomes 0 changes logits", op)
		}
		values[2*n+1], values[2*n+4] = -1e9, 7
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
