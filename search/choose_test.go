package search

// The probabilities of choices are those of all sequences of tokens that spell them, summed.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/tokenizer"
)

// few is a vocabulary of a few tokens; Encode takes the longest token first.
type few []string

// fewTokens are the 29 ids of tiny; the last ends texts, two are the same bytes, one has none.
var fewTokens = few{"a", "b", "c", "d", "ab", "bc", "ca", "abc", "aa", "bb", "cab", "da", "ad", "dd",
	"aaa", "abca", "é", "\xc3", "\xa9", "aé", " ", " a", " b", "ab", "bcd", "", "dab", "cc", ""}

const fewEnd = 28

func (f few) Bytes() ([][]byte, error) {
	var all [][]byte
	for _, t := range f {
		all = append(all, []byte(t))
	}
	return all, nil
}

func (f few) Encode(text string) (ids []int, err error) {
	for text != "" {
		best := -1
		for id, t := range f {
			if t != "" && strings.HasPrefix(text, t) && (best < 0 || len(t) > len(f[best])) {
				best = id
			}
		}
		if best < 0 {
			return nil, errors.New("no token")
		}
		ids, text = append(ids, best), text[len(f[best]):]
	}
	return ids, nil
}

// A brute sums over all spellings. It evaluates each beginning by itself, and takes its logarithms
// from package math.
type brute struct {
	t      *testing.T
	m      *model.Model
	prompt []int
	tokens [][]byte
	ends   []int // nil: a text need not end
	known  map[string][]float64
}

// logProbs returns the log-softmax after some ids.
func (b *brute) logProbs(after []int) []float64 {
	key := fmt.Sprint(after)
	if known, ok := b.known[key]; ok {
		return known
	}
	s := b.m.NewSession()
	defer s.Release()
	in := model.Input{Session: s, Tokens: slices.Concat(b.prompt, after)}
	if err := b.m.Eval(context.Background(), in); err != nil {
		b.t.Fatal(err)
	}
	most, sum := math.Inf(-1), 0.0
	for _, x := range s.Logits() {
		most = max(most, float64(x))
	}
	lost := 0.0 // by the rounding of sum: 50,257 numbers
	for _, x := range s.Logits() {
		term := math.Exp(float64(x)-most) - lost
		next := sum + term
		sum, lost = next, (next-sum)-term
	}
	logs := make([]float64, len(s.Logits()))
	for id, x := range s.Logits() {
		logs[id] = float64(x) - most - math.Log(sum)
	}
	b.known[key] = logs
	return logs
}

// sum is the probability of all spellings of a text after some ids.
func (b *brute) sum(after []int, text []byte) (p float64) {
	if len(text) == 0 {
		if b.ends == nil {
			return 1
		}
		for _, id := range b.ends {
			p += math.Exp(b.logProbs(after)[id])
		}
		return p
	}
	for id, t := range b.tokens {
		if len(t) > 0 && bytes.HasPrefix(text, t) && !slices.Contains(b.ends, id) {
			p += math.Exp(b.logProbs(after)[id]) * b.sum(append(slices.Clone(after), id), text[len(t):])
		}
	}
	return p
}

// check compares the choices with brute force, and returns how many probabilities it compared.
func (b *brute) check(tok Speller, choices []string, o ChooseOptions) int {
	b.t.Helper()
	got, err := Choose(b.t.Context(), b.m.NewSession(), b.prompt, tok, choices, o)
	var prefix *PrefixError
	if errors.As(err, &prefix) {
		return 0
	}
	if err != nil {
		b.t.Fatalf("%q: %v", choices, err)
	}
	precision := o.Precision
	if precision == 0 {
		precision = 1e-4
	}
	if got.Unseen > precision {
		b.t.Fatalf("%q: %v is unseen, want %v", choices, got.Unseen, precision)
	}
	b.ends = nil
	if o.End {
		b.ends = o.EndOfText
	}
	all, total, given := []float64{}, 0.0, 0.0
	for _, c := range choices {
		p := b.sum(nil, slices.Concat(o.Before, []byte(c+o.Suffix)))
		all, total = append(all, p), total+p
	}
	for i, c := range got.Choices {
		given += c.Prob
		want := all[i] / total
		if c.Text != choices[i] || math.Abs(c.Prob-want) > got.Unseen+1e-12 {
			b.t.Errorf("%q after %v: %v, want %v within %v", c.Text, b.prompt, c.Prob, want, got.Unseen)
		}
		// What is seen of a text is at most all, and the unseen part of it at most that of the whole.
		most := (got.Unseen/(1-got.Unseen) + 1e-12) * total
		if p := math.Exp(c.LogProb); p > all[i]*(1+1e-12) || p < all[i]-most {
			b.t.Errorf("%q: logprob %v, want %v", c.Text, c.LogProb, math.Log(all[i]))
		}
	}
	if math.Abs(given-1) > 1e-12 {
		b.t.Errorf("%q: the probabilities add to %v", choices, given)
	}
	return len(choices)
}

