package model_test

// Traces: every point beside float64, and bits that depend on nothing.

import (
	"context"
	"fmt"
	"math"
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
		for _, kernel := range kernels.Variants() {
			for _, threads := range []int{1, 7} {
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
				if threads == 7 && kernel == kernels.Variants()[0] {
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
