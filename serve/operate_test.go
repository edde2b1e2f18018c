package serve_test

// Operation: full queues, clients that leave, stall or send half, panics, shutdowns.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"picogpt/batch"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/dev/watchdog"
	"picogpt/model"
	"picogpt/serve"
)

// eventually waits until holds returns true.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(watchdog.Wait); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("never: %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
	}
}

// idle waits until nothing of any request is left.
func (c *client) idle(m *model.Model) {
	c.t.Helper()
	eventually(c.t, "all is given back", func() bool {
		return c.server.Waiting() == 0 && c.server.Bodies() == 0 && m.CacheBytes() == 0
	})
}

// endless is a request that takes long: 128 texts of 250 tokens.
const endless = `{"prompt":"Once","max_tokens":250,"ignore_eos":true,"n":128,"seed":1}`

// begin sends a request and does not read the answer.
func (c *client) begin(body string) (cancel func()) {
	ctx, stop := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(
		ctx,
		"POST",
		c.url+"/v1/completions",
		strings.NewReader(body),
	)
	if err != nil {
		c.t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		if answer, err := http.DefaultClient.Do(r); err == nil {
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	})
	return func() { stop(); done.Wait() }
}

func TestAFullQueueRefuses(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(
		t,
		m,
		serve.Options{MaxQueue: 130, Batcher: batch.Options{MaxStreams: 2}},
	)
	cancel, cancelOther := c.begin(endless), c.begin(endless) // each takes half
	eventually(t, "256 texts wait", func() bool { return c.server.Waiting() > 200 })
	c.refused("/v1/completions", `{"n":64,"max_tokens":1}`, 429, "", "64 more are too many")
	c.refused("/v1/completions", `{"prompt":["a","b"],"n":64}`, 429, "", "128 more") // counted as n
	r, _ := c.post("/v1/completions", `{"n":128}`)
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	c.refused(
		"/v1/embeddings",
		bodyOf(nil, `"input":["`+strings.Repeat(`a","`, 100)+`a"]`),
		429,
		"",
		"101 more",
	)
	cancel()
	cancelOther()
	c.idle(m)
	if a := c.complete(`{"n":64,"max_tokens":1}`); len(a.Choices) != 64 {
		t.Errorf("%d choices", len(a.Choices))
	}
	c.idle(m)
}

func TestALargeRequestLeavesRoomForOthers(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{MaxQueue: 20, Batcher: batch.Options{MaxStreams: 2}})
	cancel := c.begin(strings.Replace(endless, "250", "40", 1))
	eventually(t, "128 texts wait", func() bool { return c.server.Waiting() > 100 })
	if a := c.complete(`{"max_tokens":1,"n":2}`); len(a.Choices) != 2 {
		t.Errorf("%d choices", len(a.Choices))
	}
	cancel()
	c.idle(m)
	prompts := strings.Repeat(`"a",`, 511) + `"a"`
	c.refused("/v1/completions", `{"prompt":[`+prompts+`],"n":3}`, 400, "n",
		"want at most 1024 texts for all prompts together, found 512 prompts of 3")
}

func TestARequestLargerThanTheQueueRunsAlone(t *testing.T) {
	c := start(t, serve.Options{MaxQueue: 1})
	if a := c.complete(`{"n":100,"max_tokens":1}`); len(a.Choices) != 100 {
		t.Errorf("%d choices", len(a.Choices))
	}
}

func TestAClientThatGoesEndsItsTexts(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	for _, body := range []string{endless, strings.Replace(endless, "{", `{"stream":true,`, 1),
		strings.Replace(endless, `"Once"`, `["Once","Tom","Lily"]`, 1)} {
		cancel := c.begin(body)
		eventually(t, "it is being written", func() bool { return m.CacheBytes() > 0 })
		cancel()
		c.idle(m)
	}
}

// dial sends bytes on a connection of its own.
func (c *client) dial(sent string) net.Conn {
	c.t.Helper()
	conn, err := c.connect()
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, sent); err != nil {
		c.t.Fatal(err)
	}
	return conn
}

func (c *client) connect() (net.Conn, error) {
	return net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
}

func raw(body string) string {
	return fmt.Sprintf(
		"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s",
		len(body),
		body,
	)
}

func TestAReaderThatStopsLosesItsConnection(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	c.server.SetPatience(time.Second, 100*time.Millisecond, time.Minute)
	body := `{"stream":true,"prompt":"Once","max_tokens":250,"ignore_eos":true,"n":128,"logprobs":100}`
	conn := c.dial(raw(body))
	conn.(*net.TCPConn).SetReadBuffer(1 << 10)
	eventually(t, "it is being written", func() bool { return m.CacheBytes() > 0 })
	c.idle(m) // the server read no megabytes
}

// TestCutsAtEveryStage cuts a request after each byte, and an answer after some.
func TestCutsAtEveryStage(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	request := raw(`{"prompt":"Once upon a time","max_tokens":30,"stream":true,"n":3,"seed":1}`)
	want := c.complete(`{"prompt":"Lily","seed":1}`).Choices[0].Text
	for i := range len(request) + 1 {
		conn := c.dial(request[:i])
		if i%2 == 0 {
			conn.(*net.TCPConn).CloseWrite()
		}
		if i == len(request) {
			io.CopyN(io.Discard, conn, 500)
		}
		conn.Close()
	}
	for n := range int64(20) {
		conn := c.dial(request)
		io.CopyN(io.Discard, conn, 50*n)
		if n%2 == 0 {
			conn.(*net.TCPConn).SetLinger(0) // a reset
		}
		conn.Close()
	}
	if got := c.complete(`{"prompt":"Lily","seed":1}`).Choices[0].Text; got != want {
		t.Errorf("after it %q, want %q", got, want)
	}
	c.idle(m)
}