func newBrute(t *testing.T, m *model.Model, prompt []int, tok Speller) *brute {
	tokens, err := tok.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return &brute{t: t, m: m, prompt: prompt, tokens: tokens, known: map[string][]float64{}}
}

func TestChoicesAreSumsOverAllSpellings(t *testing.T) {
	m := tiny(t, fixture.Options{})
	r := rand.New(rand.NewPCG(1, 2))
	sets, compared := cases.Of(200, 2000), 0
	for range sets {
		var choices []string
		for range 1 + r.IntN(5) {
			text := ""
			for range 1 + r.IntN(5) {
				text += []string{"a", "b", "c", "d", "é", " "}[r.IntN(6)]
			}
			if !slices.Contains(choices, text) {
				choices = append(choices, text)
			}
		}
		o := ChooseOptions{EndOfText: []int{fewEnd}, End: r.IntN(2) == 0}
		o.Precision = []float64{0, 1e-2, 1e-9}[r.IntN(3)]
		if r.IntN(4) == 0 {
			o.Suffix = "d"
		}
		if r.IntN(4) == 0 {
			o.Before = []byte("b")
		}
		prompt := []int{r.IntN(28), r.IntN(28)}
		compared += newBrute(t, m, prompt, fewTokens).check(fewTokens, choices, o)
	}
	if compared < 2*sets {
		t.Errorf("%d probabilities of %d sets", compared, sets)
	}
}

func TestShortChoicesOfGPT2sVocabulary(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{})
	tok := tokenizer.GPT2()
	r := rand.New(rand.NewPCG(3, 4))
	words := []string{" cat", " dog", " a", " he", " she", "s", "'s", ".", "!", "\n", " é", " sad", " on",
		" box", " mom", "ing", "ed", " 3", ", so", "?\""}
	for i := range cases.Sized(12, 200) {
		prompt, err := tok.Encode([]string{"Once upon a time", "The cat", "Tom was very", "\""}[i%4])
		if err != nil {
			t.Fatal(err)
		}
		var choices []string
		for _, k := range r.Perm(len(words))[:2+r.IntN(3)] {
			choices = append(choices, words[k])
		}
		o := ChooseOptions{EndOfText: []int{50256}, End: i%3 == 0}
		newBrute(t, m, prompt, tok).check(tok, choices, o)
	}
}

