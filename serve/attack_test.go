package serve_test

// Attacks on other servers, each named by its number, and random bodies.

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/dev/watchdog"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
)

// TestFormsThatCost: regexes, schemas and grammars that take much time or memory, while others are
// served.
func TestFormsThatCost(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{})
	bodies := []string{
		`"guided_regex":"(a+)+b"`, // CVE-2026-55574
		`"guided_regex":"((((a{30}){30}){30}){30})"`,
		`"guided_regex":"` + strings.Repeat(
			"(",
			30000,
		) + strings.Repeat(
			")",
			30000,
		) + `"`, // GHSA-7rgv-gqhr-fxg3
		`"guided_grammar":"root ::= ` + strings.Repeat("(", 30000) + `"`,
		`"guided_grammar":"root ::= a\na ::= a"`,
		`"guided_grammar":"root ::= \"a\" root | root"`, // CVE-2026-105757
		`"guided_json":` + strings.Repeat(`{"items":`, 5000) + "{}" + strings.Repeat("}", 5000),
		`"guided_json":{"$ref":"#"}`,
		`"guided_json":{"allOf":[{"$ref":"#"},{"type":"string"}]}`,
		`"guided_json":{"$ref":"file:///etc/passwd"}`,
		`"guided_json":{"type":"string","pattern":"(a|aa)*(b|bb)*c{500}"}`,
		`"guided_regex":"` + strings.Repeat("a", 300000) + `"`,
		`"guided_choice":[` + strings.Repeat(`"x",`, 10000) + `"x"]`,
		`"guided_json":{"allOf":[` + strings.Repeat(`{"anyOf":[{"maxLength":1},{"minLength":3}]},`, 11) +
			strings.Repeat(`{"minimum":1},`, 5000) + `{}]}`,
		`"guided_json":{"allOf":[` + strings.Repeat(`{"exclusiveMinimum":-1e999999},`, 5000) + `{}]}`,
		`"guided_grammar":"root ::= ` + strings.Repeat(`(`, 8) + `\"\"` + strings.Repeat(`){2000}`, 8) + `"`,
		`"guided_regex":"(?i)` + strings.Repeat(`[b-\\x{1e942}]`, 3000) + `"`,
	}
	var done sync.WaitGroup
	giveBack := c.server.TakeFormTurn() // no form is ready before the neighbour's answer
	for i, body := range bodies {
		done.Go(func() {
			r, text := c.post("/v1/completions", `{"max_tokens":2,"prompt":"a",`+body+"}")
			if s := r.StatusCode; s != 200 && s != 400 {
				t.Errorf("%d, %.60s: status %d: %.300s", i, body, r.StatusCode, text)
			}
		})
	}
	stop := watchdog.Start(t, "neighbours")
	c.complete(`{"max_tokens":1}`)
	giveBack()
	c.complete(`{"max_tokens":1,"guided_choice":["yes","no"]}`)
	stop()
	done.Wait()
}

// TestANewFormEachTime fills the cache of compiled forms (CVE-2025-29770).
func TestANewFormEachTime(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{})
	for i := range serve.KeptForms + 9 {
		a := c.complete(fmt.Sprintf(`{"max_tokens":9,"guided_choice":["%d"],"prompt":"a"}`, i))
		if a.Choices[0].Text != fmt.Sprint(i) {
			t.Errorf("%q, want %d", a.Choices[0].Text, i)
		}
	}
	if n := c.server.Forms(); n != serve.KeptForms {
		t.Errorf("%d forms are kept, want %d", n, serve.KeptForms)
	}
}

// TestLogitBiasForEveryID: a request of half a megabyte succeeds.
func TestLogitBiasForEveryID(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{})
	var b strings.Builder
	for id := range tokenizer.GPT2Size {
		value := "-1"
		if id == 100 {
			value = "99"
		}
		fmt.Fprintf(&b, `,"%d":%s`, id, value)
	}
	a := c.complete(
		`{"max_tokens":3,"return_token_ids":true,"logit_bias":{` + b.String()[1:] + `}}`,
	)
	if got := fmt.Sprint(a.Choices[0].TokenIDs); got != "[100 100 100]" {
		t.Errorf("ids %s", got)
	}
}

