package serve

// The queue: how many texts are requested and not finished, and how long another would wait.

import (
	"context"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A queue counts texts from the start of their request, before any work is done for them.
type queue struct {
	room     shares // of texts, waiting and in progress; fewer than there are if requests are large
	texts    atomic.Int64
	draining atomic.Bool // all further requests are refused
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
		v.end(q.full(n, "the queue is full, and of the client with most texts in it the newest "+
			"request makes room for others"))
	})
	if !p.share.take(q.amount(n)) {
		p.share.release()
		return nil, q.full(n, "%d texts wait or are being written, and %d more are too many: want "+
			"at most %d", q.texts.Load(), n, q.room.most)
	}
	p.load.client, p.load.texts = v.client.id, n
	q.texts.Add(int64(n))
	return p, nil
}

// placed calls do with the context of a request and room for its n texts.
func (s *Server) placed(v *visit, n int, do func(context.Context, *place) error) error {
	p, err := s.queue.reserve(v, n)
	if err != nil {
		return err
	}
	defer p.release()
	ctx, cancel := s.bounded(v)
	defer cancel()
	return s.explain(v, do(ctx, p))
}

// full returns the error of a request for n texts for which there is no room, with the time in
// which as many will have had a slot.
func (q *queue) full(n int, format string, args ...any) *apiError {
	e := errorf(http.StatusTooManyRequests, "queue_full", format, args...)
	e.retry = q.backlog.until(n)
	return e
}

// expect says how many tokens the texts of a place are, and how many of these are new ones, or
// refuses them where they would wait too long: before anything is computed for them. No tokens need
// no slot.
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

func errDraining() error {
	return errorf(http.StatusServiceUnavailable, "shutting_down", "the server is shutting down")
}

// A backlog holds the requests whose texts the batch writes, with their work in tokens: those of
// the prompt, and as many new ones as texts lately had of those that they were allowed.
type backlog struct {
	most  time.Duration  // that a text may wait; 0: no bound
	slots int            // of the batch
	rate  func() float64 // its tokens a second, 0 if that is not known

	mu               sync.Mutex // guards the fields below, and the loads of places
	places           map[*place]bool
	allowed, written float64 // new tokens of the texts that ended lately
}

// A load is the work of a request.
type load struct {
	client string
	texts  int
	each   float64 // tokens of one text, in the mean
	fresh  float64 // new ones of them
}

// waiting returns the tokens of the texts that have had no slot.
func (p *place) waiting() float64 {
	return p.load.each * float64(max(0, p.load.texts-int(p.begun.Load())))
}

// add adds the work of a request, so many tokens and of these so many new ones, or returns an error
// if its first text would wait too long.
func (b *backlog) add(p *place, tokens, fresh float64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	each := tokens / float64(p.load.texts)
	if wait := b.wait(p, each); b.most > 0 && wait > b.most {
		e := errorf(http.StatusTooManyRequests, "wait_too_long",
			"the texts before this one take about %v, want at most %v: try again later",
			wait.Round(time.Second), b.most)
		e.retry = wait - b.most
		return e
	}
	p.load.each, p.load.fresh = each, fresh/float64(p.load.texts)
	if b.places == nil {
		b.places = map[*place]bool{}
	}
	b.places[p] = true
	return nil
}

// remove removes a request.
func (b *backlog) remove(p *place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.places, p)
}

// wait returns how long the first text of a request would wait for a slot, if it has so many
// tokens. Before it come all of its client's, and of each other client no more than that: clients
// have turns. Before all of them comes what the first text that has a slot still lacks.
func (b *backlog) wait(p *place, tokens float64) time.Duration {
	rate := b.rate()
	if rate <= 0 || int(p.queue.texts.Load())-p.load.texts < b.slots { // a slot is free
		return 0
	}
	clients := map[string]float64{}
	for other := range b.places {
		clients[other.load.client] += other.waiting()
	}
	own := clients[p.load.client]
	ahead := own + b.free(p.load.client)
	for client, theirs := range clients {
		if client != p.load.client {
			ahead += min(theirs, own+tokens)
		}
	}
	return seconds(ahead / rate)
}

// free returns after how many tokens of the batch a slot is there for a client: at once if it has
// two fewer than another, else when the first text ends.
func (b *backlog) free(client string) float64 {
	held, least := map[string]int{}, math.Inf(1)
	for p := range b.places {
		if begun := int(p.begun.Load()); begun > 0 {
			held[p.load.client] += begun
			least = min(least, max(0, p.load.fresh-float64(p.done.Load())/float64(begun)))
		}
	}
	for _, n := range held {
		if n >= held[client]+2 {
			return 0
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least * float64(b.slots) // all of which advance as fast
}

// seconds returns a duration of at most 11 days.
func seconds(n float64) time.Duration {
	return time.Duration(math.Min(n, 1e6) * float64(time.Second))
}

// until returns in how long so many of the texts that wait will have had a slot: 0 if nothing is
// known.
func (b *backlog) until(n int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	tokens, texts := 0.0, 0
	for p := range b.places {
		tokens += p.waiting()
		texts += max(0, p.load.texts-int(p.begun.Load()))
	}
	if rate := b.rate(); rate > 0 && texts > 0 {
		return seconds(tokens / float64(texts) * float64(n) / rate)
	}
	return 0
}

// usual returns the part of the new tokens that a text is allowed which texts lately had.
func (b *backlog) usual() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.allowed == 0 {
		return 1
	}
	return b.written / b.allowed
}

// ended notes the new tokens of a text that ended. Of the latest some 64 count.
func (b *backlog) ended(allowed, written int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	const keep = 1 - 1.0/64
	b.allowed = b.allowed*keep + float64(allowed)
	b.written = b.written*keep + float64(written)
}
