package search

// Exact draws have the distribution of texts without the form, given that they are of it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/dev/texts"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// oneOf is the form of some texts, over fewTokens.
type oneOf struct {
	all   []string
	text  string
	ended bool
}

func (f *oneOf) Mask(open []uint64) error {
	clear(open)
	for id := range fewTokens {
		if fork := f.Fork(); fork.Accept(id) == nil {
			open[id>>6] |= 1 << (id & 63)
		}
	}
	return nil
}

func (f *oneOf) Accept(id int) error {
	begins := func(s string) bool { return strings.HasPrefix(s, f.text+fewTokens[id]) }
	switch {
	case !f.ended && id == fewEnd && f.Complete():
		f.ended = true
	case !f.ended && fewTokens[id] != "" && slices.ContainsFunc(f.all, begins):
		f.text += fewTokens[id]
	default:
		return errors.New("not open")
	}
	return nil
}

func (f *oneOf) Rewind(int) error        { return errors.New("not needed") }
func (f *oneOf) Fork() constrain.Matcher { g := *f; return &g }
func (f *oneOf) Complete() bool          { return slices.Contains(f.all, f.text) }

// options is what a judge of its own knows of the options of a text.
func (b *brute) weights(after []int, temperature float64, topK int) []float64 {
	logs := slices.Clone(b.logProbs(after))
	sorted := slices.Clone(logs)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	sum := 0.0
	for id, x := range logs {
		if logs[id] = 0; topK == 0 || x >= sorted[topK-1] {
			logs[id] = math.Exp(x / temperature)
		}
		sum += logs[id]
	}
	for id := range logs {
		logs[id] /= sum
	}
	return logs
}

// every text of the form that ends within n tokens, and how likely it is without the form.
func (b *brute) fitting(
	form constrain.Matcher, after []int, p float64, n int, temperature float64, topK int,
	into map[string]float64,
) {
	if n == 0 {
		return
	}
	weights := b.weights(after, temperature, topK)
	for id, w := range weights {
		fork := form.Fork()
		if w == 0 || fork.Accept(id) != nil {
			continue
		}
		next := append(slices.Clone(after), id)
		if id == fewEnd {
			into[fmtInts(next)] = p * w
			continue
		}
		b.fitting(fork, next, p*w, n-1, temperature, topK, into)
	}
}

func TestExactDrawsAreThoseOfTheTextsThatFit(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	forms, draws := cases.Sized(6, 30), cases.Of(3000, 20000)
	m := tiny(t, fixture.Options{})
	for i := range forms {
		b := newBrute(t, m, []int{r.IntN(28)}, fewTokens)
		o := decode.Options{EndOfText: []int{fewEnd}, MaxTokens: 2 + i%3}
		o.Temperature = []float64{1, 0.8, 1.5}[r.IntN(3)]
		if i%4 == 1 {
			o.TopK = 18
		}
		o.Constraint = &twoLetters{}
		if i%2 == 0 {
			form := &oneOf{}
			for range 2 + r.IntN(5) {
				text := ""
				for range 1 + r.IntN(4) {
					text += string("abcd"[r.IntN(4)])
				}
				form.all = append(form.all, text)
			}
			o.Constraint = form
		}
		want, all := map[string]float64{}, 0.0
		b.fitting(o.Constraint, nil, 1, o.MaxTokens, o.Temperature, o.TopK, want)
		for _, p := range want {
			all += p
		}
		e, err := newExact(t.Context(), m.NewSession(), b.prompt, ExactOptions{}, o)
		if err != nil {
			t.Fatal(err)
		}
		came := map[string]int{}
		for seed := range draws {
			ids, _, err := e.draw(t.Context(), uint64(seed))
			if len(want) == 0 {
				var none *AcceptanceError
				if !errors.As(err, &none) {
					t.Fatalf("no text fits, but %v, %v", ids, err)
				}
				break
			}
			if err != nil {
				t.Fatalf("form %d: %v", i, err)
			}
			if came[fmtInts(ids)]++; want[fmtInts(ids)] == 0 {
				t.Fatalf("%v was drawn, which cannot be", ids)
			}
		}
		e.end()
		if len(want) == 0 {
			continue
		}
		// Cells that expect less than 5 are one.
		square, cells, few, fewCame := 0.0, 0, 0.0, 0
		add := func(expected float64, n int) {
			square += (float64(n) - expected) * (float64(n) - expected) / expected
			cells++
		}
		for text, p := range want {
			if expected := p / all * float64(draws); expected < 5 {
				few, fewCame = few+expected, fewCame+came[text]
			} else {
				add(expected, came[text])
			}
		}
		if few >= 5 {
			add(few, fewCame)
		}
		if free := float64(cells - 1); square > free+5*math.Sqrt(2*free+1) {
			t.Errorf("form %d: chi-square %.1f of %v free cells", i, square, free)
		}
	}
	if m.CacheBytes() != 0 {
		t.Errorf("%d bytes of the cache are in use", m.CacheBytes())
	}
}

