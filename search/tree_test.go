package search

// The likeliest texts are those of an exhaustive search, and bounds hold for all others.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/tokenizer"
)

// An every is a text of an exhaustive search.
type every struct {
	ids []int
	log float64
}

// everyText lists all texts of at most n of the ids 0 to 28, of which fewEnd ends one, that a form
// takes: nil takes all.
func (b *brute) everyText(n int, form *regexp.Regexp) (all []every) {
	var follow func(after []int, log float64)
	take := func(ids []int, log float64) {
		text := ""
		for _, id := range ids {
			text += string(b.tokens[id])
		}
		if form == nil || form.MatchString(text) {
			all = append(all, every{slices.Clone(ids), log})
		}
	}
	follow = func(after []int, log float64) {
		logs := b.logProbs(after)
		for id := range 29 {
			next := append(slices.Clone(after), id)
			switch p := log + logs[id]; {
			case form != nil && id != fewEnd && len(b.tokens[id]) == 0: // ids without bytes
			case id == fewEnd || len(next) == n:
				take(next, p)
			default:
				follow(next, p)
			}
		}
	}
	follow(nil, 0)
	slices.SortFunc(all, func(a, b every) int { return cmp.Compare(b.log, a.log) })
	return all
}

// checkTree compares the texts of a tree with those of an exhaustive search.
func (b *brute) checkTree(o TreeOptions, all []every) {
	b.t.Helper()
	o.EndOfText = []int{fewEnd}
	tree, err := NewTree(b.t.Context(), b.m.NewSession(), b.prompt, o)
	if err != nil {
		b.t.Fatal(err)
	}
	defer tree.Close()
	want := all
	if o.MinProb > 0 {
		want = want[:slices.IndexFunc(append(want, every{nil, math.Inf(-1)}), func(e every) bool {
			return e.log < math.Log(o.MinProb)
		})]
	}
	if o.Top > 0 {
		want = want[:min(len(want), o.Top)]
	}
	i, seen := 0, 0.0
	sum := 0.0
	for _, e := range all {
		sum += math.Exp(e.log)
	}
	for text, err := range tree.Texts(b.t.Context()) {
		if err != nil {
			b.t.Fatal(err)
		}
		var ids []int
		log := 0.0
		for _, token := range text.Tokens {
			ids, log = append(ids, token.ID), log+token.LogProb
		}
		if i >= len(want) || !slices.Equal(ids, want[i].ids) || math.Abs(text.LogProb-want[i].log) > 1e-11 ||
			math.Abs(log-text.LogProb) > 1e-11 {
			b.t.Fatalf("%+v: text %d of %d is %v, %v, want %v", o, i, len(want), ids, text.LogProb,
				want[min(i, len(want)-1)])
		}
		next := 0.0
		if i++; i < len(all) {
			next = math.Exp(all[i].log)
		}
		seen += math.Exp(text.LogProb)
		if text.Rest < next*(1-1e-11) || text.Rest > math.Exp(text.LogProb)*(1+1e-11) {
			b.t.Fatalf("%+v: after text %d at most %v are left, but %v is", o, i, text.Rest, next)
		}
		if text.Unseen < (sum-seen)*(1-1e-9)-1e-12 {
			b.t.Fatalf("%+v: after text %d %v is unseen, want at least %v", o, i, text.Unseen, sum-seen)
		}
	}
	if i != len(want) {
		b.t.Fatalf("%+v: %d texts, want %d", o, i, len(want))
	}
}

func TestTreesAreExhaustiveSearches(t *testing.T) {
	cases.NotShort(t)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range cases.Sized(6, 60) {
		m := tiny(t, fixture.Options{Seed: uint64(i)})
		b := newBrute(t, m, []int{r.IntN(28), r.IntN(28)}, fewTokens)
		n := 1 + r.IntN(3)
		all := b.everyText(n, nil)
		for _, o := range []TreeOptions{{Top: 20}, {Top: 1}, {MinProb: 0.01}, {MinProb: 0.001, Top: 7},
			{MinProb: all[len(all)/10].prob() * (1 - 1e-9)}} {
			if o.MaxTokens = n; o.MinProb == 0 || i%2 == 0 {
				o.Budget = 10000
			}
			b.checkTree(o, all)
		}
		for _, top := range []int{1, 15} { // one letter may be the likeliest, and is refused
			b.checkTree(TreeOptions{Top: top, MaxTokens: n, Budget: 10000, Constraint: &twoLetters{}},
				b.everyText(n, regexp.MustCompile("^[ab]{2,}$")))
		}
	}
}

