package inside_test

// One position: what Lens, Attribute and a trace say of it.

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/model"
)

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
