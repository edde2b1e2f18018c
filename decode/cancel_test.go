package decode_test

// Sessions can continue however a generation ended: by a cancelled context at every moment, a
// break, an error.

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "picogpt/decode" // as the other tests of this package
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/sample"
)

// disturbed generates until the end, an error, or the token for which disturb returns false.
func disturbed(ctx context.Context, s *model.Session, prompt []int, o Options,
	disturb func(n int) bool) (y yielded) {
	for tok, err := range Generate(ctx, s, prompt, o) {
		if err != nil {
			y.Err = err
			continue
		}
		y.IDs, y.Finish = append(y.IDs, tok.ID), tok.Finish
		if !disturb(len(y.IDs)) {
			break
		}
	}
	return y
}

// undisturbed lets a generation run to its end.
func undisturbed(int) bool { return true }

// expiring is a context that is cancelled when it is checked for the n-th time.
type expiring struct {
	context.Context
	looks int
}

func (e *expiring) Err() error {
	if e.looks--; e.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestACancelAtAnyLookAtTheContextRepeatsNoToken cancels at each of the moments at which the
// context is checked.
func TestACancelAtAnyLookAtTheContextRepeatsNoToken(t *testing.T) {
	cases.NotShort(t)
	m := tiny(t, fixture.Options{})
	prompt := []int{3, 1, 4}
	for name, o := range endings() {
		t.Run(name, func(t *testing.T) {
			want := collect(t, m.NewSession(), prompt, o)
			for looks := 0; ; looks++ {
				s := m.NewSession()
				ctx := &expiring{context.Background(), looks}
				y := disturbed(ctx, s, prompt, o, undisturbed)
				checkGoesOn(t, s, prompt, y, o, want)
				if y.Err == nil {
					break
				}
			}
		})
	}
}

// TestRandomDisturbancesRepeatNoToken cancels from another goroutine and inside the loop, lets
// deadlines pass, and breaks, at random moments.
func TestRandomDisturbancesRepeatNoToken(t *testing.T) {
	m := tiny(t, fixture.Options{})
	rounds := sized(60, 10_000)
	for name, o := range endings() {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(len(name))))
			prompt := make([]int, 1+random.IntN(8))
			want := collect(t, m.NewSession(), prompt, o)
			start := time.Now()
			collect(t, m.NewSession(), prompt, o)
			whole := time.Since(start)
			for range rounds {
				s := m.NewSession()
				moment := time.Duration(random.Int64N(int64(whole) + 1))
				at := 1 + random.IntN(len(want))
				ctx, cancel := context.WithCancel(context.Background())
				ways := []func(n int) bool{
					undisturbed, // a cancel from another goroutine
					undisturbed, // a deadline
					func(n int) bool { return n < at },
					func(n int) bool {
						if n == at {
							cancel()
						}
						return true
					},
				}
				way := random.IntN(len(ways))
				switch way {
				case 0:
					defer time.AfterFunc(moment, cancel).Stop()
				case 1:
					cancel()
					ctx, cancel = context.WithTimeout(context.Background(), moment)
				}
				y := disturbed(ctx, s, prompt, o, ways[way])
				cancel()
				if y.Err != nil && y.Err != ctx.Err() {
					t.Fatal(y.Err)
				}
				checkGoesOn(t, s, prompt, y, o, want)
			}
		})
	}
}

// TestAnEmptyPromptGoesOnAfterACancel continues the tokens of a session, with its logits and
// without.
func TestAnEmptyPromptGoesOnAfterACancel(t *testing.T) {
	m := tiny(t, fixture.Options{})
	o := Options{MaxTokens: 6}
	for _, truncated := range []bool{false, true} {
		start := func() *model.Session {
			s := m.NewSession()
			in := model.Input{Session: s, Tokens: []int{5, 6, 7, 8}}
			if err := m.Eval(context.Background(), in); err != nil {
				t.Fatal(err)
			}
			if truncated {
				s.Truncate(3)
			}
			return s
		}
		held := slices.Clone(start().Tokens())
		want := collect(t, start(), nil, o)
		for looks := 0; ; looks++ {
			s := start()
			ctx := &expiring{context.Background(), looks}
			y := disturbed(ctx, s, nil, o, undisturbed)
			if len(y.IDs) == 0 {
				if !slices.Equal(s.Tokens(), held) {
					t.Fatalf("no token came and the session holds %v, want %v", s.Tokens(), held)
				}
				checkTokens(t, collect(t, s, nil, o), want)
				continue
			}
			checkGoesOn(t, s, held, y, o, want)
			if y.Err == nil {
				break
			}
		}
	}
}

