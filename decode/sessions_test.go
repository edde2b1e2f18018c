package decode

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/weights/demo"
)

// open returns a model of a checkpoint's bytes.
func open(t testing.TB, config, file []byte, threads int) *model.Model {
	t.Helper()
	return testmodel.New(t, config, file, model.Options{Threads: threads})
}

// tiny returns a random model with a context of 23 and 29 ids.
func tiny(t testing.TB, o fixture.Options) *model.Model {
	t.Helper()
	config, file := fixture.Checkpoint(o)
	return open(t, config, file, 1)
}

// collect generates to the end.
func collect(t testing.TB, s *model.Session, prompt []int, o Options) []Token {
	t.Helper()
	var tokens []Token
	for tok, err := range Generate(context.Background(), s, prompt, o) {
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, tok)
	}
	return tokens
}

func TestGreedyTellsTheStoriesThatPyTorchTells(t *testing.T) {
	stories, err := fixture.TinyStories()
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, demo.Config(), demo.Weights(), 0)
	for _, g := range stories.Greedy {
		want := g.IDs[:min(24, len(g.IDs))]
		if got := ids(collect(t, m.NewSession(), g.PromptIDs,
			Options{MaxTokens: len(want)})); !slices.Equal(got, want) {
			t.Errorf("%q goes on %v, want %v", g.Prompt, got, want)
		}
	}
}

// TestASeedIsAPromise compares the tokens of a few seeds with recorded ones, so that it fails if
// another machine or build changes them.
func TestASeedIsAPromise(t *testing.T) {
	o := Options{MaxTokens: 12, Params: sample.Params{Temperature: 0.8, TopK: 40, TopP: 0.98,
		MinP: 0.01, RepeatPenalty: 1.1, RepeatLastN: 64, Seed: 1}}
	want := [][]int{
		// " there was a girl called …"
		{612, 373, 257, 2576, 1444, 40355, 13, 1375, 550, 257, 1263, 16225},
		// ", there was a little boy named …"
		{11, 612, 373, 257, 1310, 2933, 3706, 5045, 1820, 13, 5045, 1820},
		// ", there was a little girl named Lily. …"
		{11, 612, 373, 257, 1310, 2576, 3706, 20037, 13, 1375, 6151, 284},
	}
	m := open(t, demo.Config(), demo.Weights(), 0)
	for i := range want {
		o.Seed = uint64(1 + i)
		if got := ids(collect(t, m.NewSession(), []int{7454, 2402, 257, 640},
			o)); !slices.Equal(got, want[i]) {
			t.Errorf("seed %d: %v, want %v", o.Seed, got, want[i])
		}
	}
}

func TestBreakLeavesTheSessionReadyToGoOn(t *testing.T) {
	m := tiny(t, fixture.Options{})
	want := ids(collect(t, m.NewSession(), []int{9, 8, 7}, Options{MaxTokens: 15}))

	s := m.NewSession()
	var got []int
	for tok, err := range Generate(context.Background(), s, []int{9, 8, 7}, Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, tok.ID); len(got) == 6 {
			break
		}
	}
	if s.Len() != 3+6-1 {
		t.Errorf("the session holds %d tokens after a break at the sixth new one, want 8", s.Len())
	}
	got = append(got, ids(collect(t, s, got[5:], Options{MaxTokens: 9}))...)
	if !slices.Equal(got, want) {
		t.Errorf("in two parts %v, in one %v", got, want)
	}

	s.Truncate(3) // the logits are gone, the tokens are not
	if got := ids(collect(t, s, nil, Options{MaxTokens: 15})); !slices.Equal(got, want) {
		t.Errorf("after Truncate and without a prompt %v, want %v", got, want)
	}
}

func TestACancelledContextEndsTheTextAndSparesTheSession(t *testing.T) {
	m := tiny(t, fixture.Options{})
	prompt := []int{1, 2, 3}
	// 21 new tokens after 3 fill the context of 23: the next evaluation slides
	for _, at := range []int{1, 5, 21} {
		ctx, cancel := context.WithCancel(context.Background())
		s := m.NewSession()
		var got []int
		var last error
		for tok, err := range Generate(ctx, s, prompt, Options{Overflow: OverflowSlide}) {
			if last = err; err == nil {
				if got = append(got, tok.ID); len(got) == at {
					cancel()
				}
			}
		}
		if !errors.Is(last, context.Canceled) || len(got) != at {
			t.Errorf("cancelled at %d: %d tokens, error %v", at, len(got), last)
		}
		if want := slices.Concat(prompt, got[:at-1]); !slices.Equal(s.Tokens(), want) {
			t.Errorf("cancelled at %d: the session holds %v, want %v", at, s.Tokens(), want)
		}
		want := collect(t, m.NewSession(), prompt,
			Options{Overflow: OverflowSlide, MaxTokens: at + 1})[at]
		next := collect(t, s, got[at-1:], Options{Overflow: OverflowSlide, MaxTokens: 1})[0]
		if next.ID != want.ID {
			t.Errorf("cancelled at %d, then on: %v, want %v", at, next, want)
		}
		cancel()
	}
}

