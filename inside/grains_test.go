package inside_test

// Grains of patching and path patching: closed-form answers of the induction model, and runs whose
// edits are made by hand.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/model"
)

// The last token chooses where head 1.0 looks, by its query. With another last token it copies
// another successor: in the pattern the difference is in two weights of one row, half in each.
func TestGrainsOfTheInductionModel(t *testing.T) {
	m, at := testmodel.Induction(t, model.Options{Threads: 2}), half+3
	clean := repeated()[:at+1]
	corrupted, source, other := slices.Clone(clean), at-half+1, 9
	corrupted[at] = clean[other-1] // a token that comes once
	q := inside.Metric{Target: clean[source], Against: &clean[other]}
	active, far := inside.Head{Layer: 1}, map[inside.Grain][]int{inside.ByHead: {0},
		inside.ByPosition: {at}, inside.ByEdge: {source, other}}
	for by, columns := range far {
		for _, at := range []model.Kind{model.Pattern, model.Query, model.Key, model.Value, model.Z} {
			if by == inside.ByEdge && at != model.Pattern {
				continue
			}
			for _, noising := range []bool{false, true} {
				o := inside.PatchOptions{At: at, By: by, Noising: noising}
				for _, o.Heads = range [][]inside.Head{nil, {{Layer: 0, Head: 1}, active}} {
					if by == inside.ByHead {
						o.Heads = nil
					}
					table := patch(t, m, clean, corrupted, q, o)
					near(t, "clean", table.Clean, 3, 1e-5)
					near(t, "corrupted", table.Corrupted, -3, 1e-5)
					for i, row := range table.Share {
						name := table.Rows[i]
						here := name == "1" || name == "1.0" || name == fmt.Sprintf("1.0 %d", len(clean)-1)
						for j, share := range row {
							want := 0.0
							if here && at != model.Key && at != model.Value && slices.Contains(columns, j) {
								want = 1 / float64(len(columns))
							}
							if noising {
								want = 1 - want
							}
							near(t, fmt.Sprintf("%s by %s, %s, %d", model.Point{Kind: at}, by, name, j),
								share, want, 1e-5)
						}
					}
				}
			}
		}
	}
}

// Head 1.0 finds what came after a token by the keys that head 0.0 writes: on that way alone, not by
// its queries or values, not through the MLPs, and not straight into the logits.
func TestPathsOfTheInductionModel(t *testing.T) {
	m, at := testmodel.Induction(t, model.Options{Threads: 2}), 2*half-1
	clean := repeated()[:at+1]
	corrupted, source, none := slices.Clone(clean), at-half+1, 0
	corrupted[source-1] = 0
	q := inside.Metric{Target: clean[source], Against: &none}
	read := func(k model.Kind, layer, head int) inside.Receiver {
		return inside.Receiver{At: model.Point{Kind: k, Layer: layer}, Head: head}
	}
	keys, queries := read(model.Key, 1, 0), read(model.Query, 1, 0)
	values, idle := read(model.Value, 1, 0), read(model.Key, 1, 1)
	mlp, logits := read(model.MLPPre, 1, model.AllHeads), read(model.FinalNormalized, 0, -1)
	type place struct{ row, column int }
	first, last, nowhere := place{0, 0}, place{1, 0}, place{-1, 0}
	for _, c := range []struct {
		at   model.Kind
		by   inside.Grain
		to   []inside.Receiver
		want place
	}{
		{model.Z, "", []inside.Receiver{keys}, first},
		{model.Z, "", []inside.Receiver{mlp, values, keys, queries}, first},
		{model.Z, "", []inside.Receiver{queries}, nowhere},
		{model.Z, "", []inside.Receiver{values}, nowhere},
		{model.Z, "", []inside.Receiver{idle}, nowhere},
		{model.Z, "", []inside.Receiver{mlp}, nowhere},
		{model.Z, "", []inside.Receiver{logits}, last},
		{model.Z, inside.ByPosition, []inside.Receiver{keys}, place{0, source}},
		{model.Z, inside.ByPosition, []inside.Receiver{logits}, place{2, at}},
		{model.AttnOut, "", []inside.Receiver{keys}, place{0, source}},
		{model.AttnOut, "", []inside.Receiver{logits}, place{1, at}},
		{model.MLPOut, "", []inside.Receiver{keys}, nowhere},
		{model.ResidPre, "", []inside.Receiver{keys}, place{1, source}}, // layer 0 reads it by heads
		{model.ResidMid, "", []inside.Receiver{keys}, place{0, source}},
	} {
		for _, through := range []bool{false, true} { // its MLPs write nothing
			table := patch(t, m, clean, corrupted, q, inside.PatchOptions{At: c.at, By: c.by, To: c.to,
				ThroughMLPs: through})
			near(t, "clean", table.Clean, 3, 1e-5)
			for i, row := range table.Share {
				for j, share := range row {
					want := 0.0
					if (place{i, j}) == c.want {
						want = 1
					}
					near(t, fmt.Sprintf("%s by %q to %v: %d, %d", model.Point{Kind: c.at}, c.by, c.to, i, j),
						share, want, 1e-5)
				}
			}
		}
	}
}

