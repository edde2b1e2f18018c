package inside_test

// Attribution beside float64. One position: what Lens, Attribute and a trace say of it.

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/model"
)

func attribute(
	t testing.TB, m *model.Model, ids []int, metric inside.Metric,
) *inside.Attribution {
	t.Helper()
	a, err := inside.Attribute(context.Background(), m, ids, metric, inside.AttributeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAttributionIsThatOfFloat64(t *testing.T) {
	want, m := answers(t), testmodel.Demo(t, model.Options{Threads: 2})
	a := attribute(t, m, want.IDs[0], inside.Metric{Target: want.A, Against: &want.B})
	near(t, "difference", a.Difference, want.Attribution.Difference, 1e-3)
	near(t, "sum", a.Sum, a.Difference, 1e-4)
	if len(a.Parts) != len(want.Attribution.Parts) {
		t.Errorf("%d parts, want %d", len(a.Parts), len(want.Attribution.Parts))
	}
	for name, value := range want.Attribution.Parts {
		got, ok := a.Parts.Value(name)
		if !ok {
			t.Errorf("no part %s", name)
		}
		near(t, name, got, value, 1e-3)
	}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back inside.Attribution
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(*a, back) {
		t.Errorf("%s: %v", b, err)
	}
}

// The parts add up for any shape, format and token, also against the mean of all logits.
func TestPartsAddUp(t *testing.T) {
	for _, c := range []struct {
		o      fixture.Options
		format string
		within float64 // of the largest part
	}{
		{fixture.Options{}, "auto", 1e-5},
		{fixture.Options{Untied: true, Head: 5, Layer: 1, Seed: 3}, "auto", 1e-5},
		{fixture.Options{DType: "BF16", Embd: 64, Head: 4, Inner: 37}, "auto", 1e-5},
		{fixture.Options{Embd: 64, Head: 2}, "q8", 1e-1},
	} {
		config, file := fixture.Checkpoint(c.o)
		m := testmodel.New(t, config, file, model.Options{Format: c.format})
		for target := range 5 {
			against := 28 - target
			for _, q := range []inside.Metric{{Target: target}, {Target: target, Against: &against}} {
				a := attribute(t, m, []int{1, 2, 3, 28}, q)
				largest := 0.0
				for _, part := range a.Parts {
					largest = max(largest, math.Abs(part.Value))
				}
				near(t, "sum of the parts", a.Sum, a.Difference, c.within*largest)
			}
		}
	}
}

func TestAttributeRefuses(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	edit := model.Edit{At: model.Point{Kind: model.ResidMid, Layer: 1}, Head: model.AllHeads,
		Op: model.Set, Values: []float32{0}}
	m := testmodel.New(t, config, file, model.Options{})
	edited := testmodel.New(t, config, file, model.Options{Edits: []model.Edit{edit}})
	id := func(n int) *int { return &n }
	for _, c := range []struct {
		m    *model.Model
		ids  []int
		q    inside.Metric
		want string
	}{
		{m, nil, inside.Metric{}, "no tokens, want at least one"},
		{m, []int{1}, inside.Metric{Target: -1}, "target: id -1, want 0 to 28"},
		{m, []int{1}, inside.Metric{Against: id(29)}, "against: id 29, want 0 to 28"},
		{m, []int{1}, inside.Metric{Target: 7, Against: id(7)},
			"target and against: id 7 both, want two tokens"},
		{edited, []int{1}, inside.Metric{}, "attribution of a model with an edit of " +
			"blocks.1.hook_resid_mid: the parts do not add up"},
	} {
		_, err := inside.Attribute(context.Background(), c.m, c.ids, c.q, inside.AttributeOptions{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.q, err, c.want)
		}
	}
}

// read makes a session of some tokens, a few at a time.
func read(t testing.TB, m *model.Model, ids []int, edits []model.Edit) *model.Session {
	t.Helper()
	s := m.NewSession()
	for part := range slices.Chunk(ids, 7) {
		in := model.Input{Session: s, Tokens: part, NoLogits: true, Trace: model.Editing(edits)}
		if err := m.Eval(context.Background(), in); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// headOff switches a head off.
func headOff(layer, head int) model.Edit {
	return model.Edit{At: model.Point{Kind: model.Z, Layer: layer}, Head: head, Op: model.Set,
		Values: []float32{0}}
}

func TestAtIsWhatTheToolsSay(t *testing.T) {
	ctx := context.Background()
	want := answers(t)
	ids := want.IDs[0]
	m := testmodel.Demo(t, model.Options{Threads: 2})
	for _, edits := range [][]model.Edit{nil, {headOff(1, 2), headOff(2, 0)}} {
		edited := testmodel.Demo(t, model.Options{Threads: 1, Edits: edits})
		for _, at := range []int{0, 8, len(ids) - 1} {
			metric := inside.Metric{Target: want.A, Against: &want.B}
			p, err := inside.At(ctx, read(t, m, ids[:at], edits), ids[at], inside.AtOptions{
				Top: 3, Metric: &metric, Edits: edits})
			if err != nil {
				t.Fatal(err)
			}
			table := lens(t, edited, ids[:at+1], inside.LensOptions{From: at, Top: 3, Target: &want.A})
			for layer, row := range table.Layers {
				if !reflect.DeepEqual(p.Lens[layer], row[0]) {
					t.Errorf("position %d, layer %d: %+v, want %+v", at, layer, p.Lens[layer], row[0])
				}
			}
			if a := attribute(t, edited, ids[:at+1], metric); !reflect.DeepEqual(p.Attribution, a) {
				t.Errorf("position %d: attribution %+v, want %+v", at, p.Attribution, a)
			}
			patterns := make([][]float32, m.Config().Layer)
			if err := edited.Eval(ctx, model.Input{Session: edited.NewSession(), Tokens: ids[:at+1],
				Trace: &model.Trace{From: at, Read: func(v model.Reading) {
					patterns[v.At.Layer] = slices.Clone(v.Data)
				}, Points: []model.Point{{Kind: model.Pattern, Layer: model.AllLayers}}}}); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(p.Attention, patterns) {
				t.Errorf("position %d: other attention weights", at)
			}
		}
		edited.Close()
	}
}

func TestAtExplainsTheLikeliestToken(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	ids := answers(t).IDs[0]
	p, err := inside.At(context.Background(), read(t, m, ids[:5], nil), ids[5], inside.AtOptions{})
	if err != nil {
		t.Fatal(err)
	}
	last := p.Lens[len(p.Lens)-1]
	if len(last.Top) != 5 || p.Attribution.Target != last.Top[0] || p.Attribution.Against != nil ||
		*last.Rank != 0 || *last.TargetP != last.P[0] {
		t.Errorf("%+v, %+v", p.Attribution.Metric, last)
	}
}

func TestAtRefuses(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	at := func(k model.Kind, layer int, op model.Op, values ...float32) model.Edit {
		return model.Edit{At: model.Point{Kind: k, Layer: layer}, Head: model.AllHeads, Op: op,
			Values: values}
	}
	huge := slices.Repeat([]float32{3e38, -3e38, 3e38, 3e38}, 32)
	for _, x := range []struct {
		token     int
		o         inside.AtOptions
		want      string
		nonFinite bool
	}{
		{50257, inside.AtOptions{}, "token", false},
		{1, inside.AtOptions{Top: -1}, "top -1", false},
		{1, inside.AtOptions{Metric: &inside.Metric{Target: -1}}, "target: id -1", false},
		{1, inside.AtOptions{Edits: []model.Edit{headOff(4, 0)}}, "layer from 0 to 3", false},
		// Later edits hide what is not finite: the logits are.
		{1, inside.AtOptions{Edits: []model.Edit{at(model.ResidPost, 2, model.Set, huge...),
			at(model.Query, 3, model.Set, 0), at(model.Key, 3, model.Set, 0),
			at(model.Value, 3, model.Set, 0), at(model.ResidPost, 3, model.Set, 0.5)}},
			"lens: layer 3: the logits after position 1", true},
		{1, inside.AtOptions{Edits: []model.Edit{at(model.Query, 2, model.Set, 3e38),
			at(model.Z, 2, model.Set, 0)}}, "attention: layer 2", true},
	} {
		s := read(t, m, []int{5}, x.o.Edits[:0])
		p, err := inside.At(context.Background(), s, x.token, x.o)
		if err == nil || !strings.Contains(err.Error(), x.want) ||
			errors.Is(err, inside.ErrNonFinite) != x.nonFinite {
			t.Errorf("%+v, error %v, want %q", p, err, x.want)
		}
	}
	stream := []model.Edit{at(model.ResidPost, 1, model.Add, 1)}
	p, err := inside.At(context.Background(), read(t, m, []int{5}, stream), 1,
		inside.AtOptions{Edits: stream})
	if err != nil || p.Attribution != nil || len(p.Lens) != 5 {
		t.Errorf("%+v, %v: want no attribution with an edit of the stream", p, err)
	}
}
