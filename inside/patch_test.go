package inside_test

// Patching, ablation and knockout: beside float64, and beside edits made by hand.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/model"
)

func patch(t testing.TB, m *model.Model, clean, corrupted []int, q inside.Metric,
	o inside.PatchOptions) *inside.PatchTable {
	t.Helper()
	table, err := inside.Patch(context.Background(), m, clean, corrupted, q, o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestPatchingIsThatOfFloat64(t *testing.T) {
	want, m := answers(t), testmodel.Demo(t, model.Options{Threads: 2})
	q := inside.Metric{Target: want.A, Against: &want.B}
	for _, c := range []struct {
		at   model.Kind
		name string
		want [][]float64
	}{
		{0, "hook_resid_pre", want.Patch.ResidPre},
		{model.AttnOut, "hook_attn_out", want.Patch.AttnOut},
		{model.MLPOut, "hook_mlp_out", want.Patch.MLPOut},
		{model.Z, "attn.hook_z", want.Patch.Z},
	} {
		table := patch(t, m, want.IDs[0], want.IDs[1], q, inside.PatchOptions{At: c.at})
		near(t, "clean", table.Clean, want.Patch.Clean, 1e-3)
		near(t, "corrupted", table.Corrupted, want.Patch.Corrupted, 1e-3)
		b, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		var written struct {
			Target, Against  int
			Clean, Corrupted float64
		}
		var parts map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal(b, &written), json.Unmarshal(b, &parts)); err != nil ||
			written.Target != want.A || written.Against != want.B || written.Clean != table.Clean ||
			written.Corrupted != table.Corrupted {
			t.Errorf("%s: %v", b, err)
		}
		var values, share [][]float64
		if err := errors.Join(json.Unmarshal(parts[c.name], &values),
			json.Unmarshal(parts["share"], &share)); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if len(values) != len(c.want) {
			t.Fatalf("%s: %d layers, want %d", c.name, len(values), len(c.want))
		}
		for layer, row := range c.want {
			if len(values[layer]) != len(row) {
				t.Fatalf("%s: %d columns, want %d", c.name, len(values[layer]), len(row))
			}
			for i, v := range row {
				near(t, c.name, values[layer][i], v, 1e-3)
				near(t, c.name+" share", share[layer][i], (v-want.Patch.Corrupted)/
					(want.Patch.Clean-want.Patch.Corrupted), 1e-3)
			}
		}
	}
}

// Every cell is a run alone whose values were set by hand, either way; also where the model has
// edits of its own.
func TestPatchingSetsTheOtherTextsValues(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Seed: 2})
	clean, corrupted := []int{1, 2, 3, 4, 5, 6}, []int{1, 2, 9, 4, 8, 6}
	q := inside.Metric{Target: 7}
	for _, o := range []model.Options{{}, {Edits: []model.Edit{add(1, 2, 0, 0.5)}}} {
		m := testmodel.New(t, config, file, o)
		heads, width := m.Config().Head, m.Config().Embd
		for _, noising := range []bool{false, true} {
			from, to := clean, corrupted
			if noising {
				from, to = to, from
			}
			for _, at := range []model.Kind{model.Query, model.Z, model.ResidPost, model.MLPOut} {
				table := patch(t, m, clean, corrupted, q, inside.PatchOptions{At: at, Noising: noising})
				if len(table.Values) != m.Config().Layer {
					t.Fatalf("%d layers", len(table.Values))
				}
				for layer := range table.Values {
					p := model.Point{Kind: at, Layer: layer}
					values := pointOf(t, m, from, p)
					for i, got := range table.Values[layer] {
						e := model.Edit{At: p, Head: model.AllHeads, Op: model.Set, From: i, To: i + 1}
						if at.PerHead() {
							e.Head, e.From, e.To = i, 0, len(from)
							for j := range from {
								e.Values = append(e.Values, values[j*width+i*width/heads:][:width/heads]...)
							}
						} else {
							e.Values = values[i*width : (i+1)*width]
						}
						want := q.Of(alone(t, m, to, []model.Edit{e}))
						if got != want {
							t.Errorf("%s %d: %v, want %v", p, i, got, want)
						}
						near(t, "share", table.Share[layer][i],
							(want-table.Corrupted)/(table.Clean-table.Corrupted), 1e-12)
					}
				}
				if table.Clean != q.Of(alone(t, m, clean, nil)) ||
					table.Corrupted != q.Of(alone(t, m, corrupted, nil)) {
					t.Errorf("clean %v, corrupted %v", table.Clean, table.Corrupted)
				}
			}
		}
	}
}