func TestAFailedSlideLeavesTheSessionItsTokens(t *testing.T) {
	m := tiny(t, fixture.Options{})
	s := m.NewSession()
	o := Options{MaxTokens: 30, Overflow: OverflowSlide}
	st, err := NewStream(s, upTo(0, 22), o)
	if err != nil {
		t.Fatal(err)
	}
	for held := 0; ; held = s.Len() {
		in, _ := st.Input(0)
		if in.Session != s { // the slide
			break
		}
		if held > 23 {
			t.Fatal("the context did not slide")
		}
		if err := m.Eval(context.Background(), in); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := st.Next(); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	want := slices.Clone(s.Tokens())
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		in, _ := st.Input(0)
		if err := m.Eval(ctx, in); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, ok, err := st.Next(); ok || err != nil {
			t.Fatalf("a token after a failed evaluation: %v, %v", ok, err)
		}
	}
	if len(want) != 23 || !slices.Equal(s.Tokens(), want) || s.Logits() == nil {
		t.Errorf("the session holds %v, want %v and its logits", s.Tokens(), want)
	}
	in, _ := st.Input(4)
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	if st.Stop(); in.Session.Bytes() != 0 {
		t.Errorf("a slide that was given up keeps %d bytes", in.Session.Bytes())
	}
}

func TestAnEmptyPromptAfterTokensNeedsNoEvaluation(t *testing.T) {
	m := tiny(t, fixture.Options{})
	s := m.NewSession()
	if err := m.Eval(context.Background(), model.Input{Session: s,
		Tokens: []int{1, 2}}); err != nil {
		t.Fatal(err)
	}
	want := kernels.Argmax(s.Logits())
	st, err := NewStream(s, nil, Options{MaxTokens: 1})
	if err != nil {
		t.Fatal(err)
	}
	if in, ok := st.Input(0); ok {
		t.Errorf("%v is to be evaluated, want nothing", in.Tokens)
	}
	if tok, ok, err := st.Next(); tok.ID != want || !ok || err != nil {
		t.Errorf("%v, %v, %v; want id %d", tok, ok, err, want)
	}
}

func TestTheContextsErrorIsTheModels(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for name, c := range map[string]struct{ prompt, max int }{"a long prompt": {24, 0},
		"many new tokens": {4, 21}} {
		s := m.NewSession()
		for _, err := range Generate(context.Background(), s, make([]int, c.prompt),
			Options{MaxTokens: c.max}) {
			var full *model.ContextError
			if !errors.As(err, &full) || full.Positions != 23 || s.Len() != 0 {
				t.Errorf("%s: %v, and the session holds %d tokens", name, err, s.Len())
			}
		}
	}
}

// TestTheConfigsIdsCountWhereTheVocabularyHasThem covers configs as nano-sort's, which name GPT-2's
// 50256 by default.
func TestTheConfigsIdsCountWhereTheVocabularyHasThem(t *testing.T) {
	for _, c := range []struct {
		config map[string]any
		first  int
		end    []int
	}{
		{nil, -1, nil}, // the defaults, 50256, are not among 29 ids
		{map[string]any{"bos_token_id": 7}, 7, nil},
		{map[string]any{"bos_token_id": 7, "eos_token_id": 0}, 7, []int{0}},
		{map[string]any{"bos_token_id": 29, "eos_token_id": 28}, 28, []int{28}},
		{map[string]any{"bos_token_id": nil, "eos_token_id": []int{50256, 4, 5}}, 4, []int{4, 5}},
	} {
		m := tiny(t, fixture.Options{Config: c.config})
		l := limitsOf(m.Config(), m.Leaves(), &Options{})
		if l.first != c.first || !slices.Equal(l.endOfText, c.end) || l.context != 23 ||
			l.vocabulary != 29 {
			t.Errorf("%v: %+v, want first %d, end of text %v", c.config, l, c.first, c.end)
		}
		if l := limitsOf(m.Config(), m.Leaves(), &Options{EndOfText: []int{}}); len(l.endOfText) != 0 {
			t.Errorf("%v: end of text %v where none was asked for", c.config, l.endOfText)
		}
	}
}

func TestATokenAllocatesNothing(t *testing.T) {
	m := open(t, demo.Config(), demo.Weights(), 2)
	o := Options{EndOfText: []int{}, Params: sample.Params{Temperature: 0.8, TopK: 40}}
	pull, stop := iter.Pull2(Generate(context.Background(), m.NewSession(), []int{7454}, o))
	defer stop()
	step := func() { pull() }
	step()
	// Pages of the cache and the list of tokens grow now and then, so the median, not the mean.
	var allocs []float64
	for range 21 {
		allocs = append(allocs, testing.AllocsPerRun(1, step))
	}
	if slices.Sort(allocs); allocs[10] != 0 {
		t.Errorf("%v allocations a token, want 0", allocs)
	}
}

func BenchmarkGenerateDemo(b *testing.B) {
	m := open(b, demo.Config(), demo.Weights(), 0)
	o := Options{MaxTokens: 100, EndOfText: []int{}, Params: sample.Params{Temperature: 0.8,
		TopK: 40}}
	for b.Loop() {
		o.Seed++
		collect(b, m.NewSession(), []int{7454, 2402, 257, 640}, o)
	}
	b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "tokens/s")
}
