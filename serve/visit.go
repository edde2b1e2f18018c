package serve

// A visit: one request, its answer, its ids, and its line in the access log.

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"picogpt/batch"
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

	server  *Server // of the model that answers, nil for the one that was asked
	adapter int     // as Server.chosen returns it
	text    *string // the body, where it was read before the model was known; nil: it was not

	patience patience
	deadline time.Time  // of all writes; zero: none
	writing  sync.Mutex // guards dropped, and the deadline of writing
	dropped  bool       // the client reads too slowly while others need the memory
	unread   bool       // the request has a body that was not read to its end
	reading  bool       // the body was begun to be read
	body     *share     // the memory that it takes; nil: it was not read

	status int // 0 before the answer begins; statusGone if the client went before its end
	bytes  int64
	failed error // to be logged
}

// A note is what the log records of a request beside the fields that every line has.
type note struct {
	model            string
	asked            []slog.Attr // numbers of the request that decide what a text is
	finish           []string    // why texts ended, each reason once
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
		route: route{pattern: other}, unread: r.ContentLength != 0,
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
	v.status = cmp.Or(v.status, http.StatusOK)
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
	if known, ok := errors.AsType[*apiError](context.Cause(v.request.Context())); ok {
		return known
	}
	return errGone
}

// formNotes says in a header of the answer what of a schema restricts nothing, and that its objects
// are closed. The log has no such line: it would quote the client.
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

// clientID is what X-Request-Id may be.
var clientID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9A-Za-z._-]{1,128}$`)
})

// requestID returns the client's X-Request-Id, if it has one and no more, else "".
func requestID(h http.Header) string {
	if sent := h.Values("X-Request-Id"); len(sent) == 1 && clientID().MatchString(sent[0]) {
		return sent[0]
	}
	return ""
}

// A trace is the place of a request in a distributed trace, as W3C's Trace Context has it
// (https://www.w3.org/TR/trace-context/).
type trace struct {
	header string // traceparent: the client's, or made here, in the form of version 00
	id     string // of the trace: 32 hexadecimal digits
	parent string // the client's span: 16 digits; "" if the trace begins here
	span   string // the request's own: 16 digits
}

// traceparent is VERSION-TRACE-PARENT-FLAGS of 2, 32, 16 and 2 lower-case hexadecimal digits.
// Versions after 00 may add fields; ff is none. Ids of zeros are invalid.
var traceparent = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(?:(00)|[0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)
})

// traceOf continues the trace of a request's traceparent if that is valid, else begins one.
func traceOf(h http.Header) trace {
	var random [24]byte
	rand.Read(random[:]) // never fails
	t := trace{span: hex.EncodeToString(random[16:])}
	if sent := h.Values("Traceparent"); len(sent) == 1 {
		m := traceparent().FindStringSubmatch(sent[0])
		if m != nil && sent[0][:2] != "ff" && (m[1] == "" || m[4] == "") &&
			strings.Trim(m[2], "0") != "" && strings.Trim(m[3], "0") != "" {
			t.header, t.id, t.parent = "00"+sent[0][2:55], m[2], m[3]
			return t
		}
	}
	t.id = hex.EncodeToString(random[:16])
	t.header = "00-" + t.id + "-" + t.span + "-01" // 01: it is recorded, in the log
	return t
}

// log writes the line of a visit to the access log, without texts and keys.
func (v *visit) log(to *slog.Logger) {
	level := v.level()
	if !to.Enabled(context.Background(), level) {
		return
	}
	n, from := &v.note, v.request.RemoteAddr
	line := []slog.Attr{slog.String("request", v.name)}
	text := func(name, value string) { // "" is left out
		if value != "" {
			line = append(line, slog.String(name, value))
		}
	}
	if v.name != v.id { // the answer's JSON has the server's
		text("id", v.id)
	}
	line = append(line, slog.String("trace_id", v.trace.id), slog.String("span_id", v.trace.span))
	text("parent_id", v.trace.parent)
	line = append(line, slog.String("client", from))
	if at := v.client.address; !strings.HasPrefix(from, at+":") { // of a proxy, or a /64
		text("address", at)
	}
	text("key", v.client.key)
	text("agent", quote.Plain(v.request.UserAgent(), 200))
	line = append(line,
		slog.String("method", quote.Plain(v.request.Method, 20)), slog.String("path", v.path()),
		slog.Int("status", v.status), slog.Int64("bytes", v.bytes),
		milliseconds("took_ms", time.Since(v.start)))
	if n.prompts > 0 {
		line = append(line, slog.Int("prompts", n.prompts), slog.Int("choices", n.choices),
			slog.Bool("stream", n.stream), slog.Int("prompt_tokens", n.promptTokens),
			slog.Int("completion_tokens", n.completionTokens))
		text("model", n.model)
		line = append(line, n.asked...)
		slices.Sort(n.finish)
		text("finish", strings.Join(n.finish, ","))
	}
	if n.seeded {
		line = append(line, slog.Uint64("seed", n.seed))
	}
	if n.firstToken > 0 {
		line = append(line, milliseconds("first_token_ms", n.firstToken))
	}
	line = append(line, n.phases.attributes()...)
	text("ignored", header(n.ignored))
	line = append(line, failure(v.failed)...)
	to.LogAttrs(context.Background(), level, "request", line...)
}

// level is that of a visit's line. Probes that were answered as they mostly are would hide all
// other lines.
func (v *visit) level() slog.Level {
	switch {
	case v.route.probe &&
		(v.status == http.StatusOK || v.status == http.StatusServiceUnavailable):
		return slog.LevelDebug
	case v.status >= 500:
		return slog.LevelError
	}
	return slog.LevelInfo
}

// milliseconds is a duration for programs that read the log: a number, to the microsecond, whose
// unit its name has.
func milliseconds(name string, d time.Duration) slog.Attr {
	return slog.Float64(name, float64(d.Microseconds())/1e3)
}

// phases says where the time of a request's texts went: from the first that was submitted until one
// had a place, from there until one had its first token, and from there to the end.
type phases struct{ submitted, placed, first, last time.Time }

// add adds the texts of a prompt that has ended.
func (p *phases) add(g *batch.Progress) {
	earliest(&p.submitted, g.Submitted)
	earliest(&p.placed, g.Placed)
	earliest(&p.first, g.First)
	p.last = time.Now()
}

// earliest sets *t to u if u is earlier. The zero time is none.
func earliest(t *time.Time, u time.Time) {
	if t.IsZero() || !u.IsZero() && u.Before(*t) {
		*t = u
	}
}

// attributes returns the phases that began.
func (p *phases) attributes() (all []slog.Attr) {
	times := []time.Time{p.submitted, p.placed, p.first, p.last}
	for i, name := range []string{"queue_ms", "prompt_ms", "decode_ms"} {
		from, to := times[i], times[i+1]
		if from.IsZero() {
			break
		}
		if to.IsZero() { // the phase was the last one
			to = p.last
		}
		all = append(all, milliseconds(name, to.Sub(from)))
	}
	return all
}

// failure returns the attributes of an error. A message about a field quotes the client's value,
// which may be a text: the log has only its kind and the field.
func failure(err error) []slog.Attr {
	var known *apiError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &known):
		return []slog.Attr{slog.String("error", err.Error())}
	}
	attrs := []slog.Attr{slog.String("error", cmp.Or(known.code, known.kind()))}
	if known.param != "" {
		attrs = append(attrs, slog.String("field", known.param))
	}
	return attrs
}
