package serve_test

// Limits of a request, and its unknown fields.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
)

func TestTextsOfARequestAreBounded(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{Template: "{{.Text}}", MaxBody: 32 << 20})
	long := func(n int) string { return strings.Repeat("x", n) }
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ","+format, i)
		}
		return b.String()[1:]
	}
	for _, x := range []struct{ path, body, param, message string }{
		{"/v1/completions", `{"prompt":"a","cache_salt":"` + long(257) + `"}`, "cache_salt",
			"at most 256 bytes, found 257"},
		{"/v1/completions", `{"prompt":"a","cache_salt":"` + long(1<<20) + `"}`, "cache_salt",
			"at most 256 bytes"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}],"cache_salt":"` +
			long(257) + `"}`, "cache_salt", "at most 256 bytes"},
		{"/v1/completions", `{"prompt":"a","stop":"` + long(1025) + `"}`, "stop", "1024 bytes"},
		{"/v1/completions", `{"prompt":"a","stop":["a","` + long(1025) + `"]}`, "stop", "1024"},
		{"/v1/completions", `{"prompt":"a","bad_words":["` + long(1025) + `"]}`, "bad_words",
			"1024 bytes"},
		{"/v1/completions", `{"prompt":"a",` + many(1001, `"%d":1`) + `}`, "", "1000 members"},
		{"/v1/completions", `{"prompt":"a","stream_options":{` + many(1001, `"%d":1`) + `}}`,
			"stream_options", "1000 members"},
		{"/v1/completions", `{"prompt":"a","guided_choice":["` + long(1<<20+1) + `"]}`,
			"guided_choice", "1048576 bytes"},
		{"/v1/completions", `{"prompt":"a","guided_choice":[` +
			many(3000, `"`+long(400)+`%d"`) + `]}`, "guided_choice", "1048576 bytes"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[` +
			many(10001, `{"type":"text","text":"%d"}`) + `]}]}`, "messages", "10000 parts"},
		{"/v1/embeddings", `{"input":["a","` + long(1<<20) + `"]}`, "input", "maximum context"},
		{"/v1/completions", `{"prompt":["a","` + long(1<<20) + `"]}`, "prompt", "maximum context"},
		{"/tokenize", `{"prompt":"` + long(1<<20+1) + `"}`, "prompt",
			"at most 1048576 bytes, found 1048577"},
		{"/tokenize", `{"content":"` + long(30<<20) + `"}`, "content", "at most 1048576 bytes"},
		{"/detokenize", `{"tokens":[` + strings.Repeat("0,", 1<<20) + `0]}`, "tokens",
			"at most 1048576 ids"},
		{"/detokenize", `{"tokens":[` + strings.Repeat("10052,", 1<<17) + `0]}`, "tokens",
			"at most 1048576 bytes"}, // 16 hyphens each
	} {
		c.refused(x.path, x.body, http.StatusBadRequest, x.param, x.message)
	}
	for path, body := range map[string]string{
		"/v1/completions": `{"prompt":"a","max_tokens":1,"cache_salt":"` + long(256) +
			`","stop":["` + long(1024) + `"],"bad_words":["` + long(1024) + `"],` +
			many(1000, `"%d":1`) + `}`,
		"/tokenize":   `{"prompt":"` + strings.Repeat(" cat", 1<<18) + `"}`,
		"/detokenize": `{"tokens":[` + strings.Repeat("3797,", 1<<18-1) + `3797]}`, // " cat"
	} {
		if r, text := c.post(path, body); r.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d: %.300s", path, r.StatusCode, text)
		}
	}
}

// TestLongTextsWaitForTheirTurn: in the queue, and not longer than their clients.
func TestLongTextsWaitForTheirTurn(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{MaxQueue: 1})
	long, _ := json.Marshal(strings.Repeat("a long text ", 2000))
	release := c.server.TakeTurn()
	for path, body := range map[string]string{
		"/tokenize":       `{"prompt":` + string(long) + `}`,
		"/v1/completions": `{"max_tokens":1,"prompt":` + string(long) + `}`,
		"/v1/embeddings":  `{"input":` + string(long) + `}`,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			r, err := http.NewRequestWithContext(ctx, "POST", c.url+path, strings.NewReader(body))
			if err == nil {
				_, err = http.DefaultClient.Do(r)
			}
			done <- err
		}()
		eventually(t, path+" waits", func() bool { return c.server.Waiting() == 1 })
		if r, text := c.post("/tokenize", `{"prompt":"a short text"}`); r.StatusCode != 200 {
			t.Errorf("%s: a short text has to wait: %d, %s", path, r.StatusCode, text)
		}
		cancel()
		if err := <-done; err == nil {
			t.Errorf("%s: an answer without a turn", path)
		}
		c.idle(m)
	}
	release()
	if r, text := c.post("/tokenize", `{"prompt":`+string(long)+`}`); r.StatusCode != 200 {
		t.Errorf("with a turn: status %d, %.200s", r.StatusCode, text)
	}
}

// TestAMisspeltPromptIsNoPrompt: the unknown field is most likely the prompt, misspelt.
func TestAMisspeltPromptIsNoPrompt(t *testing.T) {
	c := start(t, serve.Options{Template: "{{.Text}}"})
	for _, x := range []struct{ path, body, param, message string }{
		{"/v1/completions", `{"promt":"Once"}`, "promt", "did you mean prompt?"},
		{"/v1/completions", `{"Prompt":"Once"}`, "Prompt", "did you mean prompt?"},
		{"/v1/completions", `{"zeta":1,"promtp":"Once","seed":1}`, "promtp", "did you mean prompt?"},
		{"/v1/completions", `{"temprature":0}`, "temprature", "did you mean temperature?"},
		{"/v1/completions", `{"inputs":"Once"}`, "inputs", "does not know the field, and the " +
			"request has no prompt"},
		{"/v1/completions", `{"prompt":null,"text":"Once"}`, "text", "no prompt"},
		{"/v1/completions", `{"stream_options":{"x":1},"stream":true}`, "stream_options.x",
			"no prompt"},
		{"/v1/chat/completions", `{"mesages":[{"role":"user","content":"hi"}]}`, "mesages",
			"did you mean messages?"},
		{"/v1/chat/completions", `{"prompt":"hi"}`, "prompt", "no messages"},
		{"/v1/embeddings", `{"imput":"hi"}`, "imput", "did you mean input?"},
		{"/tokenize", `{"promt":"hi"}`, "promt", "did you mean prompt?"},
		{"/tokenize", `{"contents":"hi"}`, "contents", "did you mean content?"},
		{"/detokenize", `{"token":[1]}`, "token", "did you mean tokens?"},
	} {
		c.refused(x.path, x.body, http.StatusBadRequest, x.param, x.message)
	}
	for _, body := range []string{`{"max_tokens":1}`, `{"prompt":"","zeta":1,"max_tokens":1}`,
		`{"prompt":"Once","promt":"x","max_tokens":1}`, `{"prompt":[],"zeta":1,"max_tokens":1}`} {
		c.complete(body)
	}
}
