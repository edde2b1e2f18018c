package serve

// The backlog: the work that waits for the batch, and how long a text would wait behind it.

import (
	"math"
	"net/http"
	"sync"
	"time"
)

// A backlog holds the requests whose texts the batch writes, with their work in tokens: those of the
// prompt, and as many new ones as texts lately had of those that they were allowed.
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

// add adds the work of a request, so many tokens and of these so many new ones, or returns an error if
// its first text would wait too long.
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

// wait returns how long the first text of a request would wait for a slot, if it has so many tokens.
// Before it come all of its client's, and of each other client no more than that: clients have turns.
// Before all of them comes what the first text that has a slot still lacks.
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

// free returns after how many tokens of the batch a slot is there for a client: at once if it has two
// fewer than another, else when the first text ends.
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

// until returns in how long so many of the texts that wait will have had a slot: 0 if nothing is known.
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
