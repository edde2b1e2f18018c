package serve

// The queue: how many texts have been asked for and are not written yet.

import (
	"net/http"
	"sync"
)

// A queue counts texts from the door on, before anything is done for them.
type queue struct {
	most int // texts, waiting and being written

	mu       sync.Mutex
	texts    int
	taken    int // of most: less than texts where requests are large
	draining bool
}

// share is how much of the queue a request of n texts takes. One that is larger than half of it
// takes that half, so that nobody shuts all others out; the Batcher gives them their turns.
func (q *queue) share(n int) int { return min(n, max(1, q.most/2)) }

// reserve takes room for n texts, or says why there is none.
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

// release gives room back: of a request that had so many texts, some are left.
func (q *queue) release(had, left int) {
	q.mu.Lock()
	q.texts -= had - left
	q.taken -= q.share(had) - q.share(left)
	q.mu.Unlock()
}

// drain refuses all that comes from now on.
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
