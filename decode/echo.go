package decode

// What is known of the prompt: its tokens' scores, which come first, or their hidden states.

import (
	"errors"
	"iter"
	"math"
	"slices"

	"picogpt/model"
	"picogpt/sample"
)

// Echo says whether the tokens of the prompt come before the new ones: Token.Prompt marks them.
// Each has the LogProb and Top that a new token in its place would have, to the bit. The first
// token of a text follows nothing: its LogProb is NaN and it has no Top. Their Text is empty,
// because the caller has it, and stop strings are searched for only in the new text. Tokens that
// the session held before are not part of the prompt. Prompt tokens that Overflow drops do not
// come; Dropped of the first token counts them. Each text of [Samples] begins with the prompt's
// tokens, which are evaluated once.
//
// What Generate says about the session holds as well, except that with EchoOnly it holds the prompt
// without its last token.
type Echo string

const (
	EchoNone   Echo = ""       // only new tokens
	EchoPrompt Echo = "prompt" // the prompt's, then the new ones
	EchoOnly   Echo = "only"   // the prompt's and no new ones: Finish of the last is FinishLength
)

// ErrNoEcho is the error of Options.Echo where the caller chooses the tokens.
var ErrNoEcho = errors.New("echo: want none in a search, nor with Push or Continue of a Batcher")

// An echo holds the tokens of a prompt and their scores. Nil means that the prompt is not scored.
//
// Row i of the context gives the score of token i+1. The rows may be evaluated in parts, and more
// than once; they are scored once.
type echo struct {
	only      bool
	from, end int // where the prompt's tokens are in the context
	dropped   int // of the prompt
	names     Vocabulary
	scores    []scored // [end-from]; workers write them
	known     int      // rows before it are scored
	given     int      // tokens that Next has returned

	// In an Eval: whether rows are scored, and the position of the first one in the context.
	wanted bool
	at     int
}

// A scored is the score of a token of the prompt.
type scored struct {
	id      int
	logProb float64
	top     []sample.Alternative
}

// newEcho returns the echo of a context's tokens after the first from: those left of the prompt.
func newEcho(o *Options, context []int, from, dropped int) (*echo, error) {
	if o.Echo == EchoNone {
		return nil, nil
	}
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

// left returns how many of the rows from at to end need logits because the prompt is scored: none,
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

// follows scores the first token from the logits that the session has.
func (e *echo) follows(from sample.Row, top int) {
	e.score(e.from-1, from, top)
	e.known = e.from
}

// want makes Eval visit the rows of an input that are to be scored. at is the position of the first
// row in the context.
func (e *echo) want(in *model.Input, at int, visit func(model.Row)) {
	if e == nil {
		return
	}
	e.at, e.known = at, max(e.known, min(at, e.end-1))
	if e.wanted = max(e.known, at) < min(at+len(in.Tokens), e.end-1); e.wanted {
		in.Visit, in.VisitFrom, in.Best = visit, e.known-at, 0
	}
}

// see scores a row, on a worker. It returns false if the row is not one of the prompt's.
func (e *echo) see(index int, from sample.Row, top int) bool {
	if e == nil || !e.wanted || e.at+index >= e.end-1 {
		return false
	}
	e.score(e.at+index, from, top)
	return true
}

// score records the score of the token after position at of the context, given the row there.
func (e *echo) score(at int, from sample.Row, top int) {
	s := &e.scores[at+1-e.from]
	c := from.Candidate(s.id, top, sample.State{})
	s.logProb, s.top = c.LogProb, c.Top
}

// take copies another echo's scores of the tokens after the first n rows, which it has evaluated.
func (e *echo) take(scores []scored, n int) {
	if e.waiting() {
		copy(e.scores[1:], scores[1:n+1])
	}
}

// waiting reports whether there are tokens to return once the context is evaluated.
func (e *echo) waiting() bool { return e != nil && e.given < len(e.scores) }

// fork returns the echo of a fork. Scores that may still be written are in memory of its own.
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

// token returns the i-th token of the prompt, with the number of a sample.
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

// giveEcho counts the next n tokens of the prompt as returned. With EchoOnly that can end the text.
func (s *Stream) giveEcho(n int) {
	e := s.echo
	e.given += n
	e.known = e.end - 1 // the context is not scored after it has changed
	s.dropped = 0
	if e.only && !e.waiting() {
		s.settle(len(s.ahead()))
		s.done = true
	}
}

// PromptTokens are the tokens of a scored prompt: see [Options.Echo].
type PromptTokens struct{ echo *echo }

// Tokens yields the tokens, marked as those of the given sample.
func (p *PromptTokens) Tokens(sample int) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for i := range p.echo.scores {
			if !yield(p.echo.token(i, sample)) {
				return
			}
		}
	}
}

// TakePrompt returns all tokens of a scored prompt together, once all of them are evaluated; Next
// then returns none of them. It returns nil before that, without [Options.Echo], and after Next or
// TakePrompt has returned some. With EchoOnly the stream is then done.
func (s *Stream) TakePrompt() *PromptTokens {
	if s.echo == nil || s.echo.given > 0 || s.pending() > 0 {
		return nil
	}
	s.giveEcho(len(s.echo.scores))
	return &PromptTokens{s.echo}
}

// A reading holds the hidden states of a text's tokens. Nil means that they are not wanted.
type reading struct {
	from  int // the first token whose hidden state is wanted
	last  model.States
	width int
	rows  []float32 // [len(context)-from, n_embd]; nil until the first is evaluated
	at    int       // of the first row of an Eval in the context
}

// NewReading returns a stream that evaluates tokens after those of s, and chooses no token:
// [Stream.TakeStates] returns their hidden states, those of the token at index from and of all
// after it. An empty list stands for a token, as in [NewStream].
func NewReading(s *model.Session, tokens []int, from int) (*Stream, error) {
	st, err := NewStream(s, tokens, Options{MaxTokens: 1}) // the one that is never chosen
	if err != nil {
		return nil, err
	}
	c := s.Model().Config()
	st.reading = &reading{from: s.Len() + from, last: model.States{Layer: c.Layer}, width: c.Embd}
	return st, nil
}

// want makes Eval hand out the hidden states of an input. at is the position of its first row in
// the context, whose length is given.
func (r *reading) want(in *model.Input, at, length int) {
	if r == nil {
		return
	}
	if r.at = at; at+len(in.Tokens) <= r.from {
		return
	}
	if r.rows == nil {
		r.rows = make([]float32, (length-r.from)*r.width)
	}
	in.States, in.Visit, in.VisitFrom = &r.last, r.see, max(0, r.from-at)
}

// see keeps a hidden state. A row may come again, with the same bits.
func (r *reading) see(row model.Row) {
	copy(r.rows[(r.at+row.Index-r.from)*r.width:], row.Hidden)
}

// TakeStates returns the hidden states that a stream of NewReading has read, [tokens, n_embd], once
// all are evaluated; the stream is then done. It returns nil before that, and for other streams.
func (s *Stream) TakeStates() []float32 {
	if s.reading == nil || s.done || s.pending() > 0 {
		return nil
	}
	s.settle(len(s.context))
	s.done = true
	return s.reading.rows
}