// TestLargeBodiesDoNotAddUp slowly sends more bytes than the server holds at a time.
func TestLargeBodiesDoNotAddUp(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{MaxBody: 1 << 20})
	var slow []net.Conn
	for range 8 {
		slow = append(slow, c.dial("POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n"+
			strings.Repeat(" ", 700<<10)))
	}
	eventually(t, "the room for bodies is taken", func() bool { return c.server.Bodies() > 1<<20 })
	if n := c.server.Bodies(); n > 2<<20 {
		t.Errorf("%d bytes are held", n)
	}
	if a := c.complete(`{"max_tokens":1}`); len(a.Choices) != 1 { // a small one has room
		t.Errorf("%+v", a)
	}
	for _, conn := range slow {
		conn.Close()
	}
	c.idle(m)
}

// TestALargeBodyNeedNotCome: the server refuses it after the header.
func TestALargeBodyNeedNotCome(t *testing.T) {
	c := start(t, serve.Options{})
	conn := c.dial("POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
	conn.SetReadDeadline(time.Now().Add(watchdog.Wait))
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || r.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestKeysOfOthersShareNothing: the time of a prompt tells nothing about prompts of other keys
// (CVE-2025-46570).
func TestKeysOfOthersShareNothing(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	o := serve.Options{Keys: []string{"a", "b"}}
	o.Batcher.PrefixBytes = 16 << 20
	c := startWith(t, m, o)
	hits := func() string {
		_, text := c.do("GET", "/metrics", "", "Authorization", "Bearer a")
		_, rest, _ := strings.Cut(text, "\nvllm:prefix_cache_hits_total{")
		line, _, _ := strings.Cut(rest, "\n")
		return line[strings.LastIndex(line, " ")+1:]
	}
	body := bodyOf(strings.Repeat("A secret of mine. ", 8), `"max_tokens":1,"seed":1`)
	salted := strings.Replace(body, "{", `{"cache_salt":"x",`, 1)
	for i, x := range []struct {
		key, body string
		hit       bool
	}{{"a", body, false}, {"b", body, false}, {"b", salted, false}, {"b", body, true}, {"b", salted, true}} {
		before := hits()
		if r, text := c.post(
			"/v1/completions",
			x.body,
			"Authorization",
			"Bearer "+x.key,
		); r.StatusCode != 200 {
			t.Fatalf("status %d: %s", r.StatusCode, text)
		}
		if after := hits(); (after != before) != x.hit {
			t.Errorf("request %d: hits %s, then %s", i, before, after)
		}
	}
}

// FuzzBody sends bodies: each has an answer in JSON, and the server continues.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"prompt":"a","max_tokens":1}`, `{"prompt":[[1,2],[3]],"echo":true,"logprobs":1,"max_tokens":0}`,
		`{"stream":true,"n":2,"stop":["a"],"logit_bias":{"1":2},"seed":-1,"max_tokens":2}`,
		`{"structured_outputs":{"regex":"a*"},"max_tokens":1}`, `{"prompt":"\ud83d\ude00","temperature":1e-320}`,
		`{"guided_json":{"type":"object"},"max_tokens":3,"best_of":2,"return_token_ids":true}`,
		`{"prompt":null,"suffix":null,"stop":[],"top_p":0}`,
	} {
		f.Add([]byte(seed))
	}
	m := testmodel.Demo(f, model.Options{Threads: 1})
	s, err := serve.New(
		m,
		tokenizer.GPT2(),
		serve.Options{Timeout: time.Second, MaxN: 4, MaxPrompts: 4},
	)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, body []byte) {
		w := httptest.NewRecorder()
		s.ServeHTTP(
			w,
			httptest.NewRequest("POST", "/v1/completions", strings.NewReader(string(body))),
		)
		r := w.Result()
		text, _ := io.ReadAll(r.Body)
		switch {
		case r.StatusCode >= 500 && r.StatusCode != http.StatusGatewayTimeout:
			t.Errorf("%q: status %d: %s", body, r.StatusCode, text)
		case strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream"):
			data := events(t, string(text))
			if data[len(data)-1] != "[DONE]" {
				t.Errorf("%q: the stream ends with %q", body, data[len(data)-1])
			}
		case r.StatusCode == 200:
			decoded[answer](t, string(text))
		default:
			if e := decoded[apiError](t, string(text)).Error; e.Message == "" || e.Type == "" {
				t.Errorf("%q: %s", body, text)
			}
		}
		if s.Waiting() != 0 {
			t.Errorf("%q: %d texts are left", body, s.Waiting())
		}
	})
}