// The same bits come from any number of threads, and whatever the session holds before.
func TestChoicesHaveTheSameBits(t *testing.T) {
	tok, choices := tokenizer.GPT2(), []string{" happy.", " sad.", " happy and sad."}
	prompt, err := tok.Encode("Tom was very")
	if err != nil {
		t.Fatal(err)
	}
	var first Choices
	for threads := 1; threads <= 3; threads++ {
		m := testmodel.Demo(t, model.Options{Threads: threads})
		s := m.NewSession()
		for held := range prompt {
			got, err := Choose(t.Context(), s, prompt[held:], tok, choices, ChooseOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if first.Choices == nil {
				first = got
			}
			if !slices.Equal(got.Choices, first.Choices) || got.Unseen != first.Unseen ||
				got.Rows != first.Rows {
				t.Errorf("%d threads, %d tokens held: %v, want %v", threads, held, got, first)
			}
			if s.Len() != held {
				t.Fatalf("the session holds %d tokens, want %d", s.Len(), held)
			}
			if err := m.Eval(t.Context(), model.Input{Session: s, Tokens: prompt[held : held+1],
				NoLogits: held%2 == 0}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Choose(t.Context(), s, nil, tok, choices, ChooseOptions{})
		if err != nil || !slices.Equal(got.Choices, first.Choices) {
			t.Errorf("without a prompt: %v, %v", got, err)
		}
		if s.Release(); m.CacheBytes() != 0 {
			t.Errorf("%d bytes of the cache are in use after all", m.CacheBytes())
		}
	}
	sum := 0.0
	for _, c := range first.Choices {
		sum += c.Prob
	}
	if p := first.Choices[2].Prob; p > 0.01 || math.Abs(sum-1) > 1e-12 {
		t.Errorf("%v: the third is not unlikely, or they add to %v", first, sum)
	}
}

// Work for labels of one or two tokens: their spellings and the few others that count, whatever the
// prompt is. 100 rows beside a prompt of 100 keep it far below 3 times the prompt's time.
func TestFewRowsChooseAmongLabels(t *testing.T) {
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	prompt, err := tok.Encode("Tom had a toy. It broke. Tom was very")
	if err != nil {
		t.Fatal(err)
	}
	labels := []string{" happy", " sad", " angry", " scared", " excited"}
	got, err := Choose(t.Context(), m.NewSession(), prompt, tok, labels, ChooseOptions{})
	if err != nil || got.Rows > 100 {
		t.Errorf("%d rows, want at most 100; %v", got.Rows, err)
	}
}

// Where the budget ends the sum, the bound says so, and still holds.
func TestABudgetLeavesMoreUnseen(t *testing.T) {
	m := tiny(t, fixture.Options{})
	choices := []string{"abcabcab", "cabcabca", "dabcda"}
	b := newBrute(t, m, []int{3}, fewTokens)
	var want []float64
	total := 0.0
	for _, c := range choices {
		want = append(want, b.sum(nil, []byte(c)))
		total += want[len(want)-1]
	}
	last := 1.0
	for _, budget := range []int{1, 20, 100, 1000} {
		got, err := Choose(t.Context(), m.NewSession(), []int{3}, fewTokens, choices,
			ChooseOptions{Budget: budget, Precision: 1e-12})
		if err != nil {
			t.Fatal(err)
		}
		if got.Unseen > last || budget < 100 && got.Unseen < 1e-3 || got.Rows > max(budget, 9) {
			t.Errorf("budget %d: unseen %v after %v, %d rows", budget, got.Unseen, last, got.Rows)
		}
		last = got.Unseen
		for i, c := range got.Choices {
			if math.Abs(c.Prob-want[i]/total) > got.Unseen+1e-12 {
				t.Errorf("budget %d: %q %v, want %v within %v", budget, c.Text, c.Prob, want[i]/total,
					got.Unseen)
			}
		}
	}
}

func TestChoicesThatCannotBe(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for _, c := range []struct {
		choices []string
		o       ChooseOptions
		want    string
	}{
		{nil, ChooseOptions{}, "choices: want at least one, found none"},
		{[]string{"a", ""}, ChooseOptions{}, "choice 2: want some text, found none"},
		{[]string{"b", "a", "b"}, ChooseOptions{}, `choice "b": want it once, found it twice`},
		{[]string{"b", "ba"}, ChooseOptions{}, `choice "b" begins choice "ba": want an end of text or ` +
			"a suffix after them"},
		{[]string{"b", "bab"}, ChooseOptions{Suffix: "a"}, `choice "b" begins choice "bab"`},
		{[]string{"b\xff"}, ChooseOptions{}, "choice 1: \"b\\xff\" is not valid UTF-8"},
		{[]string{"a", "xyz"}, ChooseOptions{}, `choice "xyz": the vocabulary has no tokens that spell it`},
		{[]string{strings.Repeat("a", 1<<16+1)}, ChooseOptions{}, "choices: want 65536 bytes at most"},
		{[]string{strings.Repeat("ad", 30)}, ChooseOptions{}, "want at most 23 (n_positions)"},
		{[]string{"a"}, ChooseOptions{Precision: 2}, "precision 2: want a number from 1e-12 to 1"},
		{[]string{"a"}, ChooseOptions{Precision: math.NaN()}, "precision NaN: want"},
		{[]string{"a"}, ChooseOptions{Budget: -1}, "budget -1: want 0 or more"},
		{[]string{"a"}, ChooseOptions{End: true, EndOfText: []int{}}, "end: want an id that ends texts"},
	} {
		_, err := Choose(t.Context(), m.NewSession(), []int{1}, fewTokens, c.choices, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want %s", c.choices, err, c.want)
		}
	}
	if _, err := Choose(t.Context(), m.NewSession(), make([]int, 24), fewTokens, []string{"a"},
		ChooseOptions{}); err == nil {
		t.Error("a prompt that is too long was taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := ChooseOptions{Precision: 1e-12, Progress: func(rows int, _ float64) {
		if rows > 20 {
			cancel()
		}
	}}
	_, err := Choose(ctx, m.NewSession(), []int{1}, fewTokens, []string{"abcabcabc", "bcabcabca"}, o)
	if !errors.Is(err, context.Canceled) || m.CacheBytes() != 0 {
		t.Errorf("cancelled: %v, %d bytes in use", err, m.CacheBytes())
	}
}