// The shares of choices are what Choose says. A mask alone would give the third a third.
func TestExactChoicesOfGPT2sVocabulary(t *testing.T) {
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	prompt, err := tok.Encode("Tom was very")
	if err != nil {
		t.Fatal(err)
	}
	choices := []string{" happy.", " sad.", " happy and sad."}
	p, err := Choose(t.Context(), m.NewSession(), prompt, tok, choices, ChooseOptions{End: true})
	if err != nil {
		t.Fatal(err)
	}
	o := decode.Options{Vocabulary: tok}
	o.Temperature = 1
	o.Constraint = form(t, func(v *constrain.Vocabulary) (*constrain.Constraint, error) {
		return constrain.Choice(v, choices...)
	})
	const n = 400
	came := map[string]int{}
	e, err := newExact(t.Context(), m.NewSession(), prompt, ExactOptions{}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.end()
	for seed := range uint64(n) {
		ids, _, err := e.draw(t.Context(), seed)
		if err != nil {
			t.Fatal(err)
		}
		text, err := tok.Decode(ids[:len(ids)-1])
		if err != nil {
			t.Fatal(err)
		}
		came[text]++
	}
	for _, c := range p.Choices {
		want := c.Prob * n
		if got := float64(came[c.Text]); math.Abs(got-want) > 4*math.Sqrt(want+1)+n*p.Unseen {
			t.Errorf("%q came %v times of %d, want about %.1f", c.Text, got, n, want)
		}
	}
}

// A sample is the text that its seed gives alone, whatever the threads, with the tokens that
// Generate would give for it; and the session ends as Generate leaves it.
func TestExactSamplesAreTheirSeeds(t *testing.T) {
	cases.NotShort(t)
	tok := tokenizer.GPT2()
	prompt, err := tok.Encode("The cat")
	if err != nil {
		t.Fatal(err)
	}
	o := decode.Options{OpenMass: true, Vocabulary: tok, MaxTokens: 6, Constraint: regex(t, `.{1,30}`), Params: sample.Params{
		Temperature: 1, TopK: 40, Seed: 9}, EndOfText: []int{13}}
	const n = 3
	var want []string
	for threads := 1; threads <= 2; threads++ {
		m := testmodel.Demo(t, model.Options{Threads: threads})
		for i, tokens := range texts.BySample(t, Exact(t.Context(), m.NewSession(), prompt,
			ExactOptions{Samples: n, MaxDraws: 5000}, o), n) {
			got := fmt.Sprint(tokens)
			if len(want) < n {
				want = append(want, got)
			}
			one, s := o, m.NewSession()
			one.Seed += uint64(i)
			var alone []decode.Token
			for token, err := range Exact(t.Context(), s, prompt, ExactOptions{MaxDraws: 5000}, one) {
				if err != nil {
					t.Fatal(err)
				}
				alone = append(alone, token)
			}
			if got != want[i] || fmt.Sprint(alone) != got {
				t.Errorf("sample %d: %s, alone %v, want %s", i, got, alone, want[i])
			}
			for _, token := range tokens { // the form takes nearly all
				if token.Open < 0.5 || token.Open > 1 || token.Open < math.Exp(token.LogProb) {
					t.Errorf("sample %d: open mass %v of a token of %v", i, token.Open, token.LogProb)
				}
			}
			last := tokens[len(tokens)-1]
			if last.Finish != decode.FinishEndOfText || s.Len() != len(prompt)+len(tokens)-1 {
				t.Errorf("sample %d ends with %q, the session holds %d", i, last.Finish, s.Len())
			}
			s.Release()
		}
	}
}

func TestExactDrawsThatCannotBe(t *testing.T) {
	m := tiny(t, fixture.Options{})
	o := decode.Options{EndOfText: []int{fewEnd}, MaxTokens: 4, Constraint: &oneOf{all: []string{"abab"}}}
	o.Temperature = 1
	with := func(change func(*decode.Options)) decode.Options {
		changed := o
		change(&changed)
		return changed
	}
	for want, o := range map[string]decode.Options{
		"temperature 0: want more":          with(func(o *decode.Options) { o.Temperature = 0 }),
		"XTC probability 0.5: want 0":       with(func(o *decode.Options) { o.XTCProbability = 0.5 }),
		"mirostat":                          with(func(o *decode.Options) { o.Mirostat.Version = 2; o.Mirostat.Tau = 5; o.Mirostat.Eta = 0.1 }),
		"stop string: want none":            with(func(o *decode.Options) { o.Stop = []string{"a"} }),
		"banned strings: want none":         with(func(o *decode.Options) { o.Ban = []string{"a"} }),
		"want an id that ends texts":        with(func(o *decode.Options) { o.EndOfText = []int{} }),
		"want a form, found none":           with(func(o *decode.Options) { o.Constraint = nil }),
		`overflow "slide": want "error"`:    with(func(o *decode.Options) { o.Overflow = decode.OverflowSlide }),
		"echo":                              with(func(o *decode.Options) { o.Echo = decode.EchoPrompt }),
		"found none that the options allow": with(func(o *decode.Options) { o.MaxTokens = 1 }),
	} {
		var err error
		for _, failed := range Exact(t.Context(), m.NewSession(), []int{1}, ExactOptions{}, o) {
			err = failed
		}
		if err == nil || !strings.Contains(err.Error(), want) || m.CacheBytes() != 0 {
			t.Errorf("%v, want %s; %d bytes in use", err, want, m.CacheBytes())
		}
	}
	var none *AcceptanceError
	for _, err := range Exact(t.Context(), m.NewSession(), []int{1}, ExactOptions{MaxDraws: 1}, o) {
		if !errors.As(err, &none) || none.Draws != 1 || none.Fit <= 0 || none.Fit > 0.5 {
			t.Errorf("one draw: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range Exact(ctx, m.NewSession(), []int{1}, ExactOptions{}, o) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}
