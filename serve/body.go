package serve

// The body of a request, read whole: its bytes and its time are limited, for each and for all
// together.

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// bodiesAtOnce bounds the memory of all bodies that are being read or answered, in bodies of the
// greatest size.
const bodiesAtOnce = 2

// A budget bounds a sum.
type budget struct {
	most int64
	used atomic.Int64
}

// take adds n to the sum and returns true if it fits; else it returns false.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) > b.most {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *budget) give(n int64) { b.used.Add(-n) }

// read returns the body, and a function to call when it is no longer used.
func (s *Server) read(v *visit) (whole string, release func(), err error) {
	held := int64(0)
	give := func() { s.bodies.give(held) }
	defer func() {
		if err != nil {
			give()
		}
	}()
	if v.request.ContentLength > s.options.MaxBody { // refused without reading it
		return "", nil, s.bodyError(&http.MaxBytesError{Limit: s.options.MaxBody})
	}
	v.control.SetReadDeadline(time.Now().Add(s.patience.body)) // fails for a test's writer
	defer v.control.SetReadDeadline(time.Time{})
	in := http.MaxBytesReader(v.ResponseWriter, v.request.Body, s.options.MaxBody)
	for body := make([]byte, 0, 1024); ; {
		if len(body) == cap(body) { // memory follows the bytes received, not those announced
			n := int64(cap(body))
			if !s.bodies.take(n) {
				return "", nil, errorf(http.StatusTooManyRequests, "queue_full",
					"the bodies of other requests take all memory there is for them")
			}
			held += n
			body = append(make([]byte, 0, 2*cap(body)), body...)
		}
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			return string(body), give, nil
		case err != nil:
			return "", nil, s.bodyError(err)
		}
	}
}

func (s *Server) bodyError(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return errorf(http.StatusRequestEntityTooLarge, "body_too_large",
			"the body has more than %d bytes", s.options.MaxBody)
	}
	var slow interface{ Timeout() bool }
	if errors.As(err, &slow) && slow.Timeout() {
		return errorf(http.StatusRequestTimeout, "body_too_slow",
			"the body took more than %v to come", s.patience.body)
	}
	return errGone
}