func (e every) prob() float64 { return math.Exp(e.log) }

// twoLetters is the form of two or more of a and b.
type twoLetters struct {
	ids   []int
	bytes int
}

func (f *twoLetters) Mask(open []uint64) error {
	clear(open)
	for id := range fewTokens {
		if fork := f.Fork(); fork.Accept(id) == nil {
			open[id>>6] |= 1 << (id & 63)
		}
	}
	return nil
}

func (f *twoLetters) Accept(id int) error {
	ended := slices.Contains(f.ids, fewEnd)
	if ended || id == fewEnd && f.bytes < 2 ||
		id != fewEnd && (fewTokens[id] == "" || strings.Trim(fewTokens[id], "ab") != "") {
		return errors.New("not open")
	}
	f.ids, f.bytes = append(slices.Clip(f.ids), id), f.bytes+len(fewTokens[id])
	return nil
}

func (f *twoLetters) Rewind(int) error        { return errors.New("not needed") }
func (f *twoLetters) Fork() constrain.Matcher { g := *f; return &g }
func (f *twoLetters) Complete() bool          { return f.bytes >= 2 }

// Texts of GPT-2's vocabulary: each is scored by itself, fits its form, and is followed by less
// likely ones.
func TestTreesOfGPT2sVocabulary(t *testing.T) {
	cases.NotShort(t)
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	prompt, err := tok.Encode("The cat")
	if err != nil {
		t.Fatal(err)
	}
	b := newBrute(t, m, prompt, tok)
	const re = `( [a-z]{2,5}){1,2}[.,]`
	for _, o := range []TreeOptions{
		{Top: 20, MaxTokens: 3},
		{MinProb: 0.005, MaxTokens: 4},
		{MinProb: 0.05},
		{Top: 5, MaxTokens: 6, Constraint: regex(t, re)},
	} {
		if o.Vocabulary = tok; o.MinProb == 0 {
			o.Budget = 1000
		}
		tree, err := NewTree(t.Context(), m.NewSession(), prompt, o)
		if err != nil {
			t.Fatal(err)
		}
		n, last, sum := 0, math.Inf(1), 0.0
		for text, err := range tree.Texts(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			var after []int
			log, written, finish := 0.0, "", ""
			for _, token := range text.Tokens {
				log += b.logProbs(after)[token.ID]
				after, written, finish = append(after, token.ID), written+token.Text, token.Finish
			}
			if math.Abs(log-text.LogProb) > 1e-10 || text.LogProb > last {
				t.Errorf("%q: %v, scored %v, after %v", written, text.LogProb, log, last)
			}
			if o.Constraint != nil && !regexp.MustCompile("^"+re+"$").MatchString(written) ||
				(finish == decode.FinishLength) != (len(after) == o.MaxTokens && after[len(after)-1] != 50256) {
				t.Errorf("%q: finish %q", written, finish)
			}
			if o.Budget == 0 && text.Rest > math.Exp(text.LogProb)*(1+1e-12) {
				t.Errorf("%q: order not proven: %v are left", written, text.Rest)
			}
			n, last, sum = n+1, text.LogProb, sum+math.Exp(log)
		}
		if n < 3 && o.MinProb != 0.05 || n > 20 && o.Top > 0 {
			t.Errorf("%+v: %d texts", o, n)
		}
		if all := sum + tree.Unseen(); o.Constraint == nil && math.Abs(all-1) > 1e-9 {
			t.Errorf("%d texts and what is unseen have %v together, want 1", n, all)
		}
		if o.Budget > 0 && tree.Rows() > o.Budget {
			t.Errorf("%d rows, want at most %d", tree.Rows(), o.Budget)
		}
		if tree.Close(); m.CacheBytes() != 0 {
			t.Errorf("%d bytes are in use", m.CacheBytes())
		}
	}
}

