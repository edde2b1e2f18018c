package serve_test

// A seed is a promise: an answer does not depend on the server's other requests.

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/serve"
)

// seeded returns the i-th of many requests, each of another kind than its neighbours.
func seeded(i int) string {
	r := rand.New(rand.NewPCG(uint64(i), 1))
	starts := []string{
		`"Once upon a time"`,
		`"Lily and Tom"`,
		`["One day","The dog","The dog was"]`,
		`[7454,2402,257]`,
		`""`,
		`"` + strings.Repeat("The cat sat. ", 12) + `"`,
	}
	body := fmt.Sprintf(
		`"prompt":%s,"seed":%d,"max_tokens":%d`,
		starts[r.IntN(len(starts))],
		r.Int64(),
		1+r.IntN(24),
	)
	for _, more := range []string{
		`"temperature":0.7`, `"top_p":0.9`, `"n":3`, `"echo":true`, `"logprobs":2`, `"stop":["."," a"]`,
		`"top_k":20,"presence_penalty":0.5`, `"repetition_penalty":1.2`, `"bad_words":[" the"]`,
		`"structured_outputs":{"regex":"[a-z ,.]*"}`, `"min_p":0.05`, `"logit_bias":{"13":2}`,
	} {
		if r.IntN(5) == 0 {
			body += "," + more
		}
	}
	return "{" + body + "}"
}

// essence returns the part of an answer that depends on the request alone.
func essence(t testing.TB, text string) string {
	t.Helper()
	i, j := strings.Index(text, `"choices":`), strings.LastIndex(text, `,"system_fingerprint"`)
	if i < 0 || j < i {
		t.Fatalf("no choices in %s", text)
	}
	return text[i:j]
}

func TestSeedsAloneAndUnderLoad(t *testing.T) {
	cases.NotShort(t)
	n := cases.Of(16, 1000)
	m := testmodel.Demo(t, model.Options{CacheBytes: 24 << 20})
	o := serve.Options{
		Fingerprint: "fp",
		MaxQueue:    5000,
		Batcher:     batch.Options{MaxStreams: 5},
	}
	alone := startWith(t, m, o)
	want := make([]string, n)
	for i := range n {
		r, text := alone.post("/v1/completions", seeded(i))
		if r.StatusCode != 200 {
			t.Fatalf("%s: %d, %s", seeded(i), r.StatusCode, text)
		}
		want[i] = essence(t, text)
	}
	o.Batcher.PrefixBytes = 16 << 20
	c := startWith(t, m, o)
	ctx, stop := context.WithCancel(t.Context())
	var noise, clients sync.WaitGroup
	for k := range 4 { // clients that leave at any time
		noise.Go(func() {
			r := rand.New(rand.NewPCG(uint64(k), 2))
			for ctx.Err() == nil {
				c.leaveEarly(ctx, r)
			}
		})
	}
	var next atomic.Int64
	for range 8 {
		clients.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				r, text := c.post("/v1/completions", seeded(i))
				if r.StatusCode != 200 {
					t.Errorf("%s: %d, %s", seeded(i), r.StatusCode, text)
				} else if got := essence(t, text); got != want[i] {
					t.Errorf("%s:\nalone %s\nunder load %s", seeded(i), want[i], got)
				}
			}
		})
	}
	clients.Wait()
	stop()
	noise.Wait()
	eventually(t, "all is given back", func() bool { return c.server.Waiting() == 0 })
}

// leaveEarly sends a long request, and leaves during the answer.
func (c *client) leaveEarly(ctx context.Context, r *rand.Rand) {
	body := fmt.Sprintf(`{"prompt":"Once upon","max_tokens":%d,"n":%d,"stream":%v,"seed":%d}`,
		1+r.IntN(200), 1+r.IntN(6), r.IntN(2) == 0, r.Int32())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q, err := http.NewRequestWithContext(
		ctx,
		"POST",
		c.url+"/v1/completions",
		strings.NewReader(body),
	)
	if err != nil {
		c.t.Error(err)
		return
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return
	}
	io.CopyN(io.Discard, answer.Body, int64(r.IntN(4000)))
	cancel()
	answer.Body.Close()
}

// TestManyClientsAtOnce sends all of them at once: each is answered, or told to try again.
func TestManyClientsAtOnce(t *testing.T) {
	cases.NotShort(t)
	clients, each := cases.Of(30, 1000), cases.Of(2, 10)
	m := testmodel.Demo(t, model.Options{CacheBytes: 24 << 20})
	c := startWith(t, m, serve.Options{MaxQueue: clients * 2 / 3, Fingerprint: "fp"})
	want := map[string]string{}
	for i := range 10 {
		_, text := c.post("/v1/completions", seeded(i))
		want[seeded(i)] = essence(t, text)
	}
	var done sync.WaitGroup
	var served, refused atomic.Int64
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	for k := range clients {
		done.Go(func() {
			for i := range each {
				body := seeded((k + i) % 10)
				r, err := (&http.Client{Transport: transport}).Post(
					c.url+"/v1/completions",
					"",
					strings.NewReader(body),
				)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(r.Body)
				r.Body.Close()
				switch {
				case err != nil:
					t.Error(err)
				case r.StatusCode == 429:
					refused.Add(1)
				case r.StatusCode != 200:
					t.Errorf("%s: %d, %s", body, r.StatusCode, text)
				default:
					served.Add(1)
					if got := essence(t, string(text)); got != want[body] {
						t.Errorf("%s: %s, want %s", body, got, want[body])
					}
				}
			}
		})
	}
	done.Wait()
	if served.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d served, %d refused", served.Load(), refused.Load())
	}
	c.idle(m)
}

// TestTextsAreThoseOfDecode compares bytes while others are generated. cmd/gpt compares the
// command.
func TestTextsAreThoseOfDecode(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	var done sync.WaitGroup
	for seed := range uint64(cases.Of(12, 24)) {
		prompt := fmt.Sprintf("Day %d:", seed)
		want, _ := direct(t, m, prompt, decode.Options{MaxTokens: 12,
			Params: sample.Params{Temperature: 0.9, Seed: seed}})
		want = string([]rune(want)) // as JSON has bytes that are no character
		done.Go(func() {
			a := c.complete(
				bodyOf(prompt, fmt.Sprintf(`"max_tokens":12,"temperature":0.9,"seed":%d`, seed)),
			)
			if got := a.Choices[0].Text; got != want {
				t.Errorf("seed %d: %q, want %q", seed, got, want)
			}
		})
	}
	done.Wait()
}
