package serve

// Shares of what is bounded: room in the queue, memory for bodies and for answers. Whoever comes
// first may have all of it; when others come, the client with most makes room.

import (
	"slices"
	"sync"
)

// shares bounds a sum of what clients hold. Where there is no room for more of a client, the newest
// shares of the client with most are taken away, as long as that client has more than the other
// will have. A client with nothing thus finds room for one as long as another has two.
type shares struct {
	mu      sync.Mutex
	most    int64
	sum     int64
	order   int64 // of the newest share
	clients map[string]*holder
}

// A holder is a client that holds shares: the newest is the last.
type holder struct {
	sum    int64
	shares []*share
}

// A share is what one request holds.
type share struct {
	of     *shares
	client string
	amount int64
	order  int64
	lost   bool

	// stage says how much would be in vain if the share were taken away, and end takes it away: it
	// makes the request answer that it must come again.
	stage func() stage
	end   func()
}

// A stage says how far a request has come.
type stage int

const (
	waiting stage = iota // nothing is lost but time
	partly               // part of it has begun
	kept                 // it is not taken away
)

func newShares(most int64) shares { return shares{most: most, clients: map[string]*holder{}} }

// hold returns a share of nothing, for a request of a client.
func (s *shares) hold(client string, at func() stage, end func()) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.clients[client]
	if h == nil {
		h = &holder{}
		s.clients[client] = h
	}
	s.order++
	held := &share{of: s, client: client, order: s.order, stage: at, end: end}
	h.shares = append(h.shares, held)
	return held
}

// take adds n to a share and returns true, if there is room or others have to make it. It returns
// false for a share that was taken away.
func (h *share) take(n int64) bool {
	s := h.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.lost {
		return false
	}
	others, ok := s.makeRoom(h, n)
	if !ok {
		return false
	}
	for _, other := range others {
		other.lost = true
		s.remove(other)
		other.end()
	}
	h.amount += n
	s.sum += n
	s.clients[h.client].sum += n
	return true
}

// makeRoom returns the shares to take away before n more are added to one of another client.
func (s *shares) makeRoom(more *share, n int64) (taken []*share, ok bool) {
	left := map[*share]bool{}   // that are going to be taken away
	sums := map[*holder]int64{} // of these
	own := s.clients[more.client]
	after := own.sum + n // what the client will have
	for need := s.sum + n - s.most; need > 0; {
		var from *holder
		var next *share
		for _, h := range s.clients {
			sum := h.sum - sums[h]
			if h == own || sum <= after || from != nil && sum < from.sum-sums[from] {
				continue
			}
			newest := h.newest(left)
			if newest == nil ||
				from != nil && sum == from.sum-sums[from] && newest.order < next.order {
				continue
			}
			from, next = h, newest
		}
		if from == nil {
			return nil, false
		}
		left[next] = true
		sums[from] += next.amount
		need -= next.amount
		taken = append(taken, next)
	}
	return taken, true
}

// newest returns the share that a client loses first: of those that wait, or else of those that
// have begun in part, the newest. without are lost already.
func (h *holder) newest(without map[*share]bool) (found *share) {
	for i := len(h.shares) - 1; i >= 0; i-- {
		held := h.shares[i]
		if without[held] || held.amount == 0 {
			continue
		}
		switch held.stage() {
		case waiting:
			return held
		case partly:
			if found == nil {
				found = held
			}
		}
	}
	return found
}

// give gives n of a share back.
func (h *share) give(n int64) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if h.lost {
		return
	}
	h.amount -= n
	h.of.sum -= n
	h.of.clients[h.client].sum -= n
}

// release gives all of a share back. A second call does nothing, nor one for no share.
func (h *share) release() {
	if h == nil {
		return
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if !h.lost {
		h.lost = true
		h.of.remove(h)
	}
}

// remove removes a share.
func (s *shares) remove(held *share) {
	h := s.clients[held.client]
	s.sum -= held.amount
	h.sum -= held.amount
	h.shares = slices.DeleteFunc(h.shares, func(other *share) bool { return other == held })
	if len(h.shares) == 0 {
		delete(s.clients, held.client)
	}
}
