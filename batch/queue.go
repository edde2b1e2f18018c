package batch

// The queue: requests that have had no slot yet, and whose turn it is.

import "slices"

// A queue holds requests by client, those of each in the order of their calls.
type queue struct {
	clients map[string]*client // that have a request here
	turns   []*client          // the same clients: who has waited longest for a turn comes first
	n       int                // requests
}

// A client is a client that has requests in the queue.
type client struct {
	name     string
	requests []*request
}

func newQueue() queue { return queue{clients: map[string]*client{}} }

// push adds a request behind its client's others.
func (q *queue) push(r *request) {
	c := q.clients[r.client]
	if c == nil {
		c = &client{name: r.client}
		q.clients[r.client], q.turns = c, append(q.turns, c)
	}
	c.requests = append(c.requests, r)
	q.n++
}

// next returns the request whose turn it is, of the client that has the fewest slots. It returns
// nil if the queue is empty.
func (q *queue) next(slots map[string]int) *request {
	var next *client
	for _, c := range q.turns {
		if next == nil || slots[c.name] < slots[next.name] {
			next = c
		}
	}
	if next == nil {
		return nil
	}
	return next.requests[0]
}

// pop removes a request, the first of its client, whose next turn comes after those of all others.
func (q *queue) pop(r *request) {
	c := q.clients[r.client]
	c.requests = slices.Delete(c.requests, 0, 1)
	q.turns = slices.DeleteFunc(q.turns, func(other *client) bool { return other == c })
	q.n--
	if len(c.requests) > 0 {
		q.turns = append(q.turns, c)
	} else {
		delete(q.clients, r.client)
	}
}

// remove removes the requests for which gone returns true.
func (q *queue) remove(gone func(*request) bool) {
	q.turns = slices.DeleteFunc(q.turns, func(c *client) bool {
		before := len(c.requests)
		c.requests = slices.DeleteFunc(c.requests, gone)
		q.n -= before - len(c.requests)
		if len(c.requests) == 0 {
			delete(q.clients, c.name)
		}
		return len(c.requests) == 0
	})
}
