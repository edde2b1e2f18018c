package serve

// A visit: one request, its answer, and what the log says of both.

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"time"

	"picogpt/internal/quote"
)

// A visit is the ResponseWriter of one request. It serves one goroutine at a time.
type visit struct {
	http.ResponseWriter
	request *http.Request
	control *http.ResponseController
	id      string // ours: those of clients may be anybody's
	client  string // who asks, for turns in the queue
	tenant  string // whose texts share what they have in common; "" is everybody's
	start   time.Time
	note    note

	patience time.Duration // for a write
	deadline time.Time     // of all writes, if not zero

	status int // 0 before the answer begins
	bytes  int64
	failed error // to be logged
}

// A note is what the log says of a request beside what every request has.
type note struct {
	prompts, choices int
	promptTokens     int
	completionTokens int
	seed             uint64
	seeded           bool // seed is of use
	ignored          []string
	stream           bool
	firstToken       time.Duration
}

func newVisit(w http.ResponseWriter, r *http.Request, p patience) *visit {
	v := &visit{
		ResponseWriter: w, request: r, control: http.NewResponseController(w), id: rand.Text(),
		client: clientOf(r.RemoteAddr), start: time.Now(), patience: p.write,
	}
	h := v.Header()
	h.Set("X-Request-Id", v.id)
	h.Set("X-Content-Type-Options", "nosniff")
	return v
}

// clientOf returns an address without its port.
func clientOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// saltOf is what keeps the prompts of a tenant and a salt apart from others: a digest, because it
// stays as long as what was computed.
func (v *visit) saltOf(salt string) string {
	digest := sha256.Sum256([]byte(v.tenant + "\x00" + salt))
	return string(digest[:])
}

// Unwrap is for http.ResponseController.
func (v *visit) Unwrap() http.ResponseWriter { return v.ResponseWriter }

func (v *visit) WriteHeader(status int) {
	if v.status == 0 || v.status < http.StatusOK {
		v.status = status
	}
	v.ResponseWriter.WriteHeader(status)
}

func (v *visit) Write(b []byte) (int, error) {
	if v.status == 0 {
		v.status = http.StatusOK
	}
	deadline := v.deadline
	if deadline.IsZero() {
		deadline = time.Now().Add(v.patience)
	}
	v.control.SetWriteDeadline(deadline) // what cannot have one needs none
	n, err := v.ResponseWriter.Write(b)
	v.bytes += int64(n)
	return n, err
}

// path returns the path for messages.
func (v *visit) path() string { return quote.Plain(v.request.URL.Path, 80) }

// reply sends JSON.
func (v *visit) reply(status int, body []byte) {
	v.beginJSON(status)
	v.Write(append(body, '\n')) // an error is the client's going
}

func (v *visit) beginJSON(status int) {
	v.Header().Set("Content-Type", "application/json")
	v.Header().Set("Cache-Control", "no-store")
	v.WriteHeader(status)
}

// replyPart sends a part of an answer that succeeds: all of it has the time of one write, for what
// is not sent is held.
func (v *visit) replyPart(b []byte) error {
	if v.status == 0 {
		v.beginJSON(http.StatusOK)
		v.deadline = time.Now().Add(v.patience)
	}
	if _, err := v.Write(b); err != nil {
		return errGone
	}
	return nil
}

// fail sends an error, if no other answer has begun. One that has is cut off.
func (v *visit) fail(err error) {
	v.failed = err
	if errors.Is(err, errGone) {
		return
	}
	if v.status != 0 {
		panic(http.ErrAbortHandler)
	}
	e := asAPI(err)
	if e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable {
		v.Header().Set("Retry-After", "1")
	}
	v.reply(e.status, e.body())
}

// errGone says that the client does not wait for an answer any more.
var errGone = errors.New("the client is gone")

// ignore notes fields that nothing came of, and tells the client.
func (v *visit) ignore(names []string) {
	v.note.ignored = names
	if shown := header(names); shown != "" {
		v.Header().Set("X-Ignored-Fields", shown)
	}
}
