// Package texts has what tests of texts share: options of all kinds, and how texts are compared. It is
// for tests outside package decode, which it imports.
package texts

import (
	"context"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"testing"

	"picogpt/decode"
	"picogpt/dev/toys"
	"picogpt/model"
	"picogpt/sample"
)

// Endings are options under which a text of the tiny model ends or overflows in each of the ways
// there are.
func Endings() map[string]decode.Options {
	window := decode.Options{Params: sample.Params{RepeatPenalty: 1.3, RepeatLastN: 8}}
	stopped, slid, cut, ended := window, window, window, window
	stopped.Vocabulary, stopped.Stop = toys.Letters(29), []string{"c", "gh"}
	stopped.Top = 3
	slid.MaxTokens, slid.Overflow = 45, decode.OverflowSlide
	cut.Overflow = decode.OverflowTruncate
	ended.MaxTokens, ended.Overflow, ended.EndOfText = 45, decode.OverflowSlide, []int{2, 20}
	var vocabulary toys.Words
	for i := range 29 {
		vocabulary = append(vocabulary, fmt.Sprint("word", i))
	}
	var sequences []sample.Bias // of each two ids that are 5 apart
	for i := range 29 {
		sequences = append(sequences, sample.Bias{IDs: []int{i, (i + 5) % 29}, Value: 3})
	}
	return map[string]decode.Options{
		"to the context's end": {},
		"max tokens":           {MaxTokens: 9},
		"slide":                slid,
		"truncate":             cut,
		"end of text":          ended,
		"stop string":          stopped,
		"words":                {MaxTokens: 9, Vocabulary: vocabulary},
		"sequences":            {MaxTokens: 9, Params: sample.Params{SequenceBias: sequences}},
	}
}

// Ways are the endings, greedy and sampled.
func Ways() map[string]decode.Options {
	ways := Endings()
	for name, o := range Endings() {
		o.Temperature, o.TopP, o.Seed = 1.5, 0.95, uint64(len(name))
		ways[name+", sampled"] = o
	}
	return ways
}

// Echoes are options with scored prompts, in company of what changes how texts are made.
func Echoes() map[string]decode.Options {
	form := decode.Options{MaxTokens: 4, Constraint: &toys.EndAt{End: 2, Left: 4}, EndOfText: []int{2}}
	all := map[string]decode.Options{
		"greedy": {MaxTokens: 5},
		"top":    {MaxTokens: 5, Top: 3, Params: sample.Params{Temperature: 1.2, Seed: 4}},
		"form":   form,
		"stop": {Vocabulary: toys.Letters(29), Stop: []string{"d", "b", "ab"}, Top: 1,
			Params: sample.Params{Temperature: 1}},
		"ban": {Vocabulary: toys.Letters(29), Ban: []string{"c", "ab"}, MaxTokens: 7},
		"guidance": {MaxTokens: 4, Top: 2,
			Params: sample.Params{Guidance: &sample.Guidance{Scale: 1.5}}},
		"slide":       {MaxTokens: 40, Overflow: decode.OverflowSlide},
		"truncate":    {MaxTokens: 20, Overflow: decode.OverflowTruncate},
		"lookup":      {MaxTokens: 7, Lookup: 3},
		"only":        {Echo: decode.EchoOnly, Top: 2},
		"only, slide": {Echo: decode.EchoOnly, Overflow: decode.OverflowSlide},
	}
	for name, o := range all {
		if o.Echo == decode.EchoNone {
			o.Echo = decode.EchoPrompt
		}
		all[name] = o
	}
	return all
}

// Count takes tokens until the end and returns how many there were, and the error.
func Count(tokens iter.Seq2[decode.Token, error]) (n int, err error) {
	for _, e := range tokens {
		if err = e; e == nil {
			n++
		}
	}
	return n, err
}

// BySample sorts tokens by their samples.
func BySample(t testing.TB, tokens iter.Seq2[decode.Token, error], n int) [][]decode.Token {
	t.Helper()
	all := make([][]decode.Token, n)
	for tok, err := range tokens {
		if err != nil {
			t.Fatal(err)
		}
		sample := tok.Sample
		tok.Sample = 0
		all[sample] = append(all[sample], tok)
	}
	return all
}

// Collect generates to the end.
func Collect(t testing.TB, s *model.Session, prompt []int, o decode.Options) []decode.Token {
	t.Helper()
	var tokens []decode.Token
	for tok, err := range decode.Generate(context.Background(), s, prompt, o) {
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, tok)
	}
	return tokens
}

// IDs returns the ids of tokens.
func IDs(tokens []decode.Token) (ids []int) {
	for _, t := range tokens {
		ids = append(ids, t.ID)
	}
	return ids
}

// Same reports whether tokens are equal in all that they say.
func Same(a, b []decode.Token) bool {
	return slices.EqualFunc(a, b, func(a, b decode.Token) bool {
		if math.IsNaN(a.LogProb) && math.IsNaN(b.LogProb) { // of a prompt's first token
			a.LogProb, b.LogProb = 0, 0
		}
		return reflect.DeepEqual(a, b)
	})
}

// UpTo returns the ids from one to another.
func UpTo(from, to int) (ids []int) {
	for id := from; id < to; id++ {
		ids = append(ids, id)
	}
	return ids
}

// Yielded is the result of a disturbed generation: its new tokens, and the error that ended it.
type Yielded struct {
	IDs    []int
	Finish string
	Err    error
}

// CheckHeld fails unless the session holds the prompt and all yielded tokens but the last, or,
// where the context slid, the newest of them.
func CheckHeld(t *testing.T, s *model.Session, prompt []int, y Yielded) {
	t.Helper()
	var want []int
	if len(y.IDs) > 0 {
		want = slices.Concat(prompt, y.IDs[:len(y.IDs)-1])
	}
	held := s.Tokens()
	newest := want[max(0, len(want)-len(held)):]
	slid := len(want) > s.Model().Config().Positions
	if !slices.Equal(held, newest) || len(newest) < len(want) && !slid {
		t.Fatalf("after %d tokens and error %v the session holds %v, want %v or its newest",
			len(y.IDs), y.Err, held, want)
	}
}

// CheckGoesOn continues the session as Generate's comment says, and fails unless the tokens are
// the undisturbed ones.
func CheckGoesOn(t *testing.T, s *model.Session, prompt []int, y Yielded, o decode.Options, want []decode.Token) {
	t.Helper()
	CheckHeld(t, s, prompt, y)
	if y.Finish != "" {
		return
	}
	next := prompt
	if n := len(y.IDs); n > 0 {
		next = y.IDs[n-1:]
	}
	if o.MaxTokens > 0 {
		o.MaxTokens -= len(y.IDs)
	}
	got := append(slices.Clone(y.IDs), IDs(Collect(t, s, next, o))...)
	if !slices.Equal(got, IDs(want)) {
		t.Fatalf("disturbed after %d tokens by %v: then on %v, undisturbed %v",
			len(y.IDs), y.Err, got, IDs(want))
	}
}
