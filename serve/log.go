package serve

// The access log: one line for each request, without texts and keys.

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"picogpt/internal/quote"
)

// log writes the line of a visit.
func (s *Server) log(v *visit) {
	level := slog.LevelInfo
	if v.status >= 500 {
		level = slog.LevelError
	}
	if !s.options.Log.Enabled(context.Background(), level) {
		return
	}
	n := &v.note
	line := []slog.Attr{
		slog.String("request", v.id), slog.String("client", v.request.RemoteAddr),
		slog.String("method", quote.Plain(v.request.Method, 20)), slog.String("path", v.path()),
		slog.Int("status", v.status), slog.Int64("bytes", v.bytes),
		slog.Duration("took", time.Since(v.start).Round(time.Microsecond)), // slog's time is when
	}
	if n.prompts > 0 {
		line = append(line, slog.Int("prompts", n.prompts), slog.Int("choices", n.choices),
			slog.Bool("stream", n.stream), slog.Int("prompt_tokens", n.promptTokens),
			slog.Int("completion_tokens", n.completionTokens))
	}
	if n.seeded {
		line = append(line, slog.Uint64("seed", n.seed))
	}
	if n.firstToken > 0 {
		line = append(line, slog.Duration("first_token", n.firstToken.Round(time.Microsecond)))
	}
	if names := header(n.ignored); names != "" {
		line = append(line, slog.String("ignored", names))
	}
	line = append(line, failure(v.failed)...)
	s.options.Log.LogAttrs(context.Background(), level, "request", line...)
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
