package eval_test

// Two models on one text, beside a judge that has all logits at once.

import (
	"cmp"
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
	"picogpt/eval"
	"picogpt/model"
)

// logProbs returns the log-probabilities after each of the tokens.
func logProbs(t *testing.T, m *model.Model, tokens []int) [][]float64 {
	t.Helper()
	rows := make([][]float64, len(tokens))
	err := m.Eval(context.Background(), model.Input{Session: m.NewSession(), Tokens: tokens,
		Visit: func(r model.Row) {
			row := make([]float64, len(r.Logits))
			sum, most := 0.0, float64(slices.Max(r.Logits))
			for i, v := range r.Logits {
				row[i] = float64(v) - most
				sum += math.Exp(row[i])
			}
			for i := range row {
				row[i] -= math.Log(sum)
			}
			rows[r.Index] = row
		}})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// compared judges two models by all of their log-probabilities.
func compared(
	t *testing.T, models [2]*model.Model, ids []int, o eval.Options,
) (all []eval.Difference) {
	for i, id := range ids {
		prefix := before(o, ids, i)
		if len(prefix) == 0 {
			continue
		}
		d := eval.Difference{Position: i, ID: id}
		var rows [2][]float64
		for j, m := range models {
			all := logProbs(t, m, prefix)
			rows[j] = all[len(all)-1]
			d.LogProbs[j] = rows[j][id]
			d.Choices[j] = slices.Index(rows[j], slices.Max(rows[j]))
		}
		for j, p := range rows[0] {
			d.KL += math.Exp(p) * (p - rows[1][j])
		}
		all = append(all, d)
	}
	return all
}

func compare(t *testing.T, a, b *model.Model, ids []int, o eval.Options, top int) eval.Comparison {
	t.Helper()
	text := eval.Text{Documents: []eval.Document{{Tokens: ids}}}
	c, err := eval.Compare(context.Background(), a, b, text, o, top)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestComparisonIsThatOfAllLogits, in each protocol's windows, and its perplexities are Measure's.
func TestComparisonIsThatOfAllLogits(t *testing.T) {
	config, data := fixture.Checkpoint(fixture.Options{Seed: 5, Layer: 2, Positions: 25,
		Config: map[string]any{"bos_token_id": 3}})
	models := [2]*model.Model{tinyModel(t, model.Options{}), testmodel.New(t, config, data, model.Options{})}
	ids := readOracle(t).Random[:130] // of more than 100, 99 % are fewer than all
	for _, o := range []eval.Options{
		{Protocol: eval.HF, Window: 23, Stride: 23}, {Protocol: eval.HF, Window: 11, Stride: 4},
		{Protocol: eval.LMEval, Window: 20, Stride: 20}, {Protocol: eval.LlamaCpp, Window: 9, Stride: 9},
	} {
		want := compared(t, models, ids, o)
		kl, delta, agreed := 0.0, 0.0, 0.0
		for _, d := range want {
			kl += d.KL / float64(len(want))
			delta += math.Abs(d.LogProbs[0]-d.LogProbs[1]) / float64(len(want))
			if d.Choices[0] == d.Choices[1] {
				agreed += 1 / float64(len(want))
			}
		}
		slices.SortStableFunc(want, func(a, b eval.Difference) int { return cmp.Compare(b.KL, a.KL) })
		c := compare(t, models[0], models[1], ids, o, len(want))
		if c.Compared != len(want) || len(c.Most) != len(want) {
			t.Fatalf("%s: %d compared, %d shown, want %d", o.Protocol, c.Compared, len(c.Most), len(want))
		}
		near(t, "kl", c.KL, kl)
		near(t, "greatest", c.KLMax, want[0].KL)
		near(t, "99 %", c.KL99, want[len(want)-int(math.Ceil(0.99*float64(len(want))))].KL)
		near(t, "agreement", c.Agreement, agreed)
		near(t, "delta", c.Delta, delta)
		for i, d := range c.Most {
			near(t, "kl of a token", d.KL, want[i].KL)
			near(t, "ln p", d.LogProbs[0], want[i].LogProbs[0])
			near(t, "ln q", d.LogProbs[1], want[i].LogProbs[1])
			if d.Position != want[i].Position || d.ID != want[i].ID || d.Choices != want[i].Choices {
				t.Errorf("%s: %+v, want %+v", o.Protocol, d, want[i])
			}
		}
		for i, r := range []eval.Result{c.A, c.B} {
			m, err := eval.Perplexity(context.Background(), models[i], ids, o)
			if err != nil || r.NLL != m.NLL || r.String() != m.String() {
				t.Errorf("%s: perplexity\n%vwant\n%v%v", o.Protocol, r, m, err)
			}
		}
		if few := compare(t, models[0], models[1], ids, o, 3); !reflect.DeepEqual(few.Most, c.Most[:3]) {
			t.Errorf("%s: the three greatest are %+v, want %+v", o.Protocol, few.Most, c.Most[:3])
		}
	}
}

// TestLongWindowsAreComparedInParts: a window has more tokens than rows of logits exist.
func TestLongWindowsAreComparedInParts(t *testing.T) {
	config, data := fixture.Checkpoint(fixture.Options{Vocab: 601, Positions: 150, Embd: 64, Head: 2})
	models := [2]*model.Model{testmodel.New(t, config, data, model.Options{}),
		testmodel.New(t, config, data, model.Options{Format: "q4"})}
	_, ids := story(t)
	ids = slices.Clone(ids[:150])
	for i := range ids {
		ids[i] %= 601
	}
	rows := [2][][]float64{logProbs(t, models[0], ids), logProbs(t, models[1], ids)}
	c := compare(t, models[0], models[1], ids, eval.Options{}, 149)
	if c.Compared != 149 || c.A.DType != "f32" || c.B.DType != "q4" {
		t.Errorf("%d compared, %s and %s", c.Compared, c.A.DType, c.B.DType)
	}
	for _, d := range c.Most {
		kl := 0.0
		for id, p := range rows[0][d.Position-1] {
			kl += math.Exp(p) * (p - rows[1][d.Position-1][id])
		}
		near(t, "kl", d.KL, kl)
	}
}

// TestAModelIsNoWayFromItself, and of equal tokens the earlier are shown.
func TestAModelIsNoWayFromItself(t *testing.T) {
	a, b := tinyModel(t, model.Options{Threads: 1}), tinyModel(t, model.Options{Threads: 3})
	c := compare(t, a, b, readOracle(t).Random, eval.Options{}, 5)
	if c.KL != 0 || c.KL99 != 0 || c.KLMax != 0 || c.Delta != 0 || c.Agreement != 1 {
		t.Errorf("%+v", c)
	}
	for i, d := range c.Most {
		if d.Position != i+1 || d.KL != 0 || d.LogProbs[0] != d.LogProbs[1] {
			t.Errorf("%d: %+v", i, d)
		}
	}
}

func TestComparisonsHaveTheSameBits(t *testing.T) {
	_, ids := story(t)
	var want []byte
	for _, o := range []model.Options{{Threads: 1}, {Threads: 7}, {Threads: 2, Kernel: "go"}} {
		a := tinyModel(t, o)
		config, data := fixture.Checkpoint(fixture.Options{Seed: 8})
		b := testmodel.New(t, config, data, o)
		small := make([]int, 120)
		for i := range small {
			small[i] = ids[i] % 29
		}
		got, err := json.Marshal(compare(t, a, b, small, eval.Options{Window: 17, Stride: 5}, 10))
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if string(got) != string(want) {
			t.Errorf("%+v:\n%s\nwant\n%s", o, got, want)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	a := tinyModel(t, model.Options{})
	other := func(o fixture.Options) *model.Model {
		config, data := fixture.Checkpoint(o)
		return testmodel.New(t, config, data, model.Options{})
	}
	short := other(fixture.Options{Positions: 12})
	ids := []int{1, 2, 3}
	for _, c := range []struct {
		b    *model.Model
		ids  []int
		o    eval.Options
		top  int
		want string
	}{
		{a, ids, eval.Options{}, -1, "top: -1, want 0 or more"},
		{other(fixture.Options{Vocab: 30}), ids, eval.Options{}, 1,
			"the vocabulary of B has 30 ids, want 29, as A's"},
		{other(fixture.Options{Config: map[string]any{"bos_token_id": 7}}), ids,
			eval.Options{Protocol: eval.LMEval}, 1, "bos_token_id of B is 7, want 3, as A's"},
		{short, ids, eval.Options{Window: 13}, 1, "window: 13, want 2 to 12 (n_positions) for hf"},
		{short, []int{1}, eval.Options{}, 1, "text: 1 tokens, want at least 2 for hf"},
		{short, []int{1, 29}, eval.Options{}, 1, "token 1: id 29, want 0 to 28 (the model's vocabulary)"},
	} {
		text := eval.Text{Documents: []eval.Document{{Tokens: c.ids}}}
		_, err := eval.Compare(context.Background(), a, c.b, text, c.o, c.top)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if c := compare(t, a, short, readOracle(t).Random, eval.Options{}, 0); c.A.Window != 12 || c.B.Window != 12 {
		t.Errorf("windows of %d and %d, want the shorter context", c.A.Window, c.B.Window)
	}
}

// TestAStoppedComparisonIsPartial: it has the windows that were whole.
func TestAStoppedComparisonIsPartial(t *testing.T) {
	a, b, ids := tinyModel(t, model.Options{}), spoiled(t), readOracle(t).Random
	text := eval.Text{Documents: []eval.Document{{Tokens: ids}}}
	c, err := eval.Compare(context.Background(), a, b, text, eval.Options{}, 1)
	if err == nil || !strings.HasPrefix(err.Error(), "B: logits after position 0") || c.Compared != 0 {
		t.Errorf("%v, %d compared", err, c.Compared)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := eval.Options{Progress: func(p eval.Progress) {
		if p.Done == 46 && p.Total == len(ids) {
			cancel()
		}
	}}
	c, err = eval.Compare(ctx, a, a, text, o, 1)
	if !errors.Is(err, context.Canceled) || c.Compared != 44 || !c.A.Partial || !c.B.Partial {
		t.Errorf("%v, %d compared, partial %v", err, c.Compared, c.A.Partial)
	}
}
