package playground_test

// A server of the same API with a made-up model, whose answers tests know and can hold.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"

	"picogpt/serve/page"
)

// A fake answers as gpt serve does. Its tokens are words, and its text is a list of words in order,
// from the start at each request.
type fake struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []map[string]any // of completions, in the order of arrival
	words   []string         // the words that the model writes
	key     string           // the key that the server wants, "" for none
	context int
	saved   string        // generation_config of its model, as JSON; "" for none
	hold    int           // after so many tokens, a stream waits for resume; 0 for never
	resumed chan struct{} // what it waits for
	ignored string        // X-Ignored-Fields
	failure string        // an error in the stream after a token
	cut     bool          // a connection that ends after a token
	bare    bool          // the page has no scripts
	shift   int           // whose levels of surprise the first token has
	used    bool          // the tab shows its page, and another test may use that
}

// reset makes a fake as good as new.
func (f *fake) reset() {
	f.set(func() {
		f.bodies, f.words = nil, []string{" there", " was", " a", " little", " girl", "."}
		f.key, f.context, f.hold, f.resumed = "", 64, 0, make(chan struct{})
		f.saved = ""
		f.ignored, f.failure, f.cut, f.bare, f.shift = "", "", false, false, 0
	})
}

// resume lets streams that wait continue.
func (f *fake) resume() { f.set(func() { close(f.resumed) }) }

func newFake() *fake {
	f := &fake{}
	f.reset()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		gone := f.bare && r.URL.Path == "/page/main.js"
		f.mu.Unlock()
		if gone {
			http.NotFound(w, r)
			return
		}
		page.Handler().ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {})
	mux.HandleFunc("GET /v1/models", f.guard(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		saved := cmp.Or(f.saved, "null")
		f.mu.Unlock()
		fmt.Fprintf(w, `{"object":"list","data":[{"id":"fake","object":"model","max_model_len":%d,`+
			`"generation_config":%s}]}`, f.most(), saved)
	}))
	mux.HandleFunc("POST /tokenize", f.guard(f.tokenize))
	mux.HandleFunc("POST /v1/completions", f.guard(f.complete))
	mux.HandleFunc("POST /v1/chat/completions", f.guard(f.answer))
	f.Server = httptest.NewServer(mux)
	return f
}

// most returns the length of the context.
func (f *fake) most() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.context
}

// set changes the behaviour of the fake.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// last returns the newest request for a completion.
func (f *fake) last() map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.bodies) == 0 {
		return nil
	}
	return f.bodies[len(f.bodies)-1]
}

func (f *fake) guard(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		key, ignored := f.key, f.ignored
		f.mu.Unlock()
		if key != "" && r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":{"message":"no key","code":"invalid_api_key"}}`)
			return
		}
		if ignored != "" {
			w.Header().Set("X-Ignored-Fields", ignored)
		}
		h(w, r)
	}
}

var word = regexp.MustCompile(`\s?[^\s]+|\s`)

func split(text string) []string { return word.FindAllString(text, -1) }

func (f *fake) tokenize(w http.ResponseWriter, r *http.Request) {
	var q struct{ Prompt string }
	json.NewDecoder(r.Body).Decode(&q)
	fmt.Fprintf(w, `{"count":%d,"max_model_len":%d,"tokens":[]}`, len(split(q.Prompt)), f.most())
}

// logprobs is the JSON of the log-probabilities of tokens from the i-th word on.
type logprobs struct {
	Tokens []string             `json:"tokens"`
	Token  []*float64           `json:"token_logprobs"`
	Top    []map[string]float64 `json:"top_logprobs"`
}

// chance returns the probability of the i-th token: the levels of surprise take turns.
func chance(i int) float64 { return []float64{0.9, 0.3, 0.05, 0.005, 0.0005}[i%5] }

