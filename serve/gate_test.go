package serve_test

// The beginning and the end of a server: before its model is there, and when it goes.

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
)

// asked returns the answer of a handler.
func asked(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(`{"max_tokens":1}`))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestBeforeTheModelIsThere(t *testing.T) {
	var log bytes.Buffer
	gate := &serve.Gate{Log: slog.New(slog.NewTextHandler(&log, nil))}
	metrics := gate.Metrics(true)
	if w := asked(gate, "GET", "/health"); w.Code != 200 {
		t.Errorf("/health: %d", w.Code)
	}
	for _, path := range []string{"GET /ready", "GET /metrics", "GET /", "GET /v1/models", "POST /health",
		"POST /v1/completions", "GET /nothing"} {
		method, path, _ := strings.Cut(path, " ")
		w := asked(gate, method, path)
		if w.Code != 503 || w.Header().Get("Retry-After") == "" ||
			decoded[apiError](t, w.Body.String()).Error.Code != "loading" {
			t.Errorf("%s %s: %d, %v, %s", method, path, w.Code, w.Header(), w.Body)
		}
	}
	for _, path := range []string{"/metrics", "/health"} {
		if w := asked(metrics, "GET", path); w.Code != 503 {
			t.Errorf("%s of the metrics' own listener: %d", path, w.Code)
		}
	}
	if strings.Contains(log.String(), "/ready") || !strings.Contains(log.String(), "error=loading") {
		t.Errorf("the log has not what was refused alone: %s", &log)
	}
	c := start(t, serve.Options{})
	gate.Open(c.server)
	for _, path := range []string{"/health", "/ready", "/metrics", "/v1/models", "/"} {
		if w := asked(gate, "GET", path); w.Code != 200 {
			t.Errorf("%s: %d once the model is there", path, w.Code)
		}
	}
	if w := asked(metrics, "GET", "/metrics", "Host", "localhost"); w.Code != 200 {
		t.Errorf("/metrics of its own listener: %d once the model is there", w.Code)
	}
	new(serve.Gate).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/ready", nil)) // no log
}

// TestMetricsOfTheirOwnListener: no key for them there, a key on the first, and nothing else.
func TestMetricsOfTheirOwnListener(t *testing.T) {
	c := start(t, serve.Options{Keys: []string{"secret"}, Hosts: []string{"proxy.example"}})
	if w := asked(c.server, "GET", "/metrics"); w.Code != 401 {
		t.Errorf("on the first listener: %d", w.Code)
	}
	if w := asked(c.server, "GET", "/metrics", "Authorization", "Bearer secret"); w.Code != 200 {
		t.Errorf("on the first listener, with the key: %d", w.Code)
	}
	own := c.server.Metrics(false)
	if w := asked(own, "GET", "/metrics"); w.Code != 200 ||
		!strings.Contains(w.Body.String(), "vllm:num_requests_waiting{") {
		t.Errorf("on their own: %d: %s", w.Code, w.Body)
	}
	for path, want := range map[string]int{"GET /v1/models": 404, "GET /ready": 404,
		"POST /v1/completions": 404, "POST /metrics": 405, "HEAD /metrics": 200, "GET /": 404} {
		method, path, _ := strings.Cut(path, " ")
		if w := asked(own, method, path); w.Code != want {
			t.Errorf("%s %s: %d, want %d", method, path, w.Code, want)
		}
	}
	own = c.server.Metrics(true)
	for host, want := range map[string]int{"evil.example": 403, "localhost:9090": 200,
		"[::1]:9090": 200, "proxy.example": 200, "127.0.0.1": 200} {
		if w := asked(own, "GET", "/metrics", "Host", host); w.Code != want {
			t.Errorf("on a loopback address, for %s: %d, want %d", host, w.Code, want)
		}
	}
}

// TestARetiredServerStillAnswers until balancers know: on connections that end.
func TestARetiredServerStillAnswers(t *testing.T) {
	c := start(t, serve.Options{})
	if r, _ := c.do("GET", "/ready", ""); r.StatusCode != 200 || r.Close {
		t.Errorf("before: %d, closes %v", r.StatusCode, r.Close)
	}
	c.server.Retire()
	if r, _ := c.do("GET", "/ready", ""); r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
		t.Errorf("/ready: %d", r.StatusCode)
	}
	if r, _ := c.do("GET", "/health", ""); r.StatusCode != 200 {
		t.Errorf("/health: %d", r.StatusCode)
	}
	if r, text := c.post("/v1/completions", `{"max_tokens":1}`); r.StatusCode != 200 || !r.Close {
		t.Errorf("a request: %d, closes %v: %s", r.StatusCode, r.Close, text)
	}
}

// TestCloseEndsWhatHasNotBegun: what waits for a turn, and a body that comes slowly.
func TestCloseEndsWhatHasNotBegun(t *testing.T) {
	c := start(t, serve.Options{})
	for _, giveBack := range []func(){c.server.TakeTurn(), c.server.TakeFormTurn(),
		c.server.TakeSearchTurn()} {
		defer giveBack()
	}
	answers := make(chan *http.Response, 5)
	waiting := []string{
		`/v1/completions {"guided_regex":"a{9}"}`,
		`/v1/completions {"use_beam_search":true,"n":2}`,
		`/inside {"prompt":"Once"}`,
		`/tokenize {"prompt":"` + strings.Repeat(" cat", 5000) + `"}`,
	}
	for _, x := range waiting {
		path, body, _ := strings.Cut(x, " ")
		go func() {
			r, _ := c.post(path, body)
			answers <- r
		}()
	}
	conn := c.dial("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n" +
		strings.Repeat(" ", 8000))
	defer conn.Close()
	eventually(t, "all wait", func() bool {
		return c.server.Waiting() == 1+2+1+1 && c.server.Bodies() > 0
	})
	c.server.Close()
	eventually(t, "none waits", func() bool { return c.server.Waiting() == 0 && c.server.Bodies() == 0 })
	slow, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	answers <- slow
	for range len(waiting) + 1 {
		if r := <-answers; r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
			t.Errorf("status %d, %v", r.StatusCode, r.Header)
		}
	}
}

// TestEveryStreamThatIsCutOffSaysSo: streams in mid-text when the server closes.
func TestEveryStreamThatIsCutOffSaysSo(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	var begun, ended sync.WaitGroup
	closes := make(chan struct{})
	for i := range cases.Of(3, 16) {
		// More than fits on the way, so that no text ends: nobody reads until the server closes.
		conn := c.dial(raw(fmt.Sprintf(`{"prompt":"Once","max_tokens":250,"ignore_eos":true,"n":2,`+
			`"stream":true,"logprobs":100,"seed":%d}`, i)))
		begun.Add(1)
		ended.Go(func() {
			in := bufio.NewReader(conn)
			r, err := http.ReadResponse(in, nil)
			begun.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Body.Close()
			<-closes
			text, err := io.ReadAll(r.Body)
			data := events(t, string(text))
			if n := len(data); err != nil || n < 3 || data[n-1] != "[DONE]" ||
				!strings.Contains(data[n-2], `"code":"shutting_down"`) {
				t.Errorf("stream %d: %v, ends with %.300q", i, err, text[max(0, len(text)-300):])
			}
		})
	}
	begun.Wait()
	close(closes)
	c.server.Close()
	ended.Wait()
	c.idle(m)
}
