package serve

// The queue: how many texts are requested and not finished.

import (
	"net/http"
	"sync/atomic"
)

// A queue counts texts from the start of their request, before any work is done for them.
type queue struct {
	room     shares // of texts, waiting and in progress; fewer than there are if requests are large
	texts    atomic.Int64
	draining atomic.Bool
	backlog  backlog
}

// A place is the room that a request has in the queue.
type place struct {
	queue *queue
	share *share
	texts int          // that are not finished
	begun atomic.Int32 // texts that have had a slot, and did not lose it by reading slowly
	done  atomic.Int64 // new tokens of all texts
	load  load
}

// amount returns how much of the queue a request of n texts takes: at most half, so that no request
// shuts all others out. The Batcher gives their texts turns.
func (q *queue) amount(n int) int64 { return min(int64(n), max(1, q.room.most/2)) }

// reserve takes room for n texts of a request, or returns an error if there is none. Where others
// need the room later, the request ends with status 429, unless all its texts have begun.
func (q *queue) reserve(v *visit, n int) (*place, error) {
	if q.draining.Load() {
		return nil, errDraining()
	}
	p := &place{queue: q, texts: n}
	p.share = q.room.hold(v.client.id, func() stage {
		switch begun := int(p.begun.Load()); {
		case begun == 0:
			return waiting
		case begun < n:
			return partly
		}
		return kept
	}, func() {
		v.end(q.full(n, "the queue is full, and of the client with most texts in it the newest request "+
			"makes room for others"))
	})
	if !p.share.take(q.amount(n)) {
		p.share.release()
		return nil, q.full(n, "%d texts wait or are being written, and %d more are too many: want at "+
			"most %d", q.texts.Load(), n, q.room.most)
	}
	p.load.client, p.load.texts = v.client.id, n
	q.texts.Add(int64(n))
	return p, nil
}

// full returns the error of a request for n texts for which there is no room, with the time in which
// as many will have had a slot.
func (q *queue) full(n int, format string, args ...any) *apiError {
	e := errorf(http.StatusTooManyRequests, "queue_full", format, args...)
	e.retry = q.backlog.until(n)
	return e
}

// expect says how many tokens the texts of a place are, and how many of these are new ones, or refuses
// them where they would wait too long: before anything is computed for them. No tokens need no slot.
func (p *place) expect(tokens, fresh float64) error {
	if tokens == 0 {
		return nil
	}
	return p.queue.backlog.add(p, tokens, fresh)
}

// finish gives the room of a text back that has ended.
func (p *place) finish() {
	p.share.give(p.queue.amount(p.texts) - p.queue.amount(p.texts-1))
	p.texts--
	p.queue.texts.Add(-1)
}

// release gives all room back. A second call does nothing.
func (p *place) release() {
	p.queue.backlog.remove(p)
	p.share.release()
	p.queue.texts.Add(-int64(p.texts))
	p.texts = 0
}

// drain makes the queue refuse all further requests.
func (q *queue) drain() { q.draining.Store(true) }

func (q *queue) count() int { return int(q.texts.Load()) }

func errDraining() error {
	return errorf(http.StatusServiceUnavailable, "shutting_down", "the server is shutting down")
}
