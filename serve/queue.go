package serve

// The queue: how many texts are requested and not finished.

import (
	"net/http"
	"sync"
)

// A queue counts texts from the start of their request, before any work is done for them.
type queue struct {
	most int // how many texts, waiting and in progress

	mu       sync.Mutex
	texts    int
	taken    int // room taken, up to most; below the number of texts if requests are large
	draining bool
}

// share returns how much of the queue a request of n texts takes: at most half, so that no request
// shuts all others out. The Batcher gives their texts turns.
func (q *queue) share(n int) int { return min(n, max(1, q.most/2)) }

// reserve takes room for n texts, or returns an error if there is none.
func (q *queue) reserve(n int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.draining:
		return errDraining()
	case q.taken+q.share(n) > q.most:
		return errorf(http.StatusTooManyRequests, "queue_full",
			"%d texts wait or are being written, and %d more are too many: want at most %d",
			q.texts, n, q.most)
	}
	q.texts += n
	q.taken += q.share(n)
	return nil
}

// release gives room back for a request of had texts, of which left are unfinished.
func (q *queue) release(had, left int) {
	q.mu.Lock()
	q.texts -= had - left
	q.taken -= q.share(had) - q.share(left)
	q.mu.Unlock()
}

// drain makes the queue refuse all further requests.
func (q *queue) drain() {
	q.mu.Lock()
	q.draining = true
	q.mu.Unlock()
}

func (q *queue) state() (texts int, draining bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.texts, q.draining
}

func (q *queue) count() int {
	texts, _ := q.state()
	return texts
}

func errDraining() error {
	return errorf(http.StatusServiceUnavailable, "shutting_down", "the server is shutting down")
}
