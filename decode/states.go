package decode

// Streams that choose no token: the hidden states of a text.

import "picogpt/model"

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
