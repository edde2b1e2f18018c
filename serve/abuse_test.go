package serve_test

// Clients that take all they can get, in all ways at once, and a polite one beside them.

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"picogpt/batch"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
)

// TestAbuseHarmsNobody: of the connections, two in five ask as fast as they can, for one text, many
// or large ones; the others send their bodies slowly or not to the end, or read slowly or not at
// all. They are of two clients: by address, then by key. A third client's requests succeed, each.
func TestAbuseHarmsNobody(t *testing.T) {
	if !cases.Long {
		t.Skip("it computes for seconds; TestAClientWithManyConnectionsShutsNobodyOut and " +
			"TestLargeUploadsMakeRoom are its twins")
	}
	for about, who := range map[string][]string{
		"addresses": {"X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 2001:db8::1",
			"X-Forwarded-For: 192.0.2.3"},
		"keys": {"Authorization: Bearer a", "Authorization: Bearer b", "Authorization: Bearer c"},
	} {
		m := testmodel.Demo(t, model.Options{CacheBytes: 24 << 20})
		o := behind(serve.Options{MaxBody: 1 << 20, Batcher: batch.Options{MaxStreams: 4}})
		o.MaxQueue = cases.Of(12, 256)
		if about == "keys" {
			o.NamedKeys = []serve.Key{{Name: "alice", Value: "a"}, {Name: "bob", Value: "b"},
				{Name: "carol", Value: "c"}}
		}
		c := startWith(t, m, o)
		ctx, cancel := context.WithCancel(t.Context())
		var many sync.WaitGroup
		for i := range cases.Of(50, 1000) {
			many.Go(func() { c.abuse(ctx, i, who[i/5%2]) })
		}
		eventually(t, about+": the queue is full", func() bool {
			return c.server.Waiting() >= o.MaxQueue
		})
		name, value, _ := strings.Cut(who[2], ": ")
		for i := range cases.Of(3, 40) {
			body := `{"prompt":"Lily","max_tokens":3,"seed":1}`
			switch i % 3 {
			case 1:
				body = bodyOf("Lily", `"max_tokens":3,"seed":1,"stream":true`)
			case 2: // a body that takes memory
				body = `{"max_tokens":3,"prompt":"Lily"` + strings.Repeat(" ", 70000) + "}"
			}
			if status, text := c.ask(ctx, body, name, value); status != http.StatusOK ||
				strings.Contains(text, `"error"`) {
				t.Errorf("%s: the polite client's request %d: status %d: %.300s", about, i, status, text)
			}
		}
		if n := c.server.Bodies(); n > 2<<20 {
			t.Errorf("%s: %d bytes of bodies are held", about, n)
		}
		cancel()
		many.Wait()
		c.idle(m)
	}
}

// abuse is connection i of somebody who does not care.
func (c *client) abuse(ctx context.Context, i int, who string) {
	random := rand.New(rand.NewPCG(uint64(i), 0))
	header := "POST /v1/completions HTTP/1.1\r\nHost: x\r\n" + who + "\r\n"
	for ctx.Err() == nil {
		body := endless
		switch random.IntN(3) {
		case 1:
			body = `{"prompt":"Once","max_tokens":250,"ignore_eos":true}`
		case 2:
			body = `{"prompt":[` + strings.Repeat(`"Once",`, 300) + `"Tom"],"max_tokens":50}`
		}
		switch i % 5 {
		case 0, 1:
			name, value, _ := strings.Cut(who, ": ")
			c.ask(ctx, body, name, value)
		case 2: // a large body that stalls
			c.stall(ctx, header+"Content-Length: 1048576\r\n\r\n"+strings.Repeat(" ", 900<<10))
		case 3: // small ones, some without an end, some without a beginning
			whole := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", header, len(body), body)
			c.stall(ctx, whole[:random.IntN(len(whole))])
		case 4: // nobody reads the answer
			body = `{"stream":true,"logprobs":100,` + body[1:]
			c.stall(ctx, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", header, len(body), body))
		}
	}
}

// stall sends bytes on a connection of its own, and waits until the server gives it up or a while
// has passed.
func (c *client) stall(ctx context.Context, sent string) {
	conn, err := c.connect()
	if err != nil {
		return // refused, as there are many
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, sent); err != nil {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(5 * time.Second):
	}
}
