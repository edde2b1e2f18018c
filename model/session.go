package model

// Session: one timeline of tokens and its key/value cache, in pages that forks share.

import "picogpt/kernels"

// A Session is one sequence of tokens and what attention remembers of them. It belongs to one goroutine at a time; sessions
// of one model may be used side by side. Memory grows with the tokens; nothing needs closing.
type Session struct {
	model  *Model
	tokens []int
	logits []float32 // after the last token; empty where unknown
	next   []float32 // where Eval writes, until it succeeds

	// Page b holds the keys and values of positions [b·64, b·64+64) for all layers:
	// keys [n_layer, n_head, head_dim, 64], values [n_layer, n_head, 64, head_dim], as kernels.Attention wants them.
	keys, values [][]float32
	owned        []bool // pages that no fork shares, so that they may be written
}

// NewSession starts an empty timeline.
func (m *Model) NewSession() *Session { return &Session{model: m} }

// Model returns the model that the session belongs to.
func (s *Session) Model() *Model { return s.model }

// Len returns the number of tokens evaluated.
func (s *Session) Len() int { return len(s.tokens) }

// Tokens returns the tokens evaluated, oldest first. The slice is the session's own: copy it to keep it.
func (s *Session) Tokens() []int { return s.tokens }

// Logits returns the logits after the last token, [vocab_size], or nil where they are not known: in a new session, after
// Truncate and after an Input with NoLogits. They are valid until the session's next Eval.
func (s *Session) Logits() []float32 {
	if len(s.logits) == 0 {
		return nil
	}
	return s.logits
}

// Truncate forgets all but the first n tokens, and the logits. n must be 0 ≤ n ≤ Len; n = Len changes nothing.
func (s *Session) Truncate(n int) {
	if n == len(s.tokens) {
		return
	}
	s.tokens = s.tokens[:n]
	s.logits = s.logits[:0]
	pages := pagesFor(n)
	clear(s.keys[pages:]) // let the memory go
	clear(s.values[pages:])
	s.keys, s.values, s.owned = s.keys[:pages], s.values[:pages], s.owned[:pages]
}

// Fork returns a new session that holds the first n tokens, 0 ≤ n ≤ Len, and shares their cache: it costs no arithmetic, and
// no memory until one of the two goes on. With n = Len the logits are copied too.
func (s *Session) Fork(n int) *Session {
	pages := pagesFor(n)
	f := &Session{
		model:  s.model,
		tokens: append([]int(nil), s.tokens[:n]...),
		keys:   append([][]float32(nil), s.keys[:pages]...),
		values: append([][]float32(nil), s.values[:pages]...),
		owned:  make([]bool, pages),
	}
	clear(s.owned[:pages])
	if n == len(s.tokens) {
		f.logits = append(f.logits, s.logits...)
	}
	return f
}

// Take makes s hold what from holds, its logits too, and leaves from empty. Work that may fail can so be
// done on a fork, and taken over when it is whole. Both are of one model.
func (s *Session) Take(from *Session) {
	if s != from {
		*s, *from = *from, Session{model: from.model}
	}
}

func (m *Model) headDim() int { return m.config.Embd / m.config.Head }

// cacheOffset returns where a layer's keys begin in a page of keys, and its values in a page of values.
func (m *Model) cacheOffset(layer int) int { return layer * m.config.Embd * kernels.Block }

func pagesFor(tokens int) int { return (tokens + kernels.Block - 1) / kernels.Block }

// reserve makes room for n tokens more: pages for their positions, the first of which may be a page that must be copied because a
// fork shares it. What the session holds does not change.
func (s *Session) reserve(n int) {
	c := &s.model.config
	size := c.Layer * c.Embd * kernels.Block
	if b := len(s.tokens) / kernels.Block; b < len(s.owned) && !s.owned[b] {
		s.keys[b] = append(make([]float32, 0, size), s.keys[b]...)
		s.values[b] = append(make([]float32, 0, size), s.values[b]...)
		s.owned[b] = true
	}
	for len(s.keys) < pagesFor(len(s.tokens)+n) {
		s.keys = append(s.keys, make([]float32, size))
		s.values = append(s.values, make([]float32, size))
		s.owned = append(s.owned, true)
	}
	if cap(s.next) < c.VocabSize {
		s.next = make([]float32, c.VocabSize)
	}
	s.next = s.next[:c.VocabSize]
}

// commit takes the tokens and, if there are any, the logits that Eval wrote to next.
func (s *Session) commit(tokens []int, logits bool) {
	s.tokens = append(s.tokens, tokens...)
	if !logits {
		s.logits = s.logits[:0]
		return
	}
	s.logits, s.next = s.next, s.logits
}
