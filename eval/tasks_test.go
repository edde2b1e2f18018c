package eval_test

// The benchmarks against log-probabilities computed the long way.

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/eval"

	"picogpt/model"
	"picogpt/tokenizer"
)

// continuation is the log-likelihood of text after context, token by token, each by an Eval of its
// own, and whether each is the greatest.
func continuation(t *testing.T, m *model.Model, context, text string) (sum float64, greedy bool,
	tokens int) {
	tok := tokenizer.GPT2()
	ids := must(tok.Encode(context))
	rest := must(tok.Encode(context + text))[len(ids):]
	greedy = true
	for _, id := range rest {
		s := m.NewSession()
		if err := m.Eval(t.Context(), model.Input{Session: s, Tokens: ids}); err != nil {
			t.Fatal(err)
		}
		greedy = greedy && s.Logits()[id] == slices.Max(s.Logits())
		ids = append(ids, id)
		sum += logprob(t, m, ids...)
	}
	return sum, greedy, len(rest)
}

func TestLambada(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{})
	texts := []string{"Once upon a time", "The children went to the zebra", "Tom has a car",
		"Lily and Tom went to the park.\n\n\"Hello,\" said Tom"}
	sum, right := 0.0, 0
	for _, text := range texts {
		at := strings.LastIndex(text, " ")
		ll, greedy, _ := continuation(t, m, text[:at], text[at:])
		sum += ll
		if greedy {
			right++
		}
	}
	n := float64(len(texts))
	p := float64(right) / n
	for _, batch := range []int{0, 1, 3} {
		done := 0
		o := eval.TaskOptions{Batch: batch, Progress: func(n int) { done = n }}
		r, err := eval.Lambada(context.Background(), m, tokenizer.GPT2(), slices.Values(texts), o)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "perplexity", r.Perplexity, math.Exp(-sum/n))
		near(t, "standard error", r.Accuracy.StdErr, math.Sqrt(p*(1-p)/(n-1)))
		if r.Accuracy.Value != p || r.Examples != len(texts) || r.Partial || done != len(texts) {
			t.Errorf("%+v, %d done, want %v right", r, done, p)
		}
	}
	if right == 0 || right == len(texts) {
		t.Errorf("%d right: the texts tell nothing", right)
	}
}

func TestChoice(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{})
	// By sum, by mean and by bytes different choices win, if the choices are as different as these.
	questions := []eval.Question{
		{Context: "She loved to play", Choices: []string{" in", " outside in the sun.", " zebra"},
			Answer: 0},
		{Context: "She loved to play", Choices: []string{" in", " outside in the sun.", " zebra"},
			Answer: 1},
		{Context: "Tom was very", Choices: []string{" excited", " sad, so he", " glad"}, Answer: 0},
		{Context: "Tom was very", Choices: []string{" hungry and", " sad"}, Answer: 0},
		{Context: "Tom saw a big", Choices: []string{" dog", " dinosaur", " box"}, Answer: 1},
		{Context: "Once upon a", Choices: []string{" dragon", " time, there was a little girl"},
			Answer: 1},
		{Context: "Once upon a", Choices: []string{" time", " time"}, Answer: 1},
	}
	var want [3]int
	for _, q := range questions {
		var best [3]int
		most := [3]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
		for i, c := range q.Choices {
			sum, _, n := continuation(t, m, q.Context, c)
			for way, x := range []float64{sum, sum / float64(n), sum / float64(len(c))} {
				if x > most[way]+1e-9 {
					most[way], best[way] = x, i
				}
			}
		}
		for way := range best {
			if best[way] == q.Answer {
				want[way]++
			}
		}
	}
	for _, batch := range []int{0, 1, 4} {
		r, err := eval.Choice(context.Background(), m, tokenizer.GPT2(), slices.Values(questions),
			eval.TaskOptions{Batch: batch})
		if err != nil {
			t.Fatal(err)
		}
		for way, a := range []eval.Accuracy{r.BySum, r.ByMean, r.ByByte} {
			if a.Value != float64(want[way])/float64(len(questions)) {
				t.Errorf("way %d: %v, want %d of them", way, a.Value, want[way])
			}
		}
	}
	if want[0] == want[1] && want[1] == want[2] {
		t.Errorf("%v: the questions tell the ways not apart", want)
	}
}