func TestPatchRefuses(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	constant := model.Edit{At: model.Point{Kind: model.ResidPost, Layer: 2}, Head: model.AllHeads,
		Op: model.Set, Values: []float32{1}}
	m := testmodel.New(t, config, file, model.Options{})
	deaf := testmodel.New(t, config, file, model.Options{Edits: []model.Edit{constant}})
	for _, c := range []struct {
		m                *model.Model
		clean, corrupted []int
		target           int
		at               model.Kind
		want             string
	}{
		{m, nil, []int{1}, 0, 0, "clean: no tokens, want at least one"},
		{m, []int{1}, []int{29}, 0, 0, "corrupted: token 0: id 29, want 0 to 28"},
		{m, []int{1, 2, 3}, []int{1, 2}, 0, 0, "clean has 3 tokens and corrupted 2, want as many"},
		{m, []int{1, 2}, []int{1, 2}, 0, 0,
			"clean and corrupted are the same tokens, want two texts that differ"},
		{m, []int{1}, []int{2}, 29, 0, "target: id 29, want 0 to 28"},
		{m, []int{1}, []int{2}, 0, model.PosEmbed,
			"patch at hook_pos_embed: want points of a block that take edits"},
		{m, []int{1}, []int{2}, 0, model.Scores,
			"patch at blocks.*.attn.hook_attn_scores: want points of a block that take edits"},
		{deaf, []int{1}, []int{2}, 0, 0,
			"the metric of both texts is 0.1226, want two that differ in it"},
	} {
		_, err := inside.Patch(context.Background(), c.m, c.clean, c.corrupted,
			inside.Metric{Target: c.target}, inside.PatchOptions{At: c.at})
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := inside.Patch(ended, m, []int{1}, []int{2}, inside.Metric{},
		inside.PatchOptions{}); err != context.Canceled {
		t.Errorf("ended context: %v", err)
	}
	if m.CacheBytes()+deaf.CacheBytes() != 0 {
		t.Error("caches are left")
	}
}

func ablate(t testing.TB, m *model.Model, ids []int, q inside.Metric, o inside.AblateOptions,
) *inside.Effects {
	t.Helper()
	e, err := inside.Ablate(context.Background(), m, ids, q, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func knockout(t testing.TB, m *model.Model, ids []int, q inside.Metric, layer, head int,
) *inside.Effects {
	t.Helper()
	e, err := inside.Knockout(context.Background(), m, ids, q, layer, head)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The metric is the difference of the two logits of an answer that are the greatest.
func TestAblationIsThatOfFloat64(t *testing.T) {
	cases.NotShort(t)
	answers, m, compared := answers(t), testmodel.Demo(t, model.Options{Threads: 2}), 0
	ids := answers.IDs[0]
	for _, c := range answers.Cases {
		q := inside.Metric{Target: c.Top[0], Against: &c.Top[1]}
		name, isAblation := strings.CutPrefix(c.Name, "ablate ")
		part, effects := name, (*inside.Effects)(nil)
		switch {
		case isAblation && !strings.Contains(name, "from"):
			effects = ablate(t, m, ids, q, inside.AblateOptions{})
		case c.Name == "hide one":
			layer, head, to, from := c.Hide[0][0], c.Hide[0][1], c.Hide[0][2], c.Hide[0][3]
			if to != len(ids)-1 {
				t.Fatalf("%s is of token %d", c.Name, to)
			}
			part, effects = fmt.Sprintf("token %d", from), knockout(t, m, ids, q, layer, head)
		default:
			continue
		}
		value, _ := effects.Parts.Value(part)
		near(t, c.Name, value, c.Logits[0]-c.Logits[1], 1e-3)
		compared++
	}
	if compared != 16+3+1 {
		t.Errorf("%d answers", compared)
	}
}

// Each part is a run alone with an edit made by hand.
func TestAblationPutsInZerosMeansOrAnotherTextsValues(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{Threads: 2})
	ids, q := []int{1, 2, 3, 28, 5}, inside.Metric{Target: 4}
	heads, width := m.Config().Head, m.Config().Embd
	texts := [][]int{{7, 8}, {9, 1, 3}}
	for name, o := range map[string]inside.AblateOptions{
		"zero": {}, "mean": {Mean: texts}, "resample": {Resample: []int{6, 6, 1, 28, 5}}} {
		effects := ablate(t, m, ids, q, o)
		if effects.Difference != q.Of(alone(t, m, ids, nil)) {
			t.Errorf("difference %v", effects.Difference)
		}
		if len(effects.Parts) != m.Config().Layer*(heads+2) {
			t.Errorf("%d parts", len(effects.Parts))
		}
		check := func(part string, p model.Point, head int, values []float32) {
			e := model.Edit{At: p, Head: head, Op: model.Set, To: len(ids), Values: values}
			got, ok := effects.Parts.Value(part)
			want := q.Of(alone(t, m, ids, []model.Edit{e}))
			if !ok || got != want || want == effects.Difference {
				t.Errorf("%s %s: %v, want %v", name, part, got, want)
			}
		}
		for layer := range m.Config().Layer {
			at := func(k model.Kind) (model.Point, []float32) {
				p := model.Point{Kind: k, Layer: layer}
				switch name {
				case "mean":
					sum := make([]float64, width)
					for _, text := range texts {
						for i, v := range pointOf(t, m, text, p) {
							sum[i%width] += float64(v)
						}
					}
					mean := make([]float32, width)
					for i := range mean {
						mean[i] = float32(sum[i] / 5)
					}
					return p, mean
				case "resample":
					return p, pointOf(t, m, o.Resample, p)
				}
				return p, make([]float32, width)
			}
			z, all := at(model.Z)
			for h := range heads {
				values := []float32{}
				for row := range slices.Chunk(all, width) {
					values = append(values, row[h*width/heads:][:width/heads]...)
				}
				check(fmt.Sprintf("head %d.%d", layer, h), z, h, values)
			}
			p, values := at(model.AttnOut)
			check(fmt.Sprintf("attn %d", layer), p, model.AllHeads, values)
			p, values = at(model.MLPOut)
			check(fmt.Sprintf("mlp %d", layer), p, model.AllHeads, values)
		}
	}
}

// pointOf returns what a model computes at a point for a text [tokens, width].
func pointOf(t testing.TB, m *model.Model, ids []int, p model.Point) []float32 {
	t.Helper()
	width := m.Width(p, 0)
	values := make([]float32, len(ids)*width)
	read := func(r model.Reading) { copy(values[r.Index*width:], r.Data) }
	in := model.Input{Session: m.NewSession(), Tokens: ids,
		Trace: &model.Trace{Points: []model.Point{p}, Read: read}}
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	in.Session.Release()
	return values
}

func TestKnockoutHidesAPositionFromTheLastToken(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{Threads: 2})
	ids, q := []int{1, 2, 3, 28, 5}, inside.Metric{Target: 4}
	for _, at := range [][2]int{{model.AllLayers, model.AllHeads}, {2, model.AllHeads}, {1, 0}} {
		effects := knockout(t, m, ids, q, at[0], at[1])
		if len(effects.Parts) != len(ids) {
			t.Errorf("%d parts", len(effects.Parts))
		}
		for i, part := range effects.Parts {
			hide := model.Edit{At: model.Point{Kind: model.Pattern, Layer: at[0]}, Head: at[1],
				Op: model.Hide, From: 4, To: 5, KeysFrom: i, KeysTo: i + 1}
			want := q.Of(alone(t, m, ids, []model.Edit{hide}))
			if part != (inside.Part{Name: fmt.Sprintf("token %d", i), Value: want}) ||
				want == effects.Difference {
				t.Errorf("%v: %v, want %v", at, part, want)
			}
		}
	}
	b, err := json.Marshal(knockout(t, m, ids[:1], q, 0, 0))
	want := `{"target":4,"difference":`
	if err != nil || !strings.HasPrefix(string(b), want) || !strings.Contains(string(b),
		`,"parts":{"token 0":`) {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}

func TestAblateAndKnockoutRefuse(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{})
	ctx, one := context.Background(), []int{1}
	for _, c := range []struct {
		ids    []int
		target int
		o      inside.AblateOptions
		want   string
	}{
		{nil, 0, inside.AblateOptions{}, "no tokens, want at least one"},
		{one, 29, inside.AblateOptions{}, "target: id 29, want 0 to 28"},
		{one, 0, inside.AblateOptions{Mean: [][]int{one}, Resample: one},
			"ablate: mean and resample, want one of them"},
		{one, 0, inside.AblateOptions{Mean: [][]int{}}, "ablate: mean of no texts, want at least one"},
		{one, 0, inside.AblateOptions{Mean: [][]int{one, nil}},
			"mean: text 1: no tokens, want at least one"},
		{one, 0, inside.AblateOptions{Resample: []int{1, 2}},
			"resample: 2 tokens, want 1 as the text has"},
		{one, 0, inside.AblateOptions{Resample: []int{-1}}, "resample: token 0: id -1, want 0 to 28"},
	} {
		_, err := inside.Ablate(ctx, m, c.ids, inside.Metric{Target: c.target}, c.o)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for _, c := range []struct {
		ids                 []int
		target, layer, head int
		want                string
	}{
		{nil, 0, 0, 0, "no tokens, want at least one"},
		{one, -1, 0, 0, "target: id -1, want 0 to 28"},
		{one, 0, 3, 0, "knockout: edit of blocks.3.attn.hook_pattern: want a layer from 0 to 2"},
		{one, 0, 0, 3, "knockout: edit of blocks.0.attn.hook_pattern: head 3, want 0 to 2, or -1 for all"},
	} {
		_, err := inside.Knockout(ctx, m, c.ids, inside.Metric{Target: c.target}, c.layer, c.head)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
