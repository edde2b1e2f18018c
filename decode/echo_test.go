package decode_test

// Scored prompts: the numbers are those of an evaluation of the whole prompt, however it is
// evaluated.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	"picogpt/batch"
	. "picogpt/decode" // as the other tests of this package
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/sample"
)

// scoredPlainly returns the expected echo of prompt: each row of one Eval by itself.
func scoredPlainly(t *testing.T, m *model.Model, held, prompt []int, top int) (want []Token) {
	t.Helper()
	all := slices.Concat(held, prompt)
	want = make([]Token, len(all))
	want[0] = Token{ID: all[0], Prompt: true, LogProb: math.NaN()}
	in := model.Input{Session: m.NewSession(), Tokens: all, Visit: func(r model.Row) {
		if r.Index == len(all)-1 {
			return
		}
		id := all[r.Index+1]
		tok := Token{ID: id, Prompt: true, LogProb: sample.LogProb(r.Logits, id)}
		for _, best := range sample.Likeliest(r.Logits, top) {
			tok.Top = append(tok.Top,
				sample.Alternative{ID: best, LogProb: sample.LogProb(r.Logits, best)})
		}
		want[r.Index+1] = tok
	}}
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	return want[len(held):]
}

// wantEchoed returns the expected text with a scored prompt: the scores, and the text without.
func wantEchoed(t *testing.T, m *model.Model, held, prompt []int, o Options) []Token {
	t.Helper()
	dropped := 0
	if length := len(held) + len(prompt); o.Overflow == OverflowSlide && length > 23 {
		dropped = length - 11
	} else if o.Overflow == OverflowTruncate {
		dropped = max(0, length-(23-o.MaxTokens+1))
	}
	all := slices.Concat(held, prompt)[dropped:]
	n := min(len(prompt), len(all))
	want := scoredPlainly(t, m, all[:len(all)-n], all[len(all)-n:], o.Top)
	if want[0].Dropped = dropped; o.Echo == EchoOnly {
		want[n-1].Finish = FinishLength
		return named0(want, o)
	}
	s := m.NewSession()
	if len(held) > 0 {
		if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: held}); err != nil {
			t.Fatal(err)
		}
	}
	o.Echo, o.Lookup = EchoNone, 0
	text := collect(t, s, prompt, o)
	if text[0].Dropped -= dropped; text[0].Dropped != 0 {
		t.Fatalf("the text dropped %d tokens more than its prompt", text[0].Dropped)
	}
	return append(named0(want, o), text...)
}

// named0 gives alternatives their texts.
func named0(tokens []Token, o Options) []Token {
	for i := range tokens {
		tokens[i].Top = named(tokens[i].Top, o.Vocabulary)
	}
	return tokens
}

// unguessed clears Guessed in the tokens.
func unguessed(tokens []Token) []Token {
	for i := range tokens {
		tokens[i].Guessed = false
	}
	return tokens
}

func TestAPromptsTokensComeFirstWithTheirScores(t *testing.T) {
	m := tiny(t, fixture.Options{})
	prompts := [][]int{{7}, {3, 1, 4}, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}}
	held := [][]int{nil, {9, 8, 7, 9}}
	for name, o := range echoes() {
		all := prompts
		if o.Overflow != "" {
			all = append(all, upTo(0, 23), upTo(0, 27)) // as long as the context, and longer
		}
		for _, prompt := range all {
			for _, held := range held {
				want := wantEchoed(t, m, held, prompt, o)
				for _, truncated := range []bool{false, true} {
					s := m.NewSession()
					if len(held) > 0 {
						in := model.Input{Session: s, Tokens: append(slices.Clone(held), 5)}
						if !truncated {
							in.Tokens = held
						}
						if err := m.Eval(context.Background(), in); err != nil {
							t.Fatal(err)
						}
						s.Truncate(len(held))
					}
					if got := unguessed(collect(t, s, prompt, o)); !same(got, want) {
						t.Errorf("%s, %d tokens after %d: %v\nwant %v", name, len(prompt), len(held),
							got, want)
					}
					holds := slices.Concat(held, prompt)
					if o.Echo == EchoOnly && len(prompt) < 20 &&
						!slices.Equal(s.Tokens(), holds[:len(holds)-1]) {
						t.Errorf("%s: the session holds %v, want all but the last of %v", name,
							s.Tokens(), holds)
					}
				}
			}
		}
	}
}