// A budget bounds what is evaluated and what waits. What it leaves out is in the bound.
func TestABudgetBoundsATree(t *testing.T) {
	cases.NotShort(t)
	m := tiny(t, fixture.Options{})
	b := newBrute(t, m, []int{3}, fewTokens)
	all := b.everyText(3, nil)
	last := 1.1
	for _, budget := range []int{1, 10, 40, 200, 1000} {
		tree, err := NewTree(t.Context(), m.NewSession(), []int{3},
			TreeOptions{Budget: budget, MaxTokens: 3, EndOfText: []int{fewEnd}})
		if err != nil {
			t.Fatal(err)
		}
		came, next := map[string]bool{}, 0
		for text, err := range tree.Texts(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if len(tree.inner) > budget || len(tree.leaves) > budget || len(tree.held) > mostHeld {
				t.Fatalf("budget %d: %d and %d wait, %d sessions", budget, len(tree.inner),
					len(tree.leaves), len(tree.held))
			}
			came[fmtIDs(text.Tokens)] = true
			for next < len(all) && came[fmtInts(all[next].ids)] {
				next++ // to the likeliest that has not come
			}
			if next < len(all) && all[next].prob() > text.Rest*(1+1e-11) {
				t.Fatalf("budget %d: %v is left, %v at most", budget, all[next].prob(), text.Rest)
			}
		}
		sum := tree.Unseen()
		for _, e := range all {
			if came[fmtInts(e.ids)] {
				sum += e.prob()
			}
		}
		if math.Abs(sum-1) > 1e-9 || tree.Rows() > budget || tree.Unseen() > last {
			t.Errorf("budget %d: %d texts and the rest have %v, %d rows, %v unseen", budget, len(came),
				sum, tree.Rows(), tree.Unseen())
		}
		last = tree.Unseen()
		tree.Close()
	}
}

func fmtIDs(tokens []decode.Token) string { return fmtInts(ids(tokens)) }

func fmtInts(list []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(list)), ","), "[]")
}

// A context that is cancelled loses nothing: another loop continues, and the texts are those of a
// loop that nobody ends.
func TestATreeContinues(t *testing.T) {
	cases.NotShort(t)
	var want []string
	for _, threads := range []int{1, 3} {
		m := testmodel.Demo(t, model.Options{Threads: threads})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tree, err := NewTree(t.Context(), m.NewSession(), []int{464, 3797},
			TreeOptions{Top: 15, MaxTokens: 4, Budget: 1500, Progress: func(rows int) {
				if rows > 100 && want != nil {
					cancel()
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for err = context.Canceled; err != nil; {
			err = nil
			for text, failed := range tree.Texts(ctx) {
				if err = failed; err != nil {
					break
				}
				got = append(got, fmt.Sprint(fmtIDs(text.Tokens), text.LogProb, text.Rest, text.Unseen))
			}
			if err != nil && (threads == 1 || !errors.Is(err, context.Canceled)) && ctx.Err() == nil {
				t.Fatal(err)
			}
			ctx = t.Context()
		}
		if tree.Close(); len(got) != 15 || want != nil && !slices.Equal(got, want) {
			t.Errorf("%d threads: %d texts, or others than with 1", threads, len(got))
		}
		want = got
	}
}

func TestTreesThatCannotBe(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for want, o := range map[string]TreeOptions{
		"least probability 0 and budget 0: want one": {},
		"least probability 1: want":                  {MinProb: 1},
		"least probability NaN: want":                {MinProb: math.NaN()},
		"top -1: want":                               {Top: -1, Budget: 1},
		"tokens -1: want":                            {MaxTokens: -1, Budget: 1},
		"budget -1: want":                            {Budget: -1},
		"constraint: too much":                       {Budget: 1, Constraint: refusing{}},
	} {
		_, err := NewTree(t.Context(), m.NewSession(), []int{1}, o)
		if err == nil || !strings.Contains(err.Error(), want) || m.CacheBytes() != 0 {
			t.Errorf("%v, want %s; %d bytes in use", err, want, m.CacheBytes())
		}
	}
}

// refusing is a form whose masks fail.
type refusing struct{}

func (refusing) Mask([]uint64) error     { return errors.New("too much") }
func (refusing) Accept(int) error        { return nil }
func (refusing) Rewind(int) error        { return nil }
func (refusing) Fork() constrain.Matcher { return refusing{} }