func (l *logprobs) add(i int, token string) {
	p := math.Log(chance(i))
	l.Tokens = append(l.Tokens, token)
	l.Token = append(l.Token, &p)
	l.Top = append(l.Top, map[string]float64{token: p, " dog": math.Log(0.04),
		"<b>x</b>": math.Log(0.02), `bytes:\xe2\x80`: math.Log(0.01)})
}

type choice struct {
	Index     int       `json:"index"`
	Text      string    `json:"text"`
	Logprobs  *logprobs `json:"logprobs"`
	Reason    *string   `json:"finish_reason"`
	IDs       []int     `json:"token_ids"`
	PromptIDs []int     `json:"prompt_token_ids,omitempty"`
}

func (f *fake) complete(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	f.set(func() { f.bodies = append(f.bodies, body) })
	prompt, _ := body["prompt"].(string)
	most := int(body["max_tokens"].(float64))
	if len(split(prompt))+most > f.most() {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"message":"prompt: too long","code":"context_length_exceeded"}}`)
		return
	}
	if body["echo"] == true {
		f.echo(w, prompt)
		return
	}
	if body["stream"] != true {
		io.WriteString(w, `{"choices":[{"text":" there"}]}`)
		return
	}
	n := 1
	if given, ok := body["n"].(float64); ok {
		n = int(given)
	}
	f.mu.Lock()
	words, shift := f.words, f.shift
	f.mu.Unlock()
	f.stream(w, r, n, most, func(j, i int, reason *string) any {
		var l logprobs
		l.add(i+shift, words[i])
		return choice{Index: j, Text: words[i], Logprobs: &l, IDs: []int{100 + i}, Reason: reason}
	})
}

// answer answers a conversation, whose text is all that was said.
func (f *fake) answer(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), 400)
		return
	}
	f.set(func() { f.bodies = append(f.bodies, body) })
	said := 0
	for _, m := range body["messages"].([]any) {
		said += len(split(m.(map[string]any)["content"].(string)))
	}
	most := int(body["max_tokens"].(float64))
	if said+most > f.most() {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"message":"messages: too long","code":"context_length_exceeded"}}`)
		return
	}
	f.stream(w, r, 1, most, func(_, i int, reason *string) any {
		delta := map[string]string{"content": f.words[i]}
		if i == 0 {
			delta["role"] = "assistant"
		}
		return map[string]any{"index": 0, "delta": delta, "finish_reason": reason}
	})
}

func (f *fake) echo(w http.ResponseWriter, prompt string) {
	var l logprobs
	var ids []int
	for i, token := range split(prompt) {
		l.add(i, token)
		ids = append(ids, 1000+i)
	}
	l.Token[0], l.Top[0] = nil, nil
	json.NewEncoder(w).Encode(map[string]any{"choices": []choice{{Text: prompt, Logprobs: &l,
		PromptIDs: ids}}})
}

// stream streams n choices of at most so many words, the i-th of the j-th made by a function. The last
// ends because it is as long as it may be.
func (f *fake) stream(w http.ResponseWriter, r *http.Request, n, most int,
	choice func(j, i int, reason *string) any) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(value any) {
		b, _ := json.Marshal(value)
		fmt.Fprintf(w, "data: %s\n\n", b)
		w.(http.Flusher).Flush()
	}
	f.mu.Lock()
	words, hold, resumed, failure, cut := f.words, f.hold, f.resumed, f.failure, f.cut
	f.mu.Unlock()
	for i := range min(most, len(words)) {
		for j := range n {
			var reason *string
			if i == min(most, len(words))-1 {
				reason = &[]string{"length"}[0]
			}
			send(map[string]any{"choices": []any{choice(j, i, reason)}})
		}
		if i+1 == hold {
			select {
			case <-resumed:
			case <-r.Context().Done():
				return
			}
		}
		switch {
		case failure != "":
			send(map[string]any{"error": map[string]any{"message": failure}})
			return
		case cut:
			panic(http.ErrAbortHandler)
		}
	}
	io.WriteString(w, "data: [DONE]\n\n")
}
