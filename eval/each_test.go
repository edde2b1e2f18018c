package eval_test

// Documents measured separately: measured in any groups and added up in order, they give Measure's
// result for the text.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/tokenizer"
)

// windowings are options for the tiny model, whose context has 23 positions.
var windowings = []eval.Options{
	{}, {Stride: 7}, {Window: 9, Stride: 4}, {Window: 5, Stride: 1}, {Window: 2},
	{Protocol: eval.LMEval}, {Protocol: eval.LMEval, Window: 8}, {Protocol: eval.LMEval, Window: 1},
	{Protocol: eval.LlamaCpp}, {Protocol: eval.LlamaCpp, Window: 12},
	{Protocol: eval.LlamaCpp, Window: 3},
}

// randomDocuments are of all lengths from least on, tagged with their number.
func randomDocuments(rng *rand.Rand, n, least int) []eval.DocumentRequest {
	all := make([]eval.DocumentRequest, n)
	for i := range all {
		d := eval.Document{Tokens: make([]int, least+rng.IntN(1+rng.IntN(120))), Words: rng.IntN(9),
			Bytes: rng.IntN(99)}
		for j := range d.Tokens {
			d.Tokens[j] = rng.IntN(29)
		}
		all[i] = eval.DocumentRequest{Document: d, Tag: i}
	}
	return all
}

