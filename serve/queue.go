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
	draining bool
}

// reserve takes room for n texts, or says why there is none. A request for more than there ever is
// room for is let in when there is nothing else.
func (q *queue) reserve(n int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.draining:
		return errDraining()
	case q.texts > 0 && q.texts+n > q.most:
		return errorf(http.StatusTooManyRequests, "queue_full",
			"%d texts wait or are being written, and %d more are too many: want at most %d",
			q.texts, n, q.most)
	}
	q.texts += n
	return nil
}

// release gives back the room of n texts.
func (q *queue) release(n int) {
	q.mu.Lock()
	q.texts -= n
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
