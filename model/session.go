package model

// Session: one timeline of tokens and its key/value cache.

import (
	"fmt"
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

	evaluating bool // between reserve and commit or rollback
}

// NewSession starts an empty timeline.
func (m *Model) NewSession() *Session { return m.newSession(m.backend.NewCache()) }

func (m *Model) newSession(cache engine.Cache) *Session {
	s := &Session{model: m, cache: &holder{cache: cache}}
	runtime.AddCleanup(s, (*holder).forget, s.cache)
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
func (s *Session) Bytes() int64 {
	defer runtime.KeepAlive(s)
	return s.cache.bytes()
}

// Truncate forgets all but the first n tokens, and the logits. n = Len changes nothing. It panics
// unless 0 ≤ n ≤ Len.
func (s *Session) Truncate(n int) {
	s.mustHold("Truncate", n)
	if n == len(s.tokens) {
		return
	}
	s.mustBeIdle("Truncate")
	s.tokens = s.tokens[:n]
	s.logits = nil
	s.cache.truncate(n)
	runtime.KeepAlive(s)
}

// Release forgets all tokens and gives the memory back, also to Options.CacheBytes. The session is
// then as new, and may be used again.
func (s *Session) Release() {
	s.mustBeIdle("Release")
	s.tokens, s.logits = nil, nil
	s.cache.release(s.model.backend.NewCache())
	runtime.KeepAlive(s)
}

// Fork returns a new session that holds the first n tokens and shares their pages: it costs no
// arithmetic, and no memory until one of the two goes on. With n = Len the logits are copied too.
// It panics unless 0 ≤ n ≤ Len.
func (s *Session) Fork(n int) *Session {
	s.mustHold("Fork", n)
	f := s.model.newSession(s.cache.fork(n))
	f.tokens = slices.Clone(s.tokens[:n])
	if n == len(s.tokens) {
		f.logits = slices.Clone(s.logits)
	}
	runtime.KeepAlive(s)
	return f
}

// Take makes s hold what from holds, its logits too, and leaves from empty. Work that may fail can
// so be done on a fork, and taken over when it is whole. It panics unless both are of one model.
func (s *Session) Take(from *Session) {
	if s.model != from.model {
		panic("model: Session.Take: the sessions are of different models")
	}
	s.mustBeIdle("Take")
	from.mustBeIdle("Take")
	if s == from {
		return
	}
	s.cache.release(from.cache.swap(s.model.backend.NewCache()))
	s.tokens, s.logits = from.tokens, from.logits
	from.tokens, from.logits = nil, nil
	runtime.KeepAlive(from)
	runtime.KeepAlive(s)
}

// mustHold panics where a method is called with a number of tokens that the session does not hold:
// those beyond are forgotten ones.
func (s *Session) mustHold(method string, n int) {
	if n < 0 || n > len(s.tokens) {
		panic(fmt.Sprintf("model: Session.%s(%d) of %d tokens, want 0 to %[3]d", method, n,
			len(s.tokens)))
	}
}

// mustBeIdle panics where a method that gives pages up is called during an Eval of the session, as
// in a Visit: the Eval still uses them.
func (s *Session) mustBeIdle(method string) {
	if s.evaluating {
		panic("model: Session." + method + " during an Eval of the session")
	}
}

// reserve makes room for an input. What the session holds does not change.
func (s *Session) reserve(in *Input, spare *buffers) error {
	if err := s.cache.cache.Reserve(len(in.Tokens)); err != nil {
		return err
	}
	s.evaluating = true
	if !in.NoLogits {
		s.next = spare.get(s.model.config.VocabSize)
	}
	return nil
}

// commit takes the tokens and, if they are wanted, the logits that Eval wrote to next.
func (s *Session) commit(in *Input, spare *buffers) {
	s.cache.cache.Commit()
	s.tokens = append(s.tokens, in.Tokens...)
	s.logits, s.next = s.next, s.logits // nil where they are not wanted
	s.end(spare)
}

// rollback undoes reserve.
func (s *Session) rollback(spare *buffers) {
	s.cache.cache.Rollback()
	s.end(spare)
}

func (s *Session) end(spare *buffers) {
	spare.put(s.next)
	s.next, s.evaluating = nil, false
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
