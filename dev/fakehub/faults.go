package fakehub

// The faults of a network and its servers.

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

var zeroTime time.Time // for files without a date

// For applies f to requests of a host and a method whose path ends with suffix, the given number of
// times; 0 means always.
func For(host, method, suffix string, times int, f Fault) Fault {
	var met atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, at string, body []byte) bool {
		if at != host || r.Method != method || !strings.HasSuffix(r.URL.Path, suffix) ||
			times > 0 && met.Add(1) > int64(times) {
			return false
		}
		return f(w, r, at, body)
	}
}

// All applies to each request the first fault that answers it.
func All(faults ...Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, host string, body []byte) bool {
		for _, f := range faults {
			if f(w, r, host, body) {
				return true
			}
		}
		return false
	}
}

// Status answers with a status and headers, names and values in turn.
func Status(status int, headers ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ string, _ []byte) bool {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		return true
	}
}

// Cut ends the connection after n bytes of the answer; -1 means before the headers.
func Cut(n int) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ string, body []byte) bool {
		if n >= 0 {
			send(w, r, body, n)
		}
		panic(http.ErrAbortHandler)
	}
}

// send sends n bytes of a longer answer.
func send(w http.ResponseWriter, r *http.Request, body []byte, n int) {
	from := 0
	fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
	from = min(from, len(body))
	w.Header().Set("Content-Length", fmt.Sprint(len(body)-from))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(body)-1, len(body)))
		w.WriteHeader(http.StatusPartialContent)
	}
	w.Write(body[from:min(from+n, len(body))])
	w.(http.Flusher).Flush()
}

// Hang sends n bytes of the answer and then nothing; -1 means nothing at all.
func Hang(n int) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ string, body []byte) bool {
		if n >= 0 {
			send(w, r, body, n)
		}
		<-r.Context().Done()
		return true
	}
}

// Slow sends some bytes of the answer at a time.
func Slow(bytes int, each time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ string, body []byte) bool {
		send(w, r, body, 0)
		from := 0
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		for at := min(from, len(body)); at < len(body) && r.Context().Err() == nil; at += bytes {
			w.Write(body[at:min(at+bytes, len(body))])
			w.(http.Flusher).Flush()
			time.Sleep(each)
		}
		return true
	}
}

// Whole answers a request for a part with status 200 and the whole file, without the bytes after n;
// 0 means all bytes.
func Whole(n int) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ string, body []byte) bool {
		r.Header.Del("Range")
		if n == 0 {
			n = len(body)
		}
		send(w, r, body, n)
		if n < len(body) {
			panic(http.ErrAbortHandler)
		}
		return true
	}
}

// Other answers with other bytes of the same number.
func Other(w http.ResponseWriter, r *http.Request, _ string, body []byte) bool {
	b := make([]byte, len(body))
	copy(b, body)
	b[len(b)/2] ^= 1
	send(w, r, b, len(b))
	return true
}

// Endless sends bytes until the client stops reading.
func Endless(w http.ResponseWriter, r *http.Request, _ string, _ []byte) bool {
	b := make([]byte, 64<<10)
	for r.Context().Err() == nil {
		if _, err := w.Write(b); err != nil {
			break
		}
	}
	return true
}

// More sends more bytes than the file has, and announces them.
func More(w http.ResponseWriter, r *http.Request, _ string, body []byte) bool {
	w.Write(append(body[:len(body):len(body)], "and more"...))
	return true
}
