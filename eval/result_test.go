package eval_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/tokenizer"
)

func TestExpectationsAreOfTheDigitsThatAreWritten(t *testing.T) {
	for s, want := range map[string]eval.Expectation{
		"20.0222": {20.0222, 0.00005}, "20": {20, 0.5}, "20.": {20, 0.5}, "20.0": {20, 0.05},
		"1.50e3": {1500, 5},
		"2E1":    {20, 5}, "2002.22e-2": {20.0222, 0.00005}, "1": {1, 0.5},
		"20.022234567890123": {20.022234567890123, 5e-16},
	} {
		if got, err := eval.ParseExpectation(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"", ".", "e3", "1e", "-1", "+1", "0", "0.0", "nan", "inf", "0x10",
		"1_0", "1e999", "1e-999",
		"1e99999999999", "20,0222", " 20", "20.0222 ", "20.02.22", "2/3"} {
		if e, err := eval.ParseExpectation(s); err == nil ||
			!strings.Contains(err.Error(), "want a perplexity") {
			t.Errorf("%q: %+v, %v, want an error", s, e, err)
		}
	}
}

func TestExpectationsCheck(t *testing.T) {
	for _, c := range []struct {
		e    eval.Expectation
		p    float64
		want string
	}{
		{eval.Expectation{20.0222, 0.00005}, 20.02224999, ""},
		{eval.Expectation{20.0222, 0.00005}, 20.02215001, ""},
		{eval.Expectation{20.0222, 0.00005}, 20.02226,
			"perplexity per token: 20.02226, want 20.0222 ± 0.00005"},
		{eval.Expectation{20.0222, 0.00005}, 20.0221,
			"perplexity per token: 20.0221, want 20.0222 ± 0.00005"},
		{eval.Expectation{20, 0}, 20, ""},
		{eval.Expectation{20, 0}, math.Nextafter(20, 21),
			"perplexity per token: 20.000000000000004, want 20 ± 0"},
		{eval.Expectation{20, 100}, math.NaN(), "perplexity per token: NaN, want 20 ± 100"},
		{eval.Expectation{20, 100}, math.Inf(1), "perplexity per token: +Inf, want 20 ± 100"},
	} {
		if got := fmt.Sprint(c.e.Check(c.p)); got != c.want && (got != "<nil>" || c.want != "") {
			t.Errorf("%+v, %v: %s, want %q", c.e, c.p, got, c.want)
		}
	}
}

// A reporter is a test that only reports.
type reporter struct {
	*testing.T
	errors, fatal []string
}

func (r *reporter) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *reporter) Fatalf(format string, args ...any) {
	r.fatal = append(r.fatal, fmt.Sprintf(format, args...))
	panic(r)
}

func TestExpectPerplexity(t *testing.T) {
	m := testmodel.Demo(t, model.Options{})
	story, err := os.ReadFile("testdata/story.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := must(eval.NewText(eval.HF, tokenizer.GPT2(), string(story[:400])))
	p := must(eval.Measure(context.Background(), m, text, eval.Options{})).Perplexity
	expect := func(text eval.Text, want string) (r *reporter) {
		r = &reporter{T: t}
		defer func() {
			if p := recover(); p != nil && p != r {
				panic(p)
			}
		}()
		eval.ExpectPerplexity(r, m, text, eval.Options{}, want)
		return r
	}
	for _, digits := range []int{0, 1, 4, 10} {
		if r := expect(text, fmt.Sprintf("%.*f", digits, p)); r.errors != nil || r.fatal != nil {
			t.Errorf("%d digits: %q, %q", digits, r.errors, r.fatal)
		}
	}
	if r := expect(text, fmt.Sprintf("%.4f", p+0.0002)); len(r.errors) != 1 || r.fatal != nil {
		t.Errorf("a wrong number: %q, %q", r.errors, r.fatal)
	}
	if r := expect(text, "twenty"); r.errors != nil || len(r.fatal) != 1 {
		t.Errorf("no number: %q, %q", r.errors, r.fatal)
	}
	if r := expect(eval.Text{}, "20"); r.errors != nil || len(r.fatal) != 1 {
		t.Errorf("no text: %q, %q", r.errors, r.fatal)
	}
}
