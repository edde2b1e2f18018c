package fakehub

// Faults, as a network and its servers have them.

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

var zeroTime time.Time // of files whose age nobody says

// For meets requests of a host and a method whose path ends so, the first times of them; 0 is
// always.
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

// All meets each request with the first fault that takes it.
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

// Cut ends the connection after n bytes of what was asked for; -1 is before the headers.
func Cut(n int) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ string, body []byte) bool {
		if n >= 0 {
			send(w, r, body, n)
		}
		panic(http.ErrAbortHandler)
	}
}

// send sends n bytes of an answer that would have more.
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

// Hang sends n bytes of what was asked for and no more; -1 is nothing at all.
func Hang(n int) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ string, body []byte) bool {
		if n >= 0 {
			send(w, r, body, n)
		}
		<-r.Context().Done()
		return true
	}
}

// Slow sends what was asked for at some bytes each time.
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

// Whole answers a request for a part with 200 and all of it, but for the bytes after n; 0 leaves
// none out.
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

// Other answers with other bytes, as many.
func Other(w http.ResponseWriter, r *http.Request, _ string, body []byte) bool {
	b := make([]byte, len(body))
	copy(b, body)
	b[len(b)/2] ^= 1
	send(w, r, b, len(b))
	return true
}

// Endless sends bytes until nobody reads them.
func Endless(w http.ResponseWriter, r *http.Request, _ string, _ []byte) bool {
	b := make([]byte, 64<<10)
	for r.Context().Err() == nil {
		if _, err := w.Write(b); err != nil {
			break
		}
	}
	return true
}

// More sends more bytes than there are, and says so.
func More(w http.ResponseWriter, r *http.Request, _ string, body []byte) bool {
	w.Write(append(body[:len(body):len(body)], "and more"...))
	return true
}
