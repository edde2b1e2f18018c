package model

// Session: one timeline of tokens and its key/value cache.

import (
	"runtime"
	"slices"

	"picogpt/internal/engine"
)

// A Session is one sequence of tokens and what attention remembers of them. It belongs to one
// goroutine at a time; sessions of one model may be used side by side. Memory grows with the
// tokens, in pages: Bytes says how much. Release gives it back at once; a session that is simply
// forgotten gives it back when the garbage collector finds it.
type Session struct {
	model  *Model
	cache  *holder
	tokens []int
	logits []float32 // after the last token; nil where unknown
	next   []float32 // where Eval writes, until it succeeds
}

// A holder has the cache of one session, and outlives it for as long as it takes to release the
// cache.
type holder struct{ engine.Cache }

// NewSession starts an empty timeline.
func (m *Model) NewSession() *Session { return m.newSession(m.backend.NewCache()) }

func (m *Model) newSession(cache engine.Cache) *Session {
	s := &Session{model: m, cache: &holder{cache}}
	runtime.AddCleanup(s, func(h *holder) { h.Release() }, s.cache)
	return s
}

// Model returns the model that the session belongs to.
func (s *Session) Model() *Model { return s.model }

// Len returns the number of tokens evaluated.
func (s *Session) Len() int { return len(s.tokens) }

// Tokens returns the tokens evaluated, oldest first. The slice is the session's own: copy it to
// keep it.
func (s *Session) Tokens() []int { return s.tokens }

// Logits returns the logits after the last token, [vocab_size], or nil where they are not known: in
// a new session, after Truncate and after an Input with NoLogits. They are valid until the
// session's next Eval.
func (s *Session) Logits() []float32 { return s.logits }

// Bytes returns the size of the session's cache pages. Pages that forks share count for each of
// them.
func (s *Session) Bytes() int64 { return s.cache.Bytes() }

// Truncate forgets all but the first n tokens, and the logits. n must be 0 ≤ n ≤ Len; n = Len
// changes nothing.
func (s *Session) Truncate(n int) {
	if n == len(s.tokens) {
		return
	}
	s.tokens = s.tokens[:n]
	s.logits = nil
	s.cache.Truncate(n)
}

// Release forgets all tokens and gives the memory back, also to Options.CacheBytes. The session is
// then as new, and may be used again.
func (s *Session) Release() {
	s.tokens, s.logits = nil, nil
	s.cache.Release()
}

// Fork returns a new session that holds the first n tokens, 0 ≤ n ≤ Len, and shares their pages: it
// costs no arithmetic, and no memory until one of the two goes on. With n = Len the logits are
// copied too.
func (s *Session) Fork(n int) *Session {
	f := s.model.newSession(s.cache.Fork(n))
	f.tokens = slices.Clone(s.tokens[:n])
	if n == len(s.tokens) {
		f.logits = slices.Clone(s.logits)
	}
	return f
}

// Take makes s hold what from holds, its logits too, and leaves from empty. Work that may fail can
// so be done on a fork, and taken over when it is whole. Both are of one model.
func (s *Session) Take(from *Session) {
	if s == from {
		return
	}
	s.Release()
	s.tokens, s.logits, s.cache.Cache = from.tokens, from.logits, from.cache.Cache
	from.tokens, from.logits, from.cache.Cache = nil, nil, s.model.backend.NewCache()
}

// reserve makes room for an input. What the session holds does not change.
func (s *Session) reserve(in *Input, spare *buffers) error {
	if err := s.cache.Reserve(len(in.Tokens)); err != nil {
		return err
	}
	if !in.NoLogits {
		s.next = spare.get(s.model.config.VocabSize)
	}
	return nil
}

// commit takes the tokens and, if they are wanted, the logits that Eval wrote to next.
func (s *Session) commit(in *Input, spare *buffers) {
	s.cache.Commit()
	s.tokens = append(s.tokens, in.Tokens...)
	s.logits, s.next = s.next, s.logits // nil where they are not wanted
	s.keepSpare(spare)
}

// rollback undoes reserve.
func (s *Session) rollback(spare *buffers) {
	s.cache.Rollback()
	s.keepSpare(spare)
}

func (s *Session) keepSpare(spare *buffers) {
	spare.put(s.next)
	s.next = nil
}

// buffers are rows of logits that no session holds.
type buffers [][]float32

// mostSpare bounds how many rows of logits wait for a session.
const mostSpare = 64

func (b *buffers) get(n int) []float32 {
	if last := len(*b) - 1; last >= 0 {
		x := (*b)[last]
		(*b)[last] = nil
		*b = (*b)[:last]
		return x[:n]
	}
	return make([]float32, n)
}

func (b *buffers) put(x []float32) {
	if x != nil && len(*b) < mostSpare {
		*b = append(*b, x)
	}
}
