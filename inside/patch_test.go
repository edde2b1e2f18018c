package inside_test

// Patching beside float64.

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

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
		{m, []int{1}, []int{2}, 0, model.Pattern,
			"patch at blocks.*.attn.hook_pattern: want points of a block that take edits"},
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