func TestTasksPassOverWhatCannotBeScored(t *testing.T) {
	m := testmodel.Demo(t, model.Options{})
	tok := tokenizer.GPT2()
	long := strings.Repeat(" a", 300)
	var skipped []int
	o := eval.TaskOptions{Skip: func(i int, err error) { skipped = append(skipped, i) }}
	texts := slices.Values([]string{"Once upon a time", "Once " + strings.Repeat("é", 300),
		"Once upon a time"})
	l, err := eval.Lambada(context.Background(), m, tok, texts, o)
	if err != nil || l.Examples != 2 || !slices.Equal(skipped, []int{1}) {
		t.Errorf("%+v, %v, skipped %v", l, err, skipped)
	}
	if _, err := eval.Lambada(context.Background(), m, tok, texts, eval.TaskOptions{}); err == nil {
		t.Error("no error without Skip")
	}

	skipped = nil
	questions := slices.Values([]eval.Question{
		{Context: "Once", Choices: []string{" upon", long}},
		{Context: "Once", Choices: []string{" upon", " a"}},
		{Context: "Once", Answer: 0},
		{Context: "Once", Choices: []string{" upon", " a"}, Answer: 2},
		{Context: "Once", Choices: []string{" upon", ""}},
		{Context: "Once", Choices: []string{" upon"}, Bytes: []int{1, 2}},
	})
	c, err := eval.Choice(context.Background(), m, tok, questions, o)
	if err != nil || c.Examples != 1 || c.BySum.Value != 1 ||
		!slices.Equal(skipped, []int{0, 2, 3, 4, 5}) {
		t.Errorf("%+v, %v, skipped %v", c, err, skipped)
	}
	if _, err := eval.Choice(context.Background(), m, tok, questions,
		eval.TaskOptions{}); err == nil || !strings.Contains(err.Error(),
		"question 0: choice 1: ") {
		t.Errorf("%v, want an error that names question 0", err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if l, err := eval.Lambada(ctx, m, tok, texts, o); !errors.Is(err, context.Canceled) ||
		!l.Partial || !math.IsNaN(l.Perplexity) {
		t.Errorf("%+v, %v, want nothing, stopped", l, err)
	}
	if c, err := eval.Choice(ctx, m, tok, questions, o); !errors.Is(err, context.Canceled) ||
		!c.Partial {
		t.Errorf("%+v, %v, want nothing, stopped", c, err)
	}
}

func TestAnswers(t *testing.T) {
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	questions := []eval.Question{
		{Context: "Once upon a", Choices: []string{" dragon", " time"}, Tag: "a"},
		{Context: "Once", Tag: "b"},
		{Context: "She loved to play", Choices: []string{" in", " zebra", " in"}, Tag: "c"},
		{Context: "Once", Choices: []string{" upon", strings.Repeat(" a", 300)}, Tag: "d"},
		{Context: "Once", Choices: []string{"", " upon"}, Tag: "e"},
		{Context: "Tom was very", Choices: []string{" sad"}, Tag: "f"},
	}
	best := map[string]int{"a": 1, "c": 0, "f": 0}
	for _, batch := range []int{1, 64} {
		n := 0
		for a, err := range eval.Answers(context.Background(), m, tok, slices.Values(questions),
			eval.ScoreOptions{Batch: batch}) {
			q := questions[n]
			if a.Index != n || a.Tag != q.Tag {
				t.Fatalf("answer %d has index %d and tag %v", n, a.Index, a.Tag)
			}
			n++
			want, ok := best[a.Tag.(string)]
			var bad *eval.RequestError
			if !ok {
				if !errors.As(err, &bad) || bad.Index != a.Index || bad.Tag != a.Tag {
					t.Errorf("%v: %v, want an error of this question", a.Tag, err)
				}
				continue
			}
			if err != nil || a.Best != want || len(a.Scores) != len(q.Choices) {
				t.Errorf("%v: %+v, %v, want choice %d", a.Tag, a, err, want)
			}
			total, all := 0.0, 0.0
			for _, s := range a.Scores {
				all += math.Exp(s.Sum)
			}
			for i, p := range a.Probabilities {
				near(t, "probability", p, math.Exp(a.Scores[i].Sum)/all)
				total += p
			}
			near(t, "all probabilities", total, 1)
		}
		if n != len(questions) {
			t.Errorf("%d answers to %d questions", n, len(questions))
		}
	}
	a, err := eval.Choose(context.Background(), m, tok, "Once upon a", " dragon", " time")
	if err != nil || a.Best != 1 || a.Probabilities[1] < 0.9 {
		t.Errorf("%+v, %v", a, err)
	}
	for _, choices := range [][]string{nil, {""}, {" upon", strings.Repeat(" a", 300)}} {
		if _, err := eval.Choose(context.Background(), m, tok, "Once", choices...); err == nil {
			t.Errorf("%.20q: no error", choices)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := eval.Choose(ctx, m, tok, "Once", " upon"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
}
