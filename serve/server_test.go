package serve_test

// A server for tests, and its clients.

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
)

// A client sends requests to one server.
type client struct {
	t      testing.TB
	server *serve.Server
	url    string
}

// start starts a server of the demo.
func start(t testing.TB, o serve.Options) *client {
	t.Helper()
	return startWith(t, testmodel.Demo(t, model.Options{Threads: 1}), o)
}

func startWith(t testing.TB, m *model.Model, o serve.Options) *client {
	t.Helper()
	return startTokenizer(t, m, tokenizer.GPT2(), o)
}

func startTokenizer(
	t testing.TB, m *model.Model, tok *tokenizer.Tokenizer, o serve.Options,
) *client {
	t.Helper()
	if o.Name == "" {
		o.Name = "demo"
	}
	s, err := serve.New(m, tok, o)
	if err != nil {
		t.Fatal(err)
	}
	if tok == tokenizer.GPT2() {
		s.ShareVocabulary()
	}
	listener := httptest.NewUnstartedServer(s)
	listener.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		conn.(*net.TCPConn).SetWriteBuffer(16 << 10) // what readers that stop leave unread is little
		return ctx
	}
	listener.Start()
	t.Cleanup(func() {
		s.Close()
		listener.Close()
	})
	return &client{t, s, listener.URL}
}

// post sends a body and returns the answer with its body read.
func (c *client) post(path, body string, header ...string) (*http.Response, string) {
	c.t.Helper()
	return c.do(http.MethodPost, path, body, header...)
}

func (c *client) do(method, path, body string, header ...string) (*http.Response, string) {
	c.t.Helper()
	r, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	if !c.server.Told(r.URL.Path, method, answer.StatusCode) {
		c.t.Errorf("%s %s: a status %d that /openapi.json does not tell of", method, path,
			answer.StatusCode)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer, string(text)
}

// An answer is the JSON of /v1/completions.
type answer struct {
	ID      string
	Object  string
	Model   string
	Created int64
	Choices []choice
	Usage   *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
	}
	SystemFingerprint string `json:"system_fingerprint"`
}

type choice struct {
	Text           string
	Index          int
	Logprobs       *logprobs
	FinishReason   *string `json:"finish_reason"`
	StopReason     any     `json:"stop_reason"`
	PromptTokenIDs []int   `json:"prompt_token_ids"`
	TokenIDs       []int   `json:"token_ids"`
}

type logprobs struct {
	Tokens        []string
	TokenLogprobs []*json.Number            `json:"token_logprobs"`
	TopLogprobs   []*map[string]json.Number `json:"top_logprobs"`
	TextOffset    []int                     `json:"text_offset"`
}

// complete asks for a completion that succeeds.
func (c *client) complete(body string) answer {
	c.t.Helper()
	r, text := c.post("/v1/completions", body)
	if r.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: status %d: %s", body, r.StatusCode, text)
	}
	return decoded[answer](c.t, text)
}

// decoded parses JSON.
func decoded[T any](t testing.TB, text string) (v T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewBufferString(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// events returns the data of a stream's events.
func events(t testing.TB, body string) (data []string) {
	t.Helper()
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		if strings.HasPrefix(event, ":") {
			continue
		}
		text, ok := strings.CutPrefix(event, "data: ")
		if !ok || strings.Contains(text, "\n") {
			t.Fatalf("an event %q", event)
		}
		data = append(data, text)
	}
	return data
}