// measureShuffled measures the documents in another order and in several runs, as a pipeline may,
// and returns what is measured in their own order.
func measureShuffled(
	t *testing.T, m *model.Model, rng *rand.Rand, all []eval.DocumentRequest, o eval.Options,
) []eval.Measured {
	t.Helper()
	shuffled := slices.Clone(all)
	rng.Shuffle(len(shuffled), func(i, j int) {
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
	measured := make([]eval.Measured, len(all))
	for len(shuffled) > 0 {
		n := 1 + rng.IntN(len(shuffled))
		o.Batch, o.Progress = rng.IntN(4), nil
		index := 0
		for d, err := range eval.MeasureEach(context.Background(), m,
			slices.Values(shuffled[:n]), o) {
			if err != nil || d.Index != index {
				t.Fatalf("document %d: %d, %v", index, d.Index, err)
			}
			index++
			measured[d.Tag.(int)] = d
		}
		if index != n {
			t.Fatalf("%d of %d documents measured", index, n)
		}
		shuffled = shuffled[n:]
	}
	return measured
}

// shown is a result with all digits of its numbers, so that NaN equals NaN.
func shown(r eval.Result) string { return fmt.Sprintf("%+v", r) }

func TestDocumentsMeasuredAnywhereAddUpToMeasure(t *testing.T) {
	models := []*model.Model{tinyModel(t, model.Options{}), tinyModel(t, model.Options{Threads: 3})}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, o := range windowings {
		least := map[eval.Protocol]int{"": 2, eval.LMEval: 0, eval.LlamaCpp: 2 * 23}[o.Protocol]
		all := randomDocuments(rng, 40, least)
		measured := measureShuffled(t, models[1], rng, all, o)
		texts := [][]int{} // the documents of a text, by number
		for i := range all {
			if len(all[i].Tokens) > 0 {
				texts = append(texts, []int{i})
			}
		}
		if o.Protocol == eval.LMEval {
			texts = append(texts, rng.Perm(len(all)), rng.Perm(len(all))[:7])
		}
		for _, text := range texts {
			total := must(eval.NewTotal(o, models[0].Config()))
			var whole eval.Text
			for _, i := range text {
				total.Add(&measured[i])
				whole.Documents = append(whole.Documents, all[i].Document)
			}
			want := must(eval.Measure(context.Background(), models[0], whole, o))
			got := must(total.Result())
			got.DType, got.CacheDType = want.DType, want.CacheDType
			if shown(got) != shown(want) {
				t.Errorf("%+v, documents %v:\n%s, want\n%s", o, text, shown(got), shown(want))
			}
		}
	}
}

// before returns what the definition of the protocol puts before token i, or none if it does not
// score the token.
func before(o eval.Options, ids []int, i int) []int {
	w, n := o.Window, len(ids)
	switch o.Protocol {
	case eval.LMEval:
		end := min(i/w*w+w, n)
		if i < w {
			return append([]int{3}, ids[:i]...)
		}
		return ids[end-w-1 : i]
	case eval.LlamaCpp:
		if first := i / w * w; first+w <= n && i-first > w/2 {
			return ids[first:i]
		}
		return nil
	}
	first := 0
	for first+w <= i {
		first += o.Stride
	}
	return ids[first:i]
}

func TestLogProbsOfEachToken(t *testing.T) {
	m := tinyModel(t, model.Options{})
	ids := readOracle(t).Random[:75]
	for _, o := range []eval.Options{
		{Window: 23, Stride: 23}, {Window: 10, Stride: 4}, {Protocol: eval.LMEval, Window: 23},
		{Protocol: eval.LMEval, Window: 8}, {Protocol: eval.LlamaCpp, Window: 12},
	} {
		request := eval.DocumentRequest{Document: eval.Document{Tokens: ids, Words: 7, Bytes: 99}}
		for d, err := range eval.MeasureEach(context.Background(), m, one(request), o) {
			if err != nil || d.Tokens != 75 || d.Words != 7 || d.Bytes != 99 ||
				!slices.Equal(d.IDs, ids) || len(d.LogProbs) != 75 {
				t.Fatalf("%+v: %+v, %v", o, d, err)
			}
			for i, got := range d.LogProbs {
				context := before(o, ids, i)
				if len(context) == 0 {
					if !math.IsNaN(got) {
						t.Errorf("%+v: token %d has %v, want none", o, i, got)
					}
					continue
				}
				want := logprob(t, m, append(slices.Clone(context), ids[i])...)
				near(t, fmt.Sprintf("%+v: token %d", o, i), got, want)
			}
		}
	}
}

func TestDocumentsThatCannotBeMeasured(t *testing.T) {
	m := poisoned(t)
	broken := errors.New("a broken line")
	const good, letterF = 1, 5
	document := func(ids ...int) eval.DocumentRequest {
		return eval.DocumentRequest{Document: eval.Document{Tokens: ids}}
	}
	long := slices.Repeat([]int{good}, 60)
	spoiled := slices.Concat(long, []int{letterF}, long)
	for _, c := range []struct {
		o    eval.Options
		r    eval.DocumentRequest
		want string // "" where it can
	}{
		{eval.Options{}, document(good, good), ""},
		{eval.Options{}, document(good), "text: 1 tokens, want at least 2 for hf"},
		{eval.Options{}, document(), "text: 0 tokens, want at least 2 for hf"},
		{eval.Options{}, document(good, 29), "token 1: id 29, want 0 to 28 (the model's vocabulary)"},
		{eval.Options{}, eval.DocumentRequest{Err: broken}, "a broken line"},
		{eval.Options{}, document(spoiled...), "not finite"},
		{eval.Options{Window: 4}, document(letterF, good), "not finite"},
		{eval.Options{}, document(good, letterF), ""}, // after the last that is evaluated
		{eval.Options{Protocol: eval.LlamaCpp, Window: 8}, document(long[:15]...),
			"text: 15 tokens, want at least 16 (two windows of 8) for llama.cpp"},
		{eval.Options{Protocol: eval.LlamaCpp, Window: 8}, document(long[:16]...), ""},
	} {
		for _, batch := range []int{0, 1, 3} {
			c.o.Batch = batch
			c.r.Tag = "it"
			fine := eval.DocumentRequest{Document: eval.Document{Tokens: long}, Tag: "fine"}
			requests := []eval.DocumentRequest{fine, c.r, c.r, fine}
			var got []string
			for d, err := range eval.MeasureEach(context.Background(), m,
				slices.Values(requests), c.o) {
				var bad *eval.RequestError
				switch {
				case errors.As(err, &bad) && bad.Index == d.Index && bad.Tag == d.Tag &&
					d.Tokens == 0 && d.Windows == nil:
					got = append(got, fmt.Sprint(d.Index, d.Tag, " ", bad.Err))
				case err == nil:
					got = append(got, fmt.Sprint(d.Index, d.Tag, " ", len(d.Windows) > 0))
				default:
					t.Fatalf("%+v: %+v, %v", c, d, err)
				}
			}
			want := []string{"0fine true", "1it true", "2it true", "3fine true"}
			for i := range want {
				if c.want != "" && i%3 != 0 {
					want[i] = strings.TrimSuffix(want[i], "true") + c.want
				}
				if i >= len(got) || !strings.Contains(got[i], want[i]) &&
					!(c.want == "not finite" && strings.Contains(got[i], c.want)) {
					t.Errorf("%+v: %q, want %q", c, got, want[i])
				}
			}
		}
	}
}

func TestTotalsThatNoProtocolDefines(t *testing.T) {
	m := tinyModel(t, model.Options{})
	two := &eval.Measured{Tokens: 50, Windows: []float64{1}, Scored: 1}
	for _, c := range []struct {
		protocol eval.Protocol
		add      []*eval.Measured
		want     string
	}{
		{eval.HF, []*eval.Measured{two, two}, "text: 2 documents, want 1 for hf"},
		{eval.LlamaCpp, []*eval.Measured{two, two}, "text: 2 documents, want 1 for llama.cpp"},
		{eval.HF, nil, "text: 0 tokens, want at least 2 for hf"},
		{eval.LMEval, []*eval.Measured{{}, {}}, "text: 0 tokens, want at least 1 for lm-eval"},
	} {
		total := must(eval.NewTotal(eval.Options{Protocol: c.protocol}, m.Config()))
		text := eval.Text{}
		for _, d := range c.add {
			total.Add(d)
			text.Documents = append(text.Documents, eval.Document{Tokens: make([]int, d.Tokens)})
		}
		_, err := total.Result()
		_, same := eval.Measure(context.Background(), m, text, eval.Options{Protocol: c.protocol})
		if err == nil || same == nil || err.Error() != c.want || same.Error() != c.want {
			t.Errorf("%s: %v, and of Measure %v, want %s", c.protocol, err, same, c.want)
		}
	}
	if _, err := eval.NewTotal(eval.Options{Window: 99}, m.Config()); err == nil {
		t.Error("no error for a window of 99")
	}
}

func TestMeasureEachTakesOneEvalAndStops(t *testing.T) {
	m := tinyModel(t, model.Options{})
	taken := 0
	endless := func(yield func(eval.DocumentRequest) bool) {
		for yield(eval.DocumentRequest{Document: eval.Document{Tokens: make([]int, 10)}}) {
			taken++
		}
	}
	for range eval.MeasureEach(context.Background(), m, endless, eval.Options{}) {
		break
	}
	// 64 windows and one or two that were read ahead; fewer only if the machine slept.
	if taken < 25 || taken > 66 {
		t.Errorf("%d documents for the first answer, want about 64", taken)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	var last error
	for _, err := range eval.MeasureEach(ctx, m, endless, eval.Options{Batch: 2}) {
		if n++; n == 10 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) || n > 12 {
		t.Errorf("%v after %d", last, n)
	}
	n = 0
	for _, err := range eval.MeasureEach(context.Background(), m, endless,
		eval.Options{Stride: -1}) {
		if n++; err == nil || !strings.Contains(err.Error(), "stride: -1") {
			t.Errorf("%v, want that the stride is refused", err)
		}
	}
	if n != 1 {
		t.Errorf("%d answers, want the error alone", n)
	}
}

func TestADocumentIsThatOfNewText(t *testing.T) {
	const text = "Once upon a time,\n there was  a cat. "
	d := must(eval.NewDocument(tokenizer.GPT2(), text))
	want := must(eval.NewText(eval.LMEval, tokenizer.GPT2(), text)).Documents[0]
	if fmt.Sprint(d) != fmt.Sprint(want) || d.Words != 9 || d.Bytes != len(text) {
		t.Errorf("%+v, want %+v", d, want)
	}
	m := testmodel.Demo(t, model.Options{})
	o := eval.Options{Protocol: eval.LMEval}
	total := must(eval.NewTotal(o, m.Config()))
	for d, err := range eval.MeasureEach(context.Background(), m,
		one(eval.DocumentRequest{Document: d}), o) {
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		s := scoreOne(t, m, tokenizer.GPT2(), eval.Request{Text: text}, eval.ScoreOptions{BOS: true})
		for i, token := range s.Tokens {
			sum += d.LogProbs[i]
			if token.LogProb != d.LogProbs[i] {
				t.Errorf("token %d: %v, of Score %v", i, d.LogProbs[i], token.LogProb)
			}
		}
		total.Add(&d)
		near(t, "total", must(total.Result()).NLL, -sum/float64(d.Tokens))
	}
}
