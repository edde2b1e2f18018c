package serve_test

// Texts that wait: what their clients see meanwhile, and for how long they may.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"picogpt/batch"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/internal/chat"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
)

// TestAWaitingStreamSaysSo in the bubble's time: its headers and a comment after three seconds, and
// others every fifteen, so that proxies keep the connection.
func TestAWaitingStreamSaysSo(t *testing.T) {
	o := serve.Options{Template: chat.Plain,
		Batcher: batch.Options{MaxStreams: 1, MaxDelay: time.Hour}}
	for path, body := range map[string]string{
		"/v1/completions":      `{"prompt":"Tom","max_tokens":3,"stream":true}`,
		"/v1/chat/completions": `{"messages":[{"role":"user","content":"a"}],"max_tokens":3,"stream":true}`,
	} {
		inPipes(t, o, func(t *testing.T, p *pipes) {
			leave := p.server.Occupy()
			e := p.dial()
			fmt.Fprint(e, strings.Replace(raw(body), "/v1/completions", path, 1))
			for _, x := range []struct {
				after time.Duration
				want  string
			}{
				{2 * time.Second, ""},
				{2 * time.Second, ": waiting\n\n"}, // 4 s
				{13 * time.Second, ": waiting\n\n"},
				{2 * time.Second, ": waiting\n\n: waiting\n\n"}, // 19 s
			} {
				time.Sleep(x.after)
				synctest.Wait()
				if _, got := e.status(); got != x.want {
					t.Errorf("%s: %q, want %q", path, got, x.want)
				}
			}
			leave()
			synctest.Wait()
			status, got := e.status()
			rest, ok := strings.CutPrefix(got, ": waiting\n\n: waiting\n\ndata: ")
			if status != 200 || !ok || !strings.HasSuffix(rest, "data: [DONE]\n\n") {
				t.Errorf("%s: %d %q", path, status, got)
			}
		})
	}
}

// TestAWaitingStreamThatFailsSaysSo as an event, because its headers are sent.
func TestAWaitingStreamThatFailsSaysSo(t *testing.T) {
	o := serve.Options{Timeout: 10 * time.Second,
		Batcher: batch.Options{MaxStreams: 1, MaxDelay: time.Hour}}
	inPipes(t, o, func(t *testing.T, p *pipes) {
		defer p.server.Occupy()()
		e := p.dial()
		fmt.Fprint(e, raw(`{"prompt":"Tom","max_tokens":3,"stream":true}`))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		_, got := e.status()
		if !strings.HasPrefix(got, ": waiting\n\ndata: {\"error\":") ||
			!strings.HasSuffix(got, "\n\ndata: [DONE]\n\n") || !strings.Contains(got, `"timeout"`) {
			t.Errorf("%q", got)
		}
	})
}

// TestAStreamThatWaitsForItsModelSaysSo in the bubble's time, and its errors are events then; before,
// and for an answer that is no stream, they have their status.
func TestAStreamThatWaitsForItsModelSaysSo(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	other := func(name string, after time.Duration, wrong error) serve.Other {
		return serve.Other{Name: name, Bytes: 1,
			Open: func(context.Context) (*serve.Server, func(), error) {
				if time.Sleep(after); wrong != nil {
					return nil, nil, wrong
				}
				s, err := serve.New(m, tokenizer.GPT2(), serve.Options{Name: name, Template: chat.Plain})
				return s, func() {}, err
			}}
	}
	o := serve.Options{Template: chat.Plain, Models: []serve.Other{other("soon", time.Second, nil),
		other("late", 10*time.Second, nil), other("bad", 10*time.Second, errors.New("no"))}}
	for _, x := range []struct {
		path, body string
		status     int
		begin, end string
		has        string
	}{
		{"/v1/completions", `{"model":"late","prompt":"Tom","max_tokens":2,"stream":true}`, 200,
			": waiting\n\ndata: {\"id\"", "data: [DONE]\n\n", `"model":"late"`},
		{"/v1/completions", `{"model":"late","prompt":"Tom","max_tokens":-2,"stream":true}`, 200,
			": waiting\n\ndata: {\"error\":", "data: [DONE]\n\n", `"param":"max_tokens"`},
		{"/v1/completions", `{"model":"bad","prompt":"Tom","stream":true}`, 200,
			": waiting\n\ndata: {\"error\":", "data: [DONE]\n\n", `"internal_error"`},
		{"/v1/responses", `{"model":"late","input":"Tom","max_output_tokens":2,"stream":true}`, 200,
			": waiting\n\nevent: response.created\ndata: ", "\n\n", `"response.incomplete"`},
		{"/v1/responses", `{"model":"bad","input":"Tom","stream":true}`, 200,
			": waiting\n\nevent: error\ndata: {\"type\":\"error\"", "}\n\n", `"internal_error"`},
		{"/v1/completions", `{"model":"soon","prompt":"Tom","max_tokens":-2,"stream":true}`, 400,
			"{\"error\":", "}\n", `"param":"max_tokens"`},
		{"/v1/completions", `{"model":"late","prompt":"Tom","max_tokens":-2}`, 400, "{\"error\":", "}\n",
			`"param":"max_tokens"`},
		{"/tokenize", `{"model":"bad","prompt":"Tom","stream":true}`, 500, "{\"error\":", "}\n",
			`"internal_error"`},
	} {
		inPipes(t, o, func(t *testing.T, p *pipes) {
			e := p.dial()
			fmt.Fprint(e, strings.Replace(raw(x.body), "/v1/completions", x.path, 1))
			time.Sleep(11 * time.Second)
			synctest.Wait()
			status, got := e.status()
			if status != x.status || !strings.HasPrefix(got, x.begin) || !strings.HasSuffix(got, x.end) ||
				!strings.Contains(got, x.has) {
				t.Errorf("%s %s: %d %q, want %d %q … %s … %q", x.path, x.body, status, got, x.status, x.begin,
					x.has, x.end)
			}
		})
	}
}

