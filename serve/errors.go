package serve

// Errors as clients see them: a status, and OpenAI's JSON.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// An apiError is the answer to a request that fails.
type apiError struct {
	status  int
	message string
	param   string        // the field; "" if none is wrong
	code    string        // "" is null
	retry   time.Duration // after which it may succeed, of a 429 or 503; less than a second: at once
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

// An errorJSON is the JSON of an error. Param and Code are strings or nil.
type errorJSON struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"`
	Code    any    `json:"code"`
}

func (e *apiError) json() *errorJSON {
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return &errorJSON{e.message, e.kind(), null(e.param), null(e.code)}
}

// body returns the JSON of an answer that is an error.
func (e *apiError) body() []byte {
	b, _ := json.Marshal(map[string]any{"error": e.json()}) // strings always have JSON
	return b
}

// asAPI returns err as an apiError. Any other error is a fault of the server, and its message goes
// to the log only.
func asAPI(err error) *apiError {
	var known *apiError
	if errors.As(err, &known) {
		return known
	}
	return errorf(http.StatusInternalServerError, "internal_error", "the server made a mistake")
}
