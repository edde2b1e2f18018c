package decode

// Scored prompts: the prompt's tokens come first, each with its log-probability.

import (
	"errors"
	"math"
	"slices"

	"picogpt/model"
	"picogpt/sample"
)

// Echo says whether the tokens of the prompt come too, before the new ones: Token.Prompt marks
// them. Each has the LogProb and Top of a new token in its place, to the bit; the first of a text
// has nothing before it, LogProb NaN and no Top. Their Text is empty, for the caller has it, and
// stop strings are looked for in the new text only. What the session held before is not the
// prompt's; what Overflow drops of the prompt does not come, and Dropped of the first token counts
// it. Texts of [Samples] each begin with all of them, which are evaluated once.
//
// Tokens of the prompt change nothing of what Generate says about the session, but that with
// EchoOnly it holds the prompt without its last token.
type Echo string

const (
	EchoNone   Echo = ""       // only new tokens
	EchoPrompt Echo = "prompt" // the prompt's, then the new ones
	EchoOnly   Echo = "only"   // the prompt's and no new ones: Finish of the last is FinishLength
)

// ErrNoEcho is the error of Options.Echo where tokens are chosen in a way of its own.
var ErrNoEcho = errors.New("echo: want none in a search, nor with Push or Continue of a Batcher")

// An echo is the tokens of a prompt, while they are scored and after that. Nil is none.
//
// Row i of the context is scored as what it says of token i+1. The rows may be evaluated in parts,
// and again; they are scored once.
type echo struct {
	only      bool
	from, end int // of the prompt's tokens in the context
	dropped   int // of the prompt
	names     Vocabulary
	scores    []scored // [end-from]; workers write it
	known     int      // rows before it need no look
	given     int      // tokens that Next has returned

	// In an Eval: whether rows are scored, and the first one's place in the context.
	wanted bool
	at     int
}

// A scored is what the model says of a token that is there.
type scored struct {
	id      int
	logProb float64
	top     []sample.Alternative
}

// newEcho returns the echo of the last tokens of a context, those of the prompt that are left.
func newEcho(o *Options, context []int, prompt, dropped int) (*echo, error) {
	if o.Echo == EchoNone {
		return nil, nil
	}
	from := max(0, len(context)-prompt)
	if from == len(context) {
		return nil, errors.New("echo: want a prompt of at least one token, found none")
	}
	e := &echo{only: o.Echo == EchoOnly, from: from, end: len(context), known: max(0, from-1),
		dropped: dropped, names: o.Vocabulary, scores: make([]scored, len(context)-from)}
	for i, id := range context[from:] {
		e.scores[i] = scored{id: id, logProb: math.NaN()}
	}
	return e, nil
}

// left returns how many of the rows from at to end have logits because the prompt is scored: none,
// or all after those that are known.
func (e *echo) left(at, end int) int {
	if e == nil || e.known >= e.end-1 {
		return 0
	}
	return end - max(e.known, at)
}

// last returns how many of the context's last tokens need no evaluation.
func (e *echo) last() int {
	if e != nil && e.only {
		return 1
	}
	return 0
}

// follows scores the first token from logits that the session has.
func (e *echo) follows(from sample.Row, top int) {
	e.score(e.from-1, from, top)
	e.known = e.from
}

// want has those rows of an input visited that are to be scored. at is the place of the first in
// the context.
func (e *echo) want(in *model.Input, at int, visit func(model.Row)) {
	if e == nil {
		return
	}
	e.at, e.known = at, max(e.known, min(at, e.end-1))
	if e.wanted = max(e.known, at) < min(at+len(in.Tokens), e.end-1); e.wanted {
		in.Visit, in.VisitFrom, in.Best = visit, e.known-at, 0
	}
}

// see scores a row, on a worker; false if it is none of the prompt's.
func (e *echo) see(index int, from sample.Row, top int) bool {
	if e == nil || !e.wanted || e.at+index >= e.end-1 {
		return false
	}
	e.score(e.at+index, from, top)
	return true
}

// score notes what the row at a place of the context says of the token after it.
func (e *echo) score(at int, from sample.Row, top int) {
	s := &e.scores[at+1-e.from]
	c := from.Candidate(s.id, top, sample.State{})
	s.logProb, s.top = c.LogProb, c.Top
}

// take takes what another says of the tokens after the first n rows, which it has evaluated.
func (e *echo) take(scores []scored, n int) {
	if e.waiting() {
		copy(e.scores[1:], scores[1:n+1])
	}
}

// waiting reports whether there are tokens to return, once the context is evaluated.
func (e *echo) waiting() bool { return e != nil && e.given < len(e.scores) }

// fork returns the echo of a fork. Scores that may yet be written are its own.
func (e *echo) fork() *echo {
	if e == nil {
		return nil
	}
	f := *e
	if e.given == 0 {
		f.scores = slices.Clone(e.scores)
	}
	return &f
}

// token returns the i-th token of the prompt, as a sample's.
func (e *echo) token(i, sample int) Token {
	t := Token{Sample: sample, Prompt: true, ID: e.scores[i].id, LogProb: e.scores[i].logProb,
		Top: named(slices.Clone(e.scores[i].top), e.names)}
	if i == 0 {
		t.Dropped = e.dropped
	}
	if e.only && i == len(e.scores)-1 {
		t.Finish = FinishLength
	}
	return t
}

// each yields all tokens of the prompt. It reports whether more are wanted.
func (e *echo) each(sample int, yield func(Token, error) bool) bool {
	for i := range e.scores {
		if !yield(e.token(i, sample), nil) {
			return false
		}
	}
	return true
}

// giveEcho counts the next n tokens of the prompt as returned. With EchoOnly that may be the end.
func (s *Stream) giveEcho(n int) {
	e := s.echo
	e.given += n
	e.known = e.end - 1 // what the context is later is not scored
	s.dropped = 0
	if e.only && !e.waiting() {
		s.settle(len(s.ahead()))
		s.done = true
	}
}