func TestAPanicIsTheEndOfOneRequest(t *testing.T) {
	var log bytes.Buffer
	c := start(t, serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c.server.AddRoute("/panic", func() { panic("on purpose") })
	r, text := c.do("GET", "/panic", "")
	if r.StatusCode != 500 || strings.Contains(text, "purpose") {
		t.Errorf("status %d: %s", r.StatusCode, text)
	}
	if a := c.complete(`{"max_tokens":1}`); len(a.Choices) != 1 {
		t.Errorf("%+v", a)
	}
	if !strings.Contains(log.String(), "on purpose") {
		t.Errorf("the log: %s", &log)
	}
}

func TestAnAnswerHasATime(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{Timeout: 50 * time.Millisecond})
	r, text := c.post("/v1/completions", endless)
	if r.StatusCode != 504 || r.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("status %d: %s", r.StatusCode, text)
	}
	_, body := c.post("/v1/completions", strings.Replace(endless, "{", `{"stream":true,`, 1))
	data := events(t, body)
	if e := decoded[apiError](t, data[len(data)-2]).Error; e.Code != "timeout" {
		t.Errorf("the stream ends with %q", data[len(data)-2:])
	}
	c.idle(m)
}

func TestCloseEndsWhatIsBeingWritten(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	ended := make(chan int)
	go func() {
		r, err := http.Post(c.url+"/v1/completions", "", strings.NewReader(endless))
		if err != nil {
			ended <- 0
			return
		}
		r.Body.Close()
		ended <- r.StatusCode
	}()
	eventually(t, "it is being written", func() bool { return m.CacheBytes() > 0 })
	c.server.Close()
	if status := <-ended; status != 503 {
		t.Errorf("status %d, want 503", status)
	}
	c.idle(m)
}

func TestTheLogHasNoTexts(t *testing.T) {
	var log bytes.Buffer
	c := start(
		t,
		serve.Options{Keys: []string{"the-key"}, Log: slog.New(slog.NewJSONHandler(&log, nil))},
	)
	c.post("/v1/completions", `{"prompt":"zebra","max_tokens":2,"seed":77,"odd":1,"echo":true,"top_k":5,`+
		`"presence_penalty":0.5,"stop":["zebra"]}`,
		"Authorization", "Bearer the-key")
	c.post("/v1/completions", `{"prompt":["zebra",1]}`, "Authorization", "Bearer the-key")
	c.post("/v1/completions", `{"n":"zebra","zebra stripes":1}`, "Authorization", "Bearer the-key")
	c.do("GET", "/x%0aforged%20line?zebra=1", "", "Authorization", "Bearer no-key")
	c.server.Close()
	for _, secret := range []string{"zebra", "the-key", "no-key", "forged line\n"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%s is in the log: %s", secret, &log)
		}
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want 4: %s", len(lines), &log)
	}
	if line := decoded[map[string]any](
		t,
		lines[1],
	); line["field"] != "prompt" ||
		line["error"] == nil {
		t.Errorf("a refused request: %v", line)
	}
	line := decoded[map[string]any](t, lines[0])
	for name, want := range map[string]string{"status": "200", "seed": "77", "ignored": "odd", "choices": "1",
		"path": "/v1/completions", "method": "POST", "completion_tokens": "2", "model": "demo",
		"finish": "length", "max_tokens": "2", "temperature": "1", "top_k": "5", "top_p": "<nil>",
		"frequency_penalty": "<nil>", "presence_penalty": "0.5"} {
		if got := fmt.Sprint(line[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"time", "took_ms"} { // readers keep the last of two with one name
		if n := strings.Count(lines[0], `"`+name+`":`); n != 1 {
			t.Errorf("%d fields are called %s, want 1: %s", n, name, lines[0])
		}
	}
}

func TestAFullDiskUnderTheLog(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full; TestALogThatFails is its twin")
	}
	defer full.Close()
	c := start(t, serve.Options{Log: slog.New(slog.NewTextHandler(full, nil))})
	c.complete(`{"max_tokens":1}`)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestALogThatFails(t *testing.T) {
	c := start(t, serve.Options{Log: slog.New(slog.NewTextHandler(failing{}, nil))})
	c.complete(`{"max_tokens":1}`)
}

func TestNoGoroutineOutlivesClose(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("a server", func(t *testing.T) {
		c := start(t, serve.Options{})
		for range 10 {
			c.begin(endless)()
		}
		c.complete(`{"prompt":["a","b"],"stream":false,"max_tokens":3}`)
		c.post("/v1/completions", `{"stream":true,"max_tokens":3}`)
	})
	http.DefaultClient.CloseIdleConnections()
	eventually(
		t,
		"the goroutines are gone",
		func() bool { return runtime.NumGoroutine() <= before },
	)
}

func TestIdleConnectionsAreNothing(t *testing.T) {
	c := start(t, serve.Options{})
	for range 300 {
		c.dial("")
	}
	c.complete(`{"max_tokens":1}`)
}
