package inside_test

// What gradients say of patches, edges and tokens, beside PyTorch in float64.

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/model"
)

var paths = []struct {
	inside.Path
	noising bool
}{{inside.Path{}, false}, {inside.Path{Steps: 3}, false}, {inside.Path{Steps: 4, Rule: "right"}, true}}

func TestPatchesByGradientsAreThoseOfFloat64(t *testing.T) {
	a := readGradientAnswers(t)
	q := inside.Metric{Target: a.Target, Against: &a.Against}
	m := gradientModel(t, "gelu_new", model.Options{Threads: 2})
	for _, p := range paths {
		for kind, name := range map[model.Kind]string{model.ResidPre: "hook_resid_pre",
			model.Z: "attn.hook_z", model.MLPPost: "mlp.hook_post"} {
			o := inside.PatchOptions{At: kind, Noising: p.noising, Path: &p.Path, Check: true}
			table, err := inside.Patch(t.Context(), m, a.IDs, a.Other, q, o)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "clean", table.Clean, a.Values["clean"], 1e-5)
			near(t, "corrupted", table.Corrupted, a.Values["corrupted"], 1e-5)
			var off []float32
			for _, row := range table.Values {
				for _, v := range row {
					if p.noising {
						v -= table.Clean
					} else {
						v -= table.Corrupted
					}
					off = append(off, float32(v))
				}
			}
			what := fmt.Sprintf("patch %d %s", p.Steps, name)
			nearAll(t, what, off, a.array(t, what), 1e-5)
			o.Path = nil
			exact, err := inside.Patch(t.Context(), m, a.IDs, a.Other, q, o)
			if err != nil {
				t.Fatal(err)
			}
			largest := 0.0
			for i, row := range exact.Values {
				for j, v := range row {
					largest = max(largest, math.Abs(v-table.Values[i][j]))
				}
			}
			if got := table.ByGradient; *got.Largest != largest || *got.Mean > largest ||
				math.Abs(*got.Correlation) > 1 {
				t.Errorf("%s: errors %v, want %v", what, *got.Largest, largest)
			}
		}
	}
}

func TestEdgesAreThoseOfFloat64(t *testing.T) {
	a := readGradientAnswers(t)
	q := inside.Metric{Target: a.Target, Against: &a.Against}
	m := gradientModel(t, "gelu_new", model.Options{Threads: 2})
	for _, p := range paths {
		o := inside.EdgesOptions{Path: p.Path, Noising: p.noising}
		table, err := inside.Edges(t.Context(), m, a.IDs, a.Other, q, o)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "clean", table.Clean, a.Values["clean"], 1e-5)
		near(t, "corrupted", table.Corrupted, a.Values["corrupted"], 1e-5)
		var got []float32
		var want []float64
		for i, row := range table.Scores {
			for _, v := range row {
				got = append(got, float32(v))
			}
			what := fmt.Sprintf("edges %d %s", p.Steps, table.Receivers[i])
			want = append(want, a.array(t, what)[:len(row)]...)
		}
		nearAll(t, "edges", got, want, 1e-5)
		best := table.Strongest(3)
		if len(best) != 3 || math.Abs(best[0].Score) < math.Abs(best[1].Score) ||
			!slices.Contains(table.Senders, best[0].From) {
			t.Errorf("strongest %v", best)
		}
	}
}

func TestSaliencyIsThatOfFloat64(t *testing.T) {
	a := readGradientAnswers(t)
	q := inside.Metric{Target: a.Target, Against: &a.Against}
	m := gradientModel(t, "gelu_new", model.Options{Threads: 2})
	by, n := a.array(t, "difference gelu_new hook_embed"), m.Config().Embd
	for name, baseline := range map[string][]int{"zeros": nil, "other": a.Other} {
		o := inside.SaliencyOptions{Path: inside.Path{Steps: 5}, Baseline: baseline}
		table, err := inside.Saliency(t.Context(), m, a.IDs, q, o)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "difference", table.Difference, a.Values["difference gelu_new"], 1e-5)
		near(t, "base", *table.Base, a.Values["base "+name], 1e-5)
		var got []float32
		gap := table.Difference - *table.Base
		for i, v := range table.Integrated {
			got, gap = append(got, float32(v)), gap-v
			square := 0.0
			for _, x := range by[i*n : (i+1)*n] {
				square += x * x
			}
			near(t, "norm", table.Norm[i], math.Sqrt(square), 1e-5)
		}
		near(t, "gap", *table.Gap, gap, 1e-12)
		nearAll(t, name, got, a.array(t, "integrated "+name), 1e-5)
		o.Path.Steps = 300
		fine, err := inside.Saliency(t.Context(), m, a.IDs, q, o)
		if err != nil || !(math.Abs(*fine.Gap) < 1e-3) {
			t.Errorf("300 steps leave %v: %v", fine.Gap, err)
		}
	}
}

// Of the model written by hand the strongest edges are those that it was written with.
func TestEdgesOfTheInductionModel(t *testing.T) {
	m, clean := testmodel.Induction(t, model.Options{Threads: 2}), repeated()[:2*half]
	corrupted := slices.Clone(clean)
	corrupted[half-1], corrupted[half] = clean[half], clean[half-1] // what follows in the first half
	table, err := inside.Edges(t.Context(), m, clean, corrupted,
		inside.Metric{Target: clean[half], Against: &clean[half-1]}, inside.EdgesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	best := table.Strongest(0)
	if e := best[0]; e.From != "head 1.0" || e.To != "logits" {
		t.Errorf("the strongest edge is %v", e)
	}
	difference := table.Clean - table.Corrupted
	near(t, "clean − corrupted", difference, 3, 1e-4) // the values' factor
	if s := best[0].Score; s > difference || s < 8*math.Abs(best[1].Score) {
		t.Errorf("scores %v and %v of a difference of %v", s, best[1].Score, difference)
	}
}