// TestWhatWouldWaitTooLongIsRefused by the tokens that wait, at a rate that the test sets.
func TestWhatWouldWaitTooLongIsRefused(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{Keys: []string{"a", "b"}, MaxWait: 30 * time.Second,
		Template: chat.Plain, Batcher: batch.Options{MaxStreams: 1, MaxDelay: time.Hour}})
	const prompt = `"ignore_eos":true,"prompt":"Once","max_tokens":`
	c.server.SetRate(10)
	leave := c.server.Occupy()
	var all sync.WaitGroup
	waits := 0
	begin := func(key, body string) {
		all.Go(func() {
			if r, text := c.post("/v1/completions", body, "Authorization", "Bearer "+key); r.StatusCode != 200 {
				t.Errorf("%s of %s: %d %s", body, key, r.StatusCode, text)
			}
		})
		waits++
		eventually(t, "it waits", func() bool { return c.server.Backlog() == waits })
	}
	refused := func(key, path, body, retry string) {
		t.Helper()
		r, text := c.post(path, body, "Authorization", "Bearer "+key)
		if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != retry ||
			!strings.Contains(text, `"wait_too_long"`) {
			t.Errorf("%s: %d, Retry-After %q, want %q: %s", body, r.StatusCode,
				r.Header.Get("Retry-After"), retry, text)
		}
	}
	begin("a", "{"+prompt+"199}")
	begin("a", "{"+prompt+"99}") // 200 tokens wait before it, 20 s
	begin("a", "{"+prompt+"9}")  // 300 tokens, 30 s
	refused("a", "/v1/completions", "{"+prompt+"9}", "1")
	refused("a", "/v1/completions", `{"stream":true,`+prompt+"9}", "1")
	c.server.SetRate(5)
	refused("a", "/v1/completions", "{"+prompt+"9}", "32")
	refused("a", "/v1/embeddings", `{"input":"Once"}`, "32")
	refused("a", "/v1/chat/completions",
		`{"stream":true,"messages":[{"role":"user","content":"a"}]}`, "32")
	begin("b", "{"+prompt+"99}") // its turn comes after 100 of a's tokens
	refused("b", "/v1/completions", "{"+prompt+"99}", "30")
	_, metrics := c.do("GET", "/metrics", "", "Authorization", "Bearer a")
	if !strings.Contains(metrics, `handler="/v1/completions",model_name="demo",status="429"} 4`) {
		t.Errorf("the metrics have no 429: %s", metrics)
	}
	leave()
	all.Wait()
	c.idle(m)
	if n := c.server.Backlog(); n != 0 {
		t.Errorf("%d requests are still in the backlog", n)
	}
}

// TestTheRateIsMeasured while all slots are taken.
func TestTheRateIsMeasured(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{Batcher: batch.Options{MaxStreams: 2}})
	c.complete(`{"max_tokens":5,"ignore_eos":true}`)
	if rate := c.server.Rate(); rate != 0 {
		t.Errorf("%v with a free slot", rate)
	}
	c.complete(`{"max_tokens":50,"ignore_eos":true,"n":4}`)
	if rate := c.server.Rate(); !(rate > 0) {
		t.Errorf("%v with full slots", rate)
	}
}