func TestScoredPromptsInABatch(t *testing.T) {
	cases.NotShort(t)
	m := tiny(t, fixture.Options{})
	prompt := append([]int{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, upTo(6, 17)...) // 23, the context
	for _, delay := range []time.Duration{time.Nanosecond, 0} {
		b := batch.New(m, batch.Options{MaxStreams: 3, MaxDelay: delay})
		for name, o := range echoes() {
			for _, length := range []int{1, 2, 12, 23} {
				const n = 5
				if length > 12 && o.Overflow == "" {
					continue
				}
				prompt := prompt[:length]
				var want [][]Token
				for i := range n {
					o := o
					o.Seed += uint64(i)
					want = append(want, wantEchoed(t, m, nil, prompt, o))
				}
				for about, tokens := range map[string]iter.Seq2[Token, error]{
					"one in a batch":     b.Generate(context.Background(), prompt, o),
					"samples in a batch": b.Samples(context.Background(), prompt, n, o),
					"samples":            Samples(context.Background(), m.NewSession(), prompt, n, o),
				} {
					for i, got := range bySample(t, tokens, n) {
						if i > 0 && about == "one in a batch" {
							break
						}
						if !same(unguessed(got), want[i]) {
							t.Errorf("%s, %s, sample %d of %d tokens: %v\nwant %v", name, about, i,
								length, got, want[i])
						}
					}
				}
			}
		}
	}
}

// TestABreakInTheEchoLeavesTheSessionAsItWas and so does a cancel.
func TestABreakInTheEchoLeavesTheSessionAsItWas(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for _, o := range []Options{{Echo: EchoPrompt}, {Echo: EchoOnly}} {
		for at := range 3 {
			s := m.NewSession()
			for range Generate(context.Background(), s, []int{1, 2, 3, 4}, o) {
				if at--; at < 0 {
					break
				}
			}
			if s.Len() != 0 {
				t.Errorf("after a break in the echo the session holds %v, want nothing", s.Tokens())
			}
		}
	}
	b := batch.New(m, batch.Options{})
	for range 20 {
		for range b.Samples(context.Background(), []int{1, 2, 3}, 3, Options{Echo: EchoPrompt}) {
			break
		}
	}
	b.Close()
	if n := m.CacheBytes(); n != 0 {
		t.Errorf("%d bytes of cache stay", n)
	}
}

func TestEchoIsRefusedWhereItCannotBe(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := batch.New(m, batch.Options{})
	o := Options{Echo: EchoPrompt}
	held := m.NewSession()
	if err := m.Eval(context.Background(), model.Input{Session: held, Tokens: []int{1}}); err != nil {
		t.Fatal(err)
	}
	st, err := NewStream(m.NewSession(), []int{1}, o)
	if err != nil {
		t.Fatal(err)
	}
	_, push := st.Push(make([]float32, 29))
	for name, err := range map[string]error{
		"push":     push,
		"continue": last(b.Continue(context.Background(), m.NewSession(), []int{1}, o)),
	} {
		if !errors.Is(err, ErrNoEcho) {
			t.Errorf("%s: %v, want %v", name, err, ErrNoEcho)
		}
	}
	for want, err := range map[string]error{
		`echo "all": want "", "prompt" or "only"`: last(Generate(context.Background(), m.NewSession(),
			[]int{1}, Options{Echo: "all"})),
		"echo: want a prompt of at least one token, found none": last(Generate(context.Background(),
			held, nil, o)),
	} {
		if fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func last(tokens iter.Seq2[Token, error]) (err error) {
	_, err = count(tokens)
	return err
}
