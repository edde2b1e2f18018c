package model

// Who gives a session's cache up, and that it is given up once.

import (
	"sync"

	"picogpt/internal/engine"
)

// A holder has the cache of one session, and outlives the session for as long as it takes to give
// the cache up. Two may do that, and at the same time: the session's methods, and the garbage
// collector, for which a session is gone as soon as nothing reads it any more, though a method of it
// still runs. So a cache that is given up is first taken out of the holder, under the lock, and then
// released by the one who took it. The session's methods also keep the session alive to their end
// (runtime.KeepAlive), so that none finds the cache gone.
//
// Eval reads cache without the lock: its batch keeps the sessions alive.
type holder struct {
	mu    sync.Mutex
	cache engine.Cache // nil when the session is gone
}

// swap puts another cache in the place of the holder's, which is then the caller's alone.
func (h *holder) swap(next engine.Cache) engine.Cache {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.cache
	h.cache = next
	return held
}

// release gives the cache up, and puts another in its place.
func (h *holder) release(next engine.Cache) {
	if held := h.swap(next); held != nil {
		held.Release()
	}
}

// forget gives the cache up when the session is gone.
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