// Every cell is what edits made by hand give, one run at a time: of patterns the sum over weights in
// float64, of paths the two passes.
func TestGrainsAreRunsByHand(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Seed: 2})
	clean, corrupted := []int{1, 2, 3, 4, 5, 6}, []int{1, 2, 9, 4, 8, 6}
	m, q, n := testmodel.New(t, config, file, model.Options{Threads: 2}), inside.Metric{Target: 7}, 6
	heads, width := m.Config().Head, m.Config().Embd
	dim := width / heads
	p := func(k model.Kind, layer int) model.Point { return model.Point{Kind: k, Layer: layer} }
	patterns := func(ids []int, layer int) (rows [6][]float32) {
		in := model.Input{Session: m.NewSession(), Tokens: ids, Trace: &model.Trace{
			Points: []model.Point{p(model.Pattern, layer)},
			Read:   func(r model.Reading) { rows[r.Index] = slices.Clone(r.Data) }}}
		if err := m.Eval(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	set := func(at model.Point, head, from, to int, values []float32) model.Edit {
		return model.Edit{At: at, Head: head, Op: model.Set, From: from, To: to, Values: values}
	}
	for layer := range m.Config().Layer {
		one, two := patterns(clean, layer), patterns(corrupted, layer)
		v, z := pointOf(t, m, corrupted, p(model.Value, layer)), pointOf(t, m, corrupted, p(model.Z, layer))
		by := map[inside.Grain]*inside.PatchTable{}
		for _, grain := range []inside.Grain{inside.ByHead, inside.ByPosition, inside.ByEdge} {
			by[grain] = patch(t, m, clean, corrupted, q, inside.PatchOptions{At: model.Pattern, By: grain})
		}
		for h := range heads {
			row := layer*heads + h
			all := []model.Edit(nil)
			for to := range n {
				patched := func(from, until int) model.Edit { // some weights of clean
					values := make([]float32, dim)
					for i := range values {
						sum := float64(z[to*width+h*dim+i])
						for s := from; s < until; s++ {
							w := float64(one[to][h*(to+1)+s]) - float64(two[to][h*(to+1)+s])
							sum += w * float64(v[s*width+h*dim+i])
						}
						values[i] = float32(sum)
					}
					return set(p(model.Z, layer), h, to, to+1, values)
				}
				all = append(all, patched(0, to+1))
				near(t, "position", by[inside.ByPosition].Values[row][to],
					q.Of(alone(t, m, corrupted, all[to:])), 1e-5)
				for s := range n {
					got := by[inside.ByEdge].Values[row*n+to][s]
					if s > to && got != by[inside.ByEdge].Corrupted {
						t.Errorf("a token has a weight of a later one")
					} else if s <= to {
						near(t, "edge", got, q.Of(alone(t, m, corrupted, []model.Edit{patched(s, s+1)})), 1e-5)
					}
				}
				if name := fmt.Sprintf("%d.%d %d", layer, h, to); by[inside.ByEdge].Rows[row*n+to] != name {
					t.Errorf("row %s, want %s", by[inside.ByEdge].Rows[row*n+to], name)
				}
			}
			near(t, "head", by[inside.ByHead].Values[layer][h], q.Of(alone(t, m, corrupted, all)), 1e-5)
		}
	}

	// The senders are heads and MLPs, and clean is patched.
	to := []inside.Receiver{{At: p(model.Query, 2), Head: 1}, {At: p(model.MLPPre, 1), Head: -1}}
	for _, through := range []bool{false, true} {
		var frozen []model.Edit
		for l := range m.Config().Layer {
			frozen = append(frozen, set(p(model.Z, l), -1, 0, n, pointOf(t, m, clean, p(model.Z, l))))
			if !through {
				frozen = append(frozen, set(p(model.MLPOut, l), -1, 0, n,
					pointOf(t, m, clean, p(model.MLPOut, l))))
			}
		}
		o := inside.PatchOptions{At: model.Z, To: to, ThroughMLPs: through, Noising: true}
		ofHeads := patch(t, m, clean, corrupted, q, o)
		o.At = model.MLPOut
		ofMLPs := patch(t, m, clean, corrupted, q, o)
		twoPasses := func(sender model.Edit) float64 {
			read := map[model.Point][]float32{}
			in := model.Input{Session: m.NewSession(), Tokens: clean, Trace: &model.Trace{
				Points: []model.Point{to[0].At, to[1].At}, Edits: append(slices.Clone(frozen), sender)}}
			for _, r := range to {
				read[r.At] = make([]float32, n*m.Width(r.At, 0))
			}
			in.Trace.Read = func(r model.Reading) { copy(read[r.At][r.Index*len(r.Data):], r.Data) }
			if err := m.Eval(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			var query []float32
			for row := range slices.Chunk(read[to[0].At], width) {
				query = append(query, row[dim:2*dim]...)
			}
			return q.Of(alone(t, m, clean, []model.Edit{set(to[0].At, 1, 0, n, query),
				set(to[1].At, -1, 0, n, read[to[1].At])}))
		}
		for l := range m.Config().Layer {
			z, out := pointOf(t, m, corrupted, p(model.Z, l)), pointOf(t, m, corrupted, p(model.MLPOut, l))
			for h := range heads {
				var values []float32
				for row := range slices.Chunk(z, width) {
					values = append(values, row[h*dim:(h+1)*dim]...)
				}
				if got, want := ofHeads.Values[l][h], twoPasses(set(p(model.Z, l), h, 0, n, values)); got != want {
					t.Errorf("head %d.%d, through MLPs %v: %v, want %v", l, h, through, got, want)
				}
			}
			for i := range n {
				want := twoPasses(set(p(model.MLPOut, l), -1, i, i+1, out[i*width:(i+1)*width]))
				if got := ofMLPs.Values[l][i]; got != want {
					t.Errorf("MLP %d, token %d, through MLPs %v: %v, want %v", l, i, through, got, want)
				}
			}
		}
		said := map[bool]string{true: `"through_mlps":true,`}[through]
		if b, err := json.Marshal(ofHeads); err != nil || !strings.Contains(string(b),
			`"noising":true,"to":["2.1.q","mlp.1"],`+said+`"rows":["0","1","2"],"share":`) {
			t.Errorf("%s, %v", b, err)
		}
	}
}

func TestGrainsRefuse(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{})
	edited := testmodel.New(t, config, file, model.Options{Edits: []model.Edit{{At: model.Point{
		Kind: model.Z}, Op: model.Set, Values: []float32{0}}}})
	at := func(k model.Kind, layer, head int) []inside.Receiver {
		return []inside.Receiver{{At: model.Point{Kind: k, Layer: layer}, Head: head}}
	}
	logits := at(model.FinalNormalized, 0, -1)
	for want, o := range map[string]inside.PatchOptions{
		`patch at blocks.*.attn.hook_z by "edge": want head, position, or edge of patterns`:       {At: model.Z, By: inside.ByEdge},
		`patch at blocks.*.hook_attn_out by "position": want head, position, or edge of patterns`: {At: model.AttnOut, By: inside.ByPosition},
		`patch at blocks.*.attn.hook_z by "row": want head, position, or edge of patterns`:        {At: model.Z, By: "row"},
		"heads: want by position or by edge with them":                                            {At: model.Z, Heads: []inside.Head{{}}},
		"head 3.0: the model has none such":                                                       {At: model.Z, By: inside.ByPosition, Heads: []inside.Head{{Layer: 3}}},
		"receiver mlp.1: want q, k or v of heads, MLPs, or the logits alone":                      {At: model.Z, To: append(at(model.MLPPre, 1, 0), logits...)},
		"receiver 1.3.q: want q, k or v of heads, MLPs, or the logits alone":                      {At: model.Z, To: at(model.Query, 1, 3)},
		"receiver mlp.3: want q, k or v of heads, MLPs, or the logits alone":                      {At: model.Z, To: at(model.MLPPre, 3, -1)},
		"receiver logits: want q, k or v of heads, MLPs, or the logits alone":                     {At: model.Z, To: append(at(model.MLPPre, 1, -1), logits...)},
		"path from blocks.*.attn.hook_q: want z, attn_out, mlp_out or the residual stream": {
			At: model.Query, To: logits},
		"receiver blocks.1.hook_resid_pre: want q, k or v of heads, MLPs, or the logits alone": {
			At: model.Z, To: at(model.ResidPre, 1, -1)},
		"gradients: want points that take edits, by head, and no receivers": {
			At: model.Pattern, Path: &inside.Path{}},
	} {
		_, err := inside.Patch(t.Context(), m, []int{1}, []int{2}, inside.Metric{}, o)
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := inside.Patch(t.Context(), edited, []int{1}, []int{2}, inside.Metric{},
		inside.PatchOptions{At: model.Pattern}); err == nil {
		t.Error("patterns of an edited z are patched")
	}
}
