package serve

// A visit: one request, its answer, and the log's record of both.

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"picogpt/internal/quote"
)

// A visit is the ResponseWriter of one request. It serves one goroutine at a time.
type visit struct {
	http.ResponseWriter
	request *http.Request
	control *http.ResponseController
	id      string // the server's, for its answers: ids from clients need not be unique
	name    string // for the log and the client: the client's own X-Request-Id, else id
	trace   trace
	route   route
	client  client
	tenant  string // who shares the caches with it

	end   context.CancelCauseFunc // ends the request's context with the error that is its answer
	stop  []func() bool           // ends what endWith began
	start time.Time
	note  note

	patience patience
	deadline time.Time  // of all writes; zero: none
	writing  sync.Mutex // guards dropped, and the deadline of writing
	dropped  bool       // the client reads too slowly while others need the memory
	unread   bool       // the request has a body that was not read to its end
	reading  bool       // the body was begun to be read

	status int // 0 before the answer begins; statusGone if the client went before its end
	bytes  int64
	failed error // to be logged
}

// A note is what the log records of a request beside the fields that every line has.
type note struct {
	prompts, choices int
	promptTokens     int
	completionTokens int
	seed             uint64
	seeded           bool // the seed matters
	ignored          []string
	stream           bool
	firstToken       time.Duration // of the new ones
	phases           phases
}

func newVisit(w http.ResponseWriter, r *http.Request, p patience) *visit {
	v := &visit{
		ResponseWriter: w, request: r, control: http.NewResponseController(w), id: rand.Text(),
		start: time.Now(), patience: p, trace: traceOf(r.Header),
		route: route{pattern: "other"}, unread: r.ContentLength != 0,
	}
	if v.unread { // also one that nobody reads: net/http takes it before the answer
		v.control.SetReadDeadline(v.start.Add(p.body))
	}
	ctx, end := context.WithCancelCause(r.Context())
	v.request, v.end = r.WithContext(ctx), end
	v.name = cmp.Or(requestID(r.Header), v.id)
	h := v.Header()
	h.Set("X-Request-Id", v.name)
	h.Set("Traceparent", v.trace.header)
	h.Set("X-Content-Type-Options", "nosniff")
	return v
}

// endWith ends the request when a context ends, with its cause.
func (v *visit) endWith(ctx context.Context) {
	v.stop = append(v.stop, context.AfterFunc(ctx, func() { v.end(context.Cause(ctx)) }))
}

// release releases what waits for the end of the request.
func (v *visit) release() {
	for _, stop := range v.stop {
		stop()
	}
	v.end(nil)
}

// Unwrap implements the interface of http.ResponseController.
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
	v.writing.Lock()
	if !v.dropped {
		deadline := v.deadline
		if deadline.IsZero() {
			deadline = time.Now().Add(v.patience.write)
		}
		v.control.SetWriteDeadline(deadline) // writers without deadlines need none
	}
	v.writing.Unlock()
	n, err := v.ResponseWriter.Write(b)
	v.bytes += int64(n)
	if err != nil && v.request.Method != http.MethodHead {
		v.status = statusGone
	}
	return n, err
}

// drop ends the answer where it is, so that others have its memory.
func (v *visit) drop() {
	v.writing.Lock()
	defer v.writing.Unlock()
	v.dropped = true
	v.control.SetWriteDeadline(past)
}

// path returns the path for messages.
func (v *visit) path() string { return quote.Plain(v.request.URL.Path, 80) }

// reply sends JSON.
func (v *visit) reply(status int, body []byte) {
	v.beginJSON(status)
	v.Write(append(body, '\n')) // an error means that the client is gone
}

func (v *visit) beginJSON(status int) {
	v.Header().Set("Content-Type", "application/json")
	v.Header().Set("Cache-Control", "no-store")
	v.WriteHeader(status)
}

// replyPart sends a part of a successful answer. All parts together have the time of one write,
// because unsent data stays in memory.
func (v *visit) replyPart(b []byte) error {
	if v.status == 0 {
		v.beginJSON(http.StatusOK)
		v.deadline = time.Now().Add(v.patience.write)
	}
	if _, err := v.Write(b); err != nil {
		return errGone
	}
	return nil
}

// fail sends an error if no other answer has begun; if one has, it aborts the connection.
func (v *visit) fail(err error) {
	v.failed = err
	if errors.Is(err, errGone) {
		v.status = statusGone
	}
	if v.status != 0 { // an empty answer with status 200 would be a lie
		panic(http.ErrAbortHandler)
	}
	e := asAPI(err)
	if e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable {
		seconds := max(1, int(math.Ceil(e.retry.Seconds())))
		v.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	v.refuse(e)
}

// statusGone is what the log and the metrics have for a client that went: nginx's.
const statusGone = 499

// errGone says that the client no longer waits for an answer.
var errGone = errors.New("the client is gone")

// gone returns why a request was ended: an error for its client, or errGone.
func (v *visit) gone() error {
	var known *apiError
	if errors.As(context.Cause(v.request.Context()), &known) {
		return known
	}
	return errGone
}

// formNotes says in a header of the answer what of a schema restricts nothing, and that its objects
// are closed. The log has no such
// line: it would quote the client.
func (v *visit) formNotes(notes []string) {
	shown := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, strings.Join(notes, "; "))
	if shown != "" {
		v.Header().Set("X-Schema-Notes", shown[:min(len(shown), 1024)])
	}
}

// ignore records ignored fields, and names them in a header of the answer.
func (v *visit) ignore(names []string) {
	v.note.ignored = names
	if shown := header(names); shown != "" {
		v.Header().Set("X-Ignored-Fields", shown)
	}
}
