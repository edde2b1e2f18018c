package model

// Sessions: one sequence of tokens and its key/value cache, and who releases the cache.

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"picogpt/internal/engine"
)

// A Session is one sequence of tokens and the keys and values that attention needs of them. One
// goroutine may use it at a time; different sessions of a model may be used concurrently. Its
// memory grows with the tokens, in pages, and Bytes returns it. Release gives the memory back at
// once; otherwise the garbage collector does so when nothing refers to the session.
type Session struct {
	model  *Model
	cache  *holder
	tokens []int
	logits []float32 // after the last token; nil if not known
	next   []float32 // Eval writes here, and swaps it with logits if it succeeds

	// 1 + the first position whose keys and values, or those of later ones, an edit may have
	// changed; 0: none
	edited int

	evaluating bool // between reserve and commit or rollback
}

// NewSession returns a session without tokens.
func (m *Model) NewSession() *Session { return m.newSession(m.newCache()) }

func (m *Model) newSession(cache engine.Cache) *Session {
	s := &Session{model: m, cache: &holder{cache: cache}}
	runtime.AddCleanup(s, (*holder).forget, s.cache)
	return s
}

// Model returns the model that the session belongs to.
func (s *Session) Model() *Model { return s.model }

// Len returns the number of evaluated tokens.
func (s *Session) Len() int { return len(s.tokens) }

// Tokens returns the evaluated tokens, oldest first. The slice belongs to the session: copy it to
// keep it.
func (s *Session) Tokens() []int { return s.tokens }

// Matches returns how many tokens s and ids have in common at the beginning.
func (s *Session) Matches(ids []int) int {
	n := 0
	for n < min(len(s.tokens), len(ids)) && s.tokens[n] == ids[n] {
		n++
	}
	return n
}

// Logits returns the logits after the last token, [vocab_size]. It returns nil if they are not
// known: in a new session, after Truncate, and after an Input with NoLogits. They are valid until
// the session's next Eval.
func (s *Session) Logits() []float32 { return s.logits }

// Bytes returns the size of the session's cache pages, in bytes. A page that several sessions share
// counts for each of them.
func (s *Session) Bytes() int64 {
	defer runtime.KeepAlive(s)
	return s.cache.bytes()
}

// Truncate removes all but the first n tokens, and the logits. If n is Len it changes nothing. It
// panics unless 0 ≤ n ≤ Len.
func (s *Session) Truncate(n int) {
	s.mustHold("Truncate", n)
	if n == len(s.tokens) {
		return
	}
	s.mustBeIdle("Truncate")
	s.tokens = s.tokens[:n]
	s.logits = nil
	if s.edited > n {
		s.edited = 0
	}
	s.cache.truncate(s.model.virtual + n)
	runtime.KeepAlive(s)
}

// Release removes all tokens and gives the memory back, also to Options.CacheBytes. The session is
// then empty, and may be used again.
func (s *Session) Release() {
	s.mustBeIdle("Release")
	s.tokens, s.logits, s.edited = nil, nil, 0
	s.cache.release(s.model.newCache())
	runtime.KeepAlive(s)
}

// Fork returns a new session that holds the first n tokens and shares their pages. It computes
// nothing, and takes no memory until tokens are added to one of the two. If n is Len the logits are
// copied too. It panics unless 0 ≤ n ≤ Len.
func (s *Session) Fork(n int) *Session {
	s.mustHold("Fork", n)
	f := s.model.newSession(s.cache.fork(s.model.virtual + n))
	f.tokens = slices.Clone(s.tokens[:n])
	if s.edited <= n {
		f.edited = s.edited
	}
	if n == len(s.tokens) {
		f.logits = slices.Clone(s.logits)
	}
	runtime.KeepAlive(s)
	return f
}

// Take moves what from holds, its logits too, into s, and leaves from empty. So work that may fail
// can be done on a fork, and taken over when it has succeeded. It panics unless both belong to one
// model.
func (s *Session) Take(from *Session) {
	if s.model != from.model {
		panic("model: Session.Take: the sessions are of different models")
	}
	s.mustBeIdle("Take")
	from.mustBeIdle("Take")
	if s == from {
		return
	}
	s.cache.release(from.cache.swap(s.model.newCache()))
	s.tokens, s.logits, s.edited = from.tokens, from.logits, from.edited
	from.tokens, from.logits, from.edited = nil, nil, 0
	runtime.KeepAlive(from)
	runtime.KeepAlive(s)
}

// mustHold panics if n is not a number of tokens that the session holds. A method is called with n
// as its argument.
func (s *Session) mustHold(method string, n int) {
	if n < 0 || n > len(s.tokens) {
		panic(fmt.Sprintf("model: Session.%s(%d) of %d tokens, want 0 to %[3]d", method, n,
			len(s.tokens)))
	}
}

// mustBeIdle panics if a method that releases pages is called during an Eval of the session, for
// example in a Visit: the Eval still uses the pages.
func (s *Session) mustBeIdle(method string) {
	if s.evaluating {
		panic("model: Session." + method + " during an Eval of the session")
	}
}

// reserve makes room for an input. It does not change what the session holds.
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

// commit adds the input's tokens and, if they are wanted, the logits that Eval wrote to next.
func (s *Session) commit(in *Input, spare *buffers) {
	s.cache.cache.Commit()
	if s.edited == 0 {
		s.edited = in.firstEdited()
	}
	s.tokens = append(s.tokens, in.Tokens...)
	s.logits, s.next = s.next, s.logits // nil if they are not wanted
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

// buffers are rows of logits that belong to no session.
type buffers [][]float32

// mostSpare bounds the rows of logits that are kept for later use.
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

// A holder has the cache of one session. It outlives the session until the cache is released. Two
// may release it, and at the same time: the session's methods, and the garbage collector, which may
// run as soon as nothing reads the session any more, even while a method of it still runs. So a
// cache is first taken out of the holder, under the lock, and then released by the goroutine that
// took it. The session's methods also keep the session alive until they return (runtime.KeepAlive),
// so that none finds the cache gone.
//
// Eval reads cache without the lock: its batch keeps the sessions alive.
type holder struct {
	mu    sync.Mutex
	cache engine.Cache // nil after the session was collected
}

// swap replaces the cache and returns the old one, which then belongs to the caller alone.
func (h *holder) swap(next engine.Cache) engine.Cache {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.cache
	h.cache = next
	return held
}

// release replaces the cache and releases the old one.
func (h *holder) release(next engine.Cache) {
	if held := h.swap(next); held != nil {
		held.Release()
	}
}

// forget releases the cache after the session was collected.
func (h *holder) forget() { h.release(nil) }

func (h *holder) truncate(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cache.Truncate(n)
}

func (h *holder) fork(n int) engine.Cache {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cache.Fork(n)
}

func (h *holder) bytes() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cache.Bytes()
}
