package inside_test

// Attribution beside float64.

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
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
	a, err := inside.Attribute(context.Background(), m, ids, metric)
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
		_, err := inside.Attribute(context.Background(), c.m, c.ids, c.q)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.q, err, c.want)
		}
	}
}
