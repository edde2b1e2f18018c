package model

// Who releases a session's cache, and that it is released once.

import (
	"sync"

	"picogpt/internal/engine"
)

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
