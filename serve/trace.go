package serve

// Which request this is: the ids that tie it to the client's own log, and to a distributed trace.

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
)

// mostID is the longest X-Request-Id that is taken, in bytes.
const mostID = 128

// requestID returns the client's X-Request-Id, if it has one and no more, of letters, digits, dot,
// underscore and hyphen; else "".
func requestID(h http.Header) string {
	sent := h.Values("X-Request-Id")
	if len(sent) != 1 || len(sent[0]) > mostID ||
		strings.ContainsFunc(sent[0], func(r rune) bool { return !inID(r) }) {
		return ""
	}
	return sent[0]
}

func inID(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		strings.ContainsRune("._-", r)
}

// A trace is the place of a request in a distributed trace, as W3C's Trace Context has it
// (https://www.w3.org/TR/trace-context/).
type trace struct {
	header string // traceparent: the client's, or made here, in the form of version 00
	id     string // of the trace: 32 hexadecimal digits
	parent string // the client's span: 16 digits; "" if the trace begins here
	span   string // the request's own: 16 digits
}

// traceOf continues the trace of a request's traceparent if that is valid, else begins one.
func traceOf(h http.Header) trace {
	var random [24]byte
	rand.Read(random[:]) // never fails
	t := trace{span: hex.EncodeToString(random[16:])}
	if sent := h.Values("Traceparent"); len(sent) == 1 && isTraceparent(sent[0]) {
		t.header, t.id, t.parent = "00"+sent[0][2:55], sent[0][3:35], sent[0][36:52]
		return t
	}
	t.id = hex.EncodeToString(random[:16])
	t.header = "00-" + t.id + "-" + t.span + "-01" // 01: it is recorded, in the log
	return t
}

// isTraceparent reports whether s is VERSION-TRACE-PARENT-FLAGS of 2, 32, 16 and 2 lower-case
// hexadecimal digits. Versions after 00 may add fields; ff is none. Ids of zeros are invalid.
func isTraceparent(s string) bool {
	const shape = "00-00000000000000000000000000000000-0000000000000000-00"
	if len(s) < len(shape) {
		return false
	}
	fields, more := s[:len(shape)], s[len(shape):]
	for i := range len(shape) {
		if digit := strings.IndexByte("0123456789abcdef", fields[i]) >= 0; digit != (shape[i] == '0') ||
			shape[i] == '-' && fields[i] != '-' {
			return false
		}
	}
	return strings.Trim(fields[3:35], "0") != "" && strings.Trim(fields[36:52], "0") != "" &&
		fields[:2] != "ff" && (more == "" || fields[:2] != "00" && more[0] == '-')
}
