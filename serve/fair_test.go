package serve_test

// One client that takes all it can get, and a polite one beside it.

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"picogpt/batch"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
)

// behind makes the test a proxy, whose clients have the addresses that from gives.
func behind(o serve.Options) serve.Options {
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	return o
}

func from(address string) []string { return []string{"X-Forwarded-For", address} }

// TestAClientWithManyConnectionsShutsNobodyOut: one client asks again and again over more
// connections than the queue has room for, with requests of one text, of many samples or of many
// prompts. Another finds room each time, and some of the first are told to come again.
func TestAClientWithManyConnectionsShutsNobodyOut(t *testing.T) {
	cases.NotShort(t)
	for _, x := range []struct {
		about, body string
		connections int
	}{
		{"texts", `{"prompt":"Once","max_tokens":20,"ignore_eos":true}`, 20},
		{"samples", `{"prompt":"Once","max_tokens":20,"n":9,"stream":true}`, 4},
		{"prompts", `{"prompt":[` + strings.Repeat(`"Once",`, 31) + `"Tom"],"max_tokens":10}`, 4},
	} {
		m := testmodel.Demo(t, model.Options{Threads: 1})
		c := startWith(t, m, behind(serve.Options{MaxQueue: 14,
			Batcher: batch.Options{MaxStreams: 2}}))
		ctx, cancel := context.WithCancel(t.Context())
		var many sync.WaitGroup
		var refused atomic.Int32
		for range x.connections {
			many.Go(func() {
				for ctx.Err() == nil {
					status, text := c.ask(ctx, x.body, from("192.0.2.1")...)
					full := status == http.StatusTooManyRequests
					if full || strings.Contains(text, "queue_full") { // a stream that had begun
						refused.Add(1)
					} else if status != http.StatusOK && ctx.Err() == nil {
						t.Errorf("%s: status %d: %.200s", x.about, status, text)
					}
				}
			})
		}
		eventually(t, "the queue is full", func() bool { return refused.Load() > 0 })
		for i := range cases.Of(3, 200) {
			status, text := c.ask(ctx, `{"prompt":"Lily","max_tokens":2}`, from("192.0.2.2")...)
			if status != http.StatusOK {
				t.Errorf("%s: the polite client's request %d: status %d: %s", x.about, i, status, text)
			}
		}
		cancel()
		many.Wait()
		c.idle(m)
	}
}

// ask sends a request that ends with a context, and returns the status and what came: 0 for none.
func (c *client) ask(ctx context.Context, body string, header ...string) (status int, text string) {
	r, err := http.NewRequestWithContext(ctx, "POST", c.url+"/v1/completions",
		strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return 0, ""
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(all)
}

// TestARequestThatMakesRoomAnswers429, with Retry-After; the others of its client stay.
func TestARequestThatMakesRoomAnswers429(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{MaxQueue: 3, NamedKeys: []serve.Key{{Name: "alice", Value: "a"},
		{Name: "bob", Value: "b"}}, Batcher: batch.Options{MaxStreams: 1}})
	for path, x := range map[string]struct {
		body string
		hold func() (giveBack func()) // the turn for which the requests wait
	}{
		"/v1/completions": {`{"max_tokens":2,"guided_regex":"a{%d}"}`, c.server.TakeFormTurn},
		"/tokenize":       {`{"prompt":"%d` + strings.Repeat(" cat", 5000) + `"}`, c.server.TakeTurn},
	} {
		giveBack := x.hold()
		answers := make(chan *http.Response, 4)
		for i := range 4 {
			go func() {
				r, _ := c.post(path, fmt.Sprintf(x.body, i+1), "Authorization", "Bearer a")
				answers <- r
			}()
		}
		eventually(t, "the queue is full", func() bool { return c.server.Waiting() == 4 })
		r, text := c.post("/v1/completions", `{"max_tokens":2}`, "Authorization", "Bearer b")
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: the other client: status %d: %s", path, r.StatusCode, text)
		}
		giveBack()
		refused := 0
		for range 4 {
			switch r := <-answers; {
			case r.StatusCode == http.StatusTooManyRequests && r.Header.Get("Retry-After") == "1":
				refused++
			case r.StatusCode != http.StatusOK:
				t.Errorf("%s: status %d, Retry-After %q", path, r.StatusCode,
					r.Header.Get("Retry-After"))
			}
		}
		if refused != 1 {
			t.Errorf("%s: %d requests made room, want 1", path, refused)
		}
		c.idle(m)
	}
}

// TestSlowReadersMakeRoom: texts that have begun, and that nobody reads, are not in the way of others.
func TestSlowReadersMakeRoom(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, behind(serve.Options{MaxQueue: 2,
		Batcher: batch.Options{MaxStreams: 2, MaxDelay: time.Millisecond}}))
	const body = `{"prompt":"Once","max_tokens":250,"ignore_eos":true,"logprobs":100,"stream":true,"n":%d}`
	for _, n := range []int{2, 1, 1} { // two texts in two slots; then those that take their slots
		conn := c.dial(strings.Replace(raw(fmt.Sprintf(body, n)), "Host: x",
			"Host: x\r\nX-Forwarded-For: 192.0.2.1", 1))
		defer conn.Close()
		conn.(*net.TCPConn).SetReadBuffer(1 << 10)
		if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1"))); err != nil {
			t.Fatal(err)
		}
	}
	status, text := c.ask(t.Context(), `{"prompt":"Lily","max_tokens":2}`, from("192.0.2.2")...)
	if status != http.StatusOK {
		t.Errorf("the polite client: status %d: %s", status, text)
	}
}
