package serve_test

// Requests that are cut, and clients that go: no answer says that all was well.

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"picogpt/dev/testmodel"
	"picogpt/dev/watchdog"
	"picogpt/model"
	"picogpt/serve"
)

// A record is a log that can be read while it is written.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

// statuses returns the statuses of the requests so far, and forgets them.
func (r *record) statuses(t *testing.T, n int) string {
	t.Helper()
	var all []string
	eventually(t, "all requests are in the log", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		all = nil
		for _, found := range regexp.MustCompile(` status=(\d+)`).FindAllStringSubmatch(r.text.String(), -1) {
			all = append(all, found[1])
		}
		return len(all) >= n
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text.Reset()
	return strings.Join(all, " ")
}

func TestWhatIsCutIsNoSuccess(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	var log record
	c := startWith(t, m, serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	whole := raw(endless)
	stream := raw(strings.Replace(endless, "{", `{"stream":true,`, 1))
	chunked := "POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, x := range []struct {
		about, sent string
		half        bool   // the client closes its half; else it sends no more
		answer      string // how what it gets begins, "" for nothing
		status      string // in the log
	}{
		{"truncated", whole[:len(whole)-1], true, "HTTP/1.1 400 ", "400"},
		{"without a byte of the body", whole[:strings.Index(whole, "{")], true, "HTTP/1.1 400 ", "400"},
		{"chunks that end", chunked + "5\r\n{\"a\"", true, "HTTP/1.1 400 ", "400"},
		{"chunks without a last one", chunked + "2\r\n{}\r\n", true, "HTTP/1.1 400 ", "400"},
		{"a chunk without a length", chunked + "zz\r\n{}\r\n", false, "HTTP/1.1 400 ", "400"},
		{"half-closed", whole, true, "", "499"},
		{"a stream, half-closed", stream, true, "", "499"},
	} {
		conn := c.dial(x.sent)
		if x.half {
			conn.(*net.TCPConn).CloseWrite()
		}
		conn.SetReadDeadline(time.Now().Add(watchdog.Wait))
		answer, err := io.ReadAll(conn)
		begun := strings.Contains(x.about, "stream") && bytes.Contains(answer, []byte("text/event-stream"))
		switch {
		case begun && !bytes.Contains(answer, []byte("[DONE]")): // the stream had begun, and is cut
		case err != nil || !bytes.HasPrefix(answer, []byte(x.answer)) || x.answer == "" && len(answer) > 0:
			t.Errorf("%s: %.300q, %v; want %q", x.about, answer, err, x.answer)
		}
		if got := log.statuses(t, 1); got != x.status {
			t.Errorf("%s: status %s in the log, want %s", x.about, got, x.status)
		}
		c.idle(m)
	}
	for about, sent := range map[string]string{"400": whole[:len(whole)-9], "499": whole + ""} {
		for range 10 {
			conn := c.dial(sent)
			if about == "499" {
				eventually(t, "it is being written", func() bool { return m.CacheBytes() > 0 })
			}
			conn.Close()
			if got := log.statuses(t, 1); got != about {
				t.Errorf("closed: status %s in the log, want %s", got, about)
			}
			c.idle(m)
		}
	}
}

func TestASlowReaderIsNoSuccess(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	var log record
	c := startWith(t, m, serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c.server.SetPatience(time.Second, 100*time.Millisecond, time.Minute)
	conn := c.dial(raw(`{"stream":true,"prompt":"Once","max_tokens":250,"ignore_eos":true,"n":128,"logprobs":100}`))
	conn.(*net.TCPConn).SetReadBuffer(1 << 10)
	if got := log.statuses(t, 1); got != "499" {
		t.Errorf("status %s in the log, want 499", got)
	}
	c.idle(m)
}

func TestCodingsOfBodies(t *testing.T) {
	c := start(t, serve.Options{Template: "{{.Text}}"})
	for coding, want := range map[string]int{
		"identity": 200, "Identity": 200, "": 200, "gzip": 415, "br": 415, "identity, gzip": 415,
	} {
		r, text := c.post("/tokenize", `{"prompt":"a"}`, "Content-Encoding", coding)
		if r.StatusCode != want || want == 415 && (r.Header.Get("Accept-Encoding") != "identity" ||
			decoded[apiError](t, text).Error.Code != "unsupported_encoding") {
			t.Errorf("%q: status %d, %v: %s", coding, r.StatusCode, r.Header, text)
		}
	}
	for _, path := range []string{"/v1/completions", "/v1/chat/completions", "/v1/embeddings", "/detokenize"} {
		if r, text := c.post(path, "\x1f\x8b", "Content-Encoding", "gzip"); r.StatusCode != 415 {
			t.Errorf("%s: status %d: %s", path, r.StatusCode, text)
		}
	}
}