func checkTokens(t *testing.T, got, want []Token) {
	t.Helper()
	if !slices.Equal(ids(got), ids(want)) {
		t.Fatalf("%v, want %v", ids(got), ids(want))
	}
}

// TestSamplesEndWithTheSessionAfterThePrompt cancels Samples at each check of the context: the
// session holds the prompt or nothing, and the next Samples gives the texts of an undisturbed one.
func TestSamplesEndWithTheSessionAfterThePrompt(t *testing.T) {
	m := tiny(t, fixture.Options{})
	prompt := []int{3, 1, 4}
	o := Options{MaxTokens: 4, Params: sample.Params{Temperature: 1.2, Seed: 7}}
	const n = Together + 2
	draw := func(ctx context.Context, s *model.Session, prompt []int,
		disturb func(n int) bool) (got []Token, err error) {
		for tok, e := range Samples(ctx, s, prompt, n, o) {
			if err = e; e == nil {
				if got = append(got, tok); !disturb(len(got)) {
					break
				}
			}
		}
		return got, err
	}
	first := m.NewSession()
	want, err := draw(context.Background(), first, prompt, undisturbed)
	if err != nil || len(want) != n*o.MaxTokens {
		t.Fatalf("%d tokens, %v", len(want), err)
	}
	if held := first.Bytes(); m.CacheBytes() != held {
		t.Errorf("%d bytes of cache when the samples are done, want %d of the prompt",
			m.CacheBytes(), held)
	}
	check := func(s *model.Session, got []Token) {
		t.Helper()
		rest := prompt
		if len(got) > 0 {
			rest = nil
		}
		if len(got) > 0 && !slices.Equal(s.Tokens(), prompt) || len(got) == 0 && s.Len() > 0 {
			t.Fatalf("after %d tokens the session holds %v", len(got), s.Tokens())
		}
		again, err := draw(context.Background(), s, rest, undisturbed)
		if err != nil || !same(again, want) {
			t.Fatalf("after %d tokens and once more: %v, %v; want %v", len(got), again, err, want)
		}
	}
	for looks := 0; ; looks++ {
		s := m.NewSession()
		got, err := draw(&expiring{context.Background(), looks}, s, prompt, undisturbed)
		check(s, got)
		if err == nil {
			break
		}
	}
	for at := 1; at <= len(want); at += 5 {
		s := m.NewSession()
		got, _ := draw(context.Background(), s, prompt, func(n int) bool { return n < at })
		check(s, got)
	}
}

// TestSamplesOfOneTokenAreCancelledBetweenTheirBatches covers samples that need no evaluation after
// the prompt.
func TestSamplesOfOneTokenAreCancelledBetweenTheirBatches(t *testing.T) {
	m := tiny(t, fixture.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n, last := 0, error(nil)
	for _, err := range Samples(ctx, m.NewSession(), []int{1}, 1000, Options{MaxTokens: 1}) {
		n, last = n+1, err
		cancel()
	}
	if !errors.Is(last, context.Canceled) || n > Together+1 {
		t.Errorf("%d tokens and %v after a cancel at the first, want at most %d and the cancel",
			n, last, Together)
	}
}

// TestATokenThatCannotBeChosenLeavesTheOneBeforeToBeGivenAgain makes the choice of each token of a
// text fail, also where the context slides.
func TestATokenThatCannotBeChosenLeavesTheOneBeforeToBeGivenAgain(t *testing.T) {
	m := tiny(t, fixture.Options{})
	prompt := []int{3, 1, 4}
	o := Options{MaxTokens: 45, Overflow: OverflowSlide, Params: sample.Params{RepeatPenalty: 1.3}}
	o.Vocabulary = letters(29)
	want := collect(t, m.NewSession(), prompt, o)
	failed := map[int]bool{}
	for id := range 29 {
		s := m.NewSession()
		spoilt := o
		spoilt.Vocabulary = forgetful{Letters: 29, ID: id}
		y := disturbed(context.Background(), s, prompt, spoilt, undisturbed)
		checkGoesOn(t, s, prompt, y, o, want)
		failed[len(y.IDs)] = y.Err != nil
	}
	slides := 0
	for i, tok := range want {
		if tok.Dropped > 0 && failed[i] {
			slides++
		}
	}
	if !failed[0] || slides == 0 || len(failed) < 10 {
		t.Errorf("failures after %v tokens, %d of them after a slide: this test wants more variety",
			failed, slides)
	}
}
