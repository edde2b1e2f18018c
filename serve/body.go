package serve

// The body of a request, read whole: its bytes and its pace are bounded, for each and for all
// together.

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// bodiesAtOnce bounds the memory of all bodies that are being read or answered, in bodies of the
// greatest size. A client that has more of it than others want makes room for them.
const bodiesAtOnce = 2

// DefaultMaxBody returns the default of Options.MaxBody for a model of so many positions, in bytes:
// 1024 prompts that fill the context, of 7 bytes a token, and at least 1 MiB.
func DefaultMaxBody(positions int) int64 { return max(1<<20, 7*1024*int64(positions)) }

// freeBody is how many bytes of a body take no share: most requests have no more.
const freeBody = 1024

// An upload is a body that is being read.
type upload struct {
	visit *visit

	mu    sync.Mutex // guards the fields below, and the deadline of reading
	lag   lag
	whole bool
	cut   bool // its request has ended, perhaps because others need its memory
}

// read returns the body. The visit has its share of the memory, until it is released.
func (s *Server) read(v *visit) (string, error) {
	if read := v.text; read != nil {
		v.text = nil
		return *read, nil
	}
	for _, coding := range v.request.Header.Values("Content-Encoding") {
		if c := strings.TrimSpace(coding); c != "" && !strings.EqualFold(c, "identity") {
			v.Header().Set("Accept-Encoding", "identity")
			return "", errorf(http.StatusUnsupportedMediaType, "unsupported_encoding",
				"Content-Encoding: want identity, which is none, found %s", short(c))
		}
	}
	if v.request.ContentLength > s.options.MaxBody { // refused without reading it
		return "", s.bodyError(v, &http.MaxBytesError{Limit: s.options.MaxBody})
	}
	u := &upload{visit: v, lag: newLag(s.patience.body, time.Now())}
	v.body = s.bodies.hold(v.client.id, u.stage, u.end)
	defer context.AfterFunc(v.request.Context(), u.interrupt)() // it would wait for the next bytes
	v.reading = true
	u.advance(0)
	in := http.MaxBytesReader(v.ResponseWriter, v.request.Body, s.options.MaxBody)
	for body := make([]byte, 0, min(freeBody, s.options.MaxBody+1)); ; {
		if len(body) == cap(body) { // memory follows the bytes received, not those announced
			size := min(2*int64(cap(body)), s.options.MaxBody+1)
			if !v.body.take(size - int64(cap(body))) {
				return "", errNoMemory()
			}
			body = append(make([]byte, 0, size), body...)
		}
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			u.finish()
			return string(body), nil
		}
		if !u.advance(n) { // an error of reading, also the deadline's, ends a request of HTTP/1
			why := v.gone()
			if err == nil || why != errGone || v.request.ProtoMajor > 1 {
				return "", why
			}
		}
		if err != nil {
			return "", s.bodyError(v, err)
		}
	}
}

func errNoMemory() error {
	return errorf(http.StatusTooManyRequests, "queue_full",
		"the bodies of other requests take all memory there is for them")
}

// advance sets until when the next bytes have to come, after n. It returns false if the upload was
// ended.
func (u *upload) advance(n int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.cut {
		u.visit.control.SetReadDeadline(u.lag.after(n, time.Now())) // fails for a test's writer
	}
	return !u.cut
}

// finish says that the body is whole.
func (u *upload) finish() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.whole, u.visit.unread = true, false
	u.visit.control.SetReadDeadline(time.Time{})
}

// stage says how much would be in vain if the upload were ended.
func (u *upload) stage() stage {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.whole {
		return partly
	}
	return waiting
}

// end ends the request, so that others have its memory.
func (u *upload) end() { u.visit.end(errNoMemory()) }

// interrupt ends the reading of a body whose request has ended.
func (u *upload) interrupt() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.cut = true; !u.whole {
		u.visit.control.SetReadDeadline(past)
	}
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// bodyError returns the error for a body that did not come.
func (s *Server) bodyError(v *visit, err error) error {
	var large *http.MaxBytesError
	var slow interface{ Timeout() bool }
	switch {
	case errors.As(err, &large):
		return errorf(http.StatusRequestEntityTooLarge, "body_too_large",
			"the body has more than %d bytes", s.options.MaxBody)
	case errors.As(err, &slow) && slow.Timeout():
		return errorf(http.StatusRequestTimeout, "body_too_slow",
			"the body came too slowly: want at least %d bytes a second, and more of it every %v",
			bodyRate, s.patience.body)
	case errors.As(err, &slow): // of the connection
		return errGone
	case v.request.ProtoMajor > 1 && v.request.Context().Err() != nil:
		return errGone
	}
	v.unread = false // what follows is no body
	return errorf(http.StatusBadRequest, "body_cut", "the body ends too early, or is malformed")
}

// bodyRate is how many bytes a second a body has to bring.
const bodyRate = 1000

// A lag says until when a body may take. All of it comes at bodyRate or faster, from the end of a
// grace on; and so does every later part of it, so that a fast beginning buys no long stall.
type lag struct {
	grace time.Duration
	start time.Time
	until time.Time // of what is left of the grace
	bytes int64
}

func newLag(grace time.Duration, now time.Time) lag {
	return lag{grace: grace, start: now, until: now.Add(grace)}
}

// after returns the time until which the next byte has to come, when n more have come now.
func (l *lag) after(n int, now time.Time) time.Time {
	// exactly at this rate pieces come late now and then
	const each = time.Second / bodyRate * 21 / 20
	l.bytes += int64(n)
	l.until = earlier(l.until.Add(time.Duration(n)*each), now.Add(l.grace))
	return earlier(l.until, l.start.Add(max(l.grace, time.Duration(l.bytes)*each)))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// drainBytes is how much of a body that is not read is drained at most: a client that still sends
// it would lose the answer with the connection.
const drainBytes = 1 << 20

// refuse sends the answer to a request that fails. If its body was not read, one that comes at once
// is taken before, so that the connection can be used again; else what comes is taken after.
func (v *visit) refuse(e *apiError) {
	waits := v.request.Header.Get("Expect") != "" && !v.reading // until it is told to send
	if !v.unread || v.request.ProtoMajor > 1 || waits {
		v.reply(e.status, e.body())
		return
	}
	v.control.SetReadDeadline(time.Now().Add(v.patience.drain))
	left := int64(drainBytes)
	if n := v.request.ContentLength; !v.reading && 0 < n && n <= drainBytes/4 {
		got, err := io.CopyN(io.Discard, v.request.Body, n)
		if left -= got; err == nil {
			v.reply(e.status, e.body())
			return
		}
	}
	v.control.EnableFullDuplex() // else net/http waits for the body before it answers
	v.Header().Set("Connection", "close")
	v.Header().Set("Content-Length", strconv.Itoa(len(e.body())+1))
	v.reply(e.status, e.body())
	v.control.Flush()
	io.CopyN(io.Discard, v.request.Body, left)
}

// Shares of what is bounded: room in the queue, memory for bodies and for answers. Whoever comes
// first may have all of it; when others come, the client with most makes room.

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
			found = cmp.Or(found, held)
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
