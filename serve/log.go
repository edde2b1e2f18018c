package serve

// The access log: one line for each request, without texts and keys.

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"picogpt/batch"
	"picogpt/internal/quote"
)

// log writes the line of a visit.
func (v *visit) log(to *slog.Logger) {
	level := v.level()
	if !to.Enabled(context.Background(), level) {
		return
	}
	n := &v.note
	line := []slog.Attr{slog.String("request", v.name)}
	if v.name != v.id { // the answer's JSON has the server's
		line = append(line, slog.String("id", v.id))
	}
	line = append(line, slog.String("trace_id", v.trace.id), slog.String("span_id", v.trace.span))
	if v.trace.parent != "" {
		line = append(line, slog.String("parent_id", v.trace.parent))
	}
	line = append(line, slog.String("client", v.request.RemoteAddr))
	if at := v.client.address; !strings.HasPrefix(v.request.RemoteAddr, at+":") && at != "" { // of a proxy, or a /64
		line = append(line, slog.String("address", at))
	}
	if v.client.key != "" {
		line = append(line, slog.String("key", v.client.key))
	}
	if agent := v.request.UserAgent(); agent != "" {
		line = append(line, slog.String("agent", quote.Plain(agent, 200)))
	}
	line = append(line,
		slog.String("method", quote.Plain(v.request.Method, 20)), slog.String("path", v.path()),
		slog.Int("status", v.status), slog.Int64("bytes", v.bytes),
		milliseconds("took_ms", time.Since(v.start)))
	if n.prompts > 0 {
		line = append(line, slog.Int("prompts", n.prompts), slog.Int("choices", n.choices),
			slog.Bool("stream", n.stream), slog.Int("prompt_tokens", n.promptTokens),
			slog.Int("completion_tokens", n.completionTokens))
	}
	if n.seeded {
		line = append(line, slog.Uint64("seed", n.seed))
	}
	if n.firstToken > 0 {
		line = append(line, milliseconds("first_token_ms", n.firstToken))
	}
	line = append(line, n.phases.attributes()...)
	if names := header(n.ignored); names != "" {
		line = append(line, slog.String("ignored", names))
	}
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
	what := known.code
	if what == "" {
		what = known.kind()
	}
	attrs := []slog.Attr{slog.String("error", what)}
	if known.param != "" {
		attrs = append(attrs, slog.String("field", known.param))
	}
	return attrs
}
