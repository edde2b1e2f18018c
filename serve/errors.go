package serve

// Errors as clients see them: a status, and OpenAI's JSON.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/model"
	"picogpt/sample"
)

// An apiError is the answer to a request that fails.
type apiError struct {
	status  int
	message string
	param   string        // the field; "" if none is wrong
	code    string        // "" is null
	retry   time.Duration // after which it may succeed, of a 429 or 503; below a second: at once
}

func (e *apiError) Error() string { return e.message }

// errorf returns an apiError.
func errorf(status int, code, format string, args ...any) *apiError {
	return &apiError{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// fieldf returns an error about a field; its message begins with the field's name.
func fieldf(field, format string, args ...any) *apiError {
	return &apiError{
		status: http.StatusBadRequest, param: field,
		message: field + ": " + fmt.Sprintf(format, args...),
	}
}

// kinds holds the types of errors, by status.
var kinds = map[int]string{
	http.StatusUnauthorized:       "authentication_error",
	http.StatusForbidden:          "permission_error",
	http.StatusNotFound:           "not_found_error",
	http.StatusTooManyRequests:    "rate_limit_error",
	http.StatusServiceUnavailable: "service_unavailable_error",
}

func (e *apiError) kind() string {
	if kind, ok := kinds[e.status]; ok {
		return kind
	}
	if e.status >= http.StatusInternalServerError {
		return "server_error"
	}
	return "invalid_request_error"
}

// An errorJSON is the JSON of an error.
type errorJSON struct {
	Message string     `json:"message"`
	Type    string     `json:"type"`
	Param   textOrNull `json:"param"`
	Code    textOrNull `json:"code"`
}

type textOrNull any

// errorAnswer is the JSON of an answer that is an error.
type errorAnswer struct {
	Error *errorJSON `json:"error"`
}

// failures returns the statuses of the errors that a route may answer with.
func (s *Server) failures(r route) []int {
	all := []int{http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusInternalServerError}
	add := func(may bool, statuses ...int) {
		if may {
			all = append(all, statuses...)
		}
	}
	add(s.door.keys.wanted && !r.open, http.StatusUnauthorized)
	add(r.pattern != "/health", http.StatusServiceUnavailable)
	add(r.pattern == oneModel, http.StatusNotFound)
	add(r.fields != nil, http.StatusBadRequest, http.StatusNotFound, http.StatusRequestTimeout,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusTooManyRequests)
	add(r.fields != nil && s.options.Timeout > 0, http.StatusGatewayTimeout)
	return all
}

func (e *apiError) json() *errorJSON {
	null := func(s string) textOrNull {
		if s == "" {
			return nil
		}
		return s
	}
	return &errorJSON{e.message, e.kind(), null(e.param), null(e.code)}
}

// body returns the JSON of an answer that is an error.
func (e *apiError) body() []byte {
	b, _ := json.Marshal(errorAnswer{e.json()}) // strings always have JSON
	return b
}

// asAPI returns err as an apiError. Any other error is a fault of the server, and its message goes
// to the log only.
func asAPI(err error) *apiError {
	if known, ok := errors.AsType[*apiError](err); ok {
		return known
	}
	return errorf(http.StatusInternalServerError, "internal_error", "the server made a mistake")
}

// explain turns an error of a request's work into one that clients understand. An error that is the
// server's own fault is returned unchanged.
func (s *Server) explain(v *visit, err error) error {
	var (
		panicked panicError
		option   *sample.OptionError
		long     *model.ContextError
		negative *decode.NegativeError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &panicked):
		panic(panicked.Error())
	case errors.Is(err, context.DeadlineExceeded):
		v.Header().Set("X-Should-Retry", "false") // a retry would take as long
		return errorf(http.StatusGatewayTimeout, "timeout", "the answer took more than %v",
			s.options.Timeout)
	case errors.Is(err, context.Canceled):
		return v.gone()
	case errors.Is(err, batch.ErrClosed), errors.Is(err, model.ErrClosed):
		return errDraining()
	case errors.Is(err, model.ErrCacheFull):
		return errorf(http.StatusServiceUnavailable, "cache_full",
			"the memory for the cache does not hold this text")
	case errors.As(err, &option), batch.IsDeadEnd(err), errors.Is(err, model.ErrNoLogits):
		return errorf(http.StatusBadRequest, "", "%v", err)
	case errors.As(err, &negative):
		return fieldf("negative_prompt", "%v", err)
	case errors.As(err, &long):
		return tooLong("prompt", long.Positions, long.Held+long.Added, "", allowance{})
	}
	return err
}

// finishError is the finish_reason of a dead end: a text that cannot continue, because the options
// leave no id that may come next.
const finishError = "error"

// deadEnd ends choices for which no id may come next, with their texts so far. It returns an error
// of another kind.
func (j *job) deadEnd(choices []*choice, err error) error {
	if !batch.IsDeadEnd(err) {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range choices {
		c.finish, c.failed = finishError, errorf(http.StatusBadRequest, "", "%v", err)
		c.text = append(c.text, c.raw[min(c.shown, len(c.raw)):]...) // perhaps of a stop string
		j.ended(c)
		if err := j.took(c, nil); err != nil {
			return err
		}
	}
	return nil
}

// allFailed returns the error of the first choice if all are dead ends.
func (j *job) allFailed() error {
	var first error
	for _, c := range j.choices {
		switch {
		case c.finish == "": // a search found fewer
		case c.failed == nil:
			return nil
		case first == nil:
			first = c.failed
		}
	}
	return first
}
