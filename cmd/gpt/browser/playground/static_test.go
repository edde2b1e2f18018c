package playground_test

// The page without a server: what make page builds, on a host of files.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"picogpt"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// built returns the folder that make page makes: that of $PAGE, if it is set.
var built = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("PAGE"); dir != "" {
		return dir, nil
	}
	above, err := os.MkdirTemp("", "page")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(above, "page")
	out, err := exec.Command("make", "-C", "../../../..", "page", "PAGE="+dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make page: %w\n%s", err, out)
	}
	return dir, nil
})

// A host gives out files and knows nothing of requests to an API. Down, it answers nothing at all.
type host struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // what it did not have
	down  bool
}

func hostOf(t *testing.T) *host {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	h, files := &host{}, http.StripPrefix("/class/", http.FileServer(http.Dir(dir)))
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.down {
			panic(http.ErrAbortHandler)
		}
		name := strings.TrimPrefix(r.URL.Path, "/class/")
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil || r.Method != http.MethodGet {
			h.asked = append(h.asked, r.Method+" "+r.URL.Path)
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

const started = "/demo/.test(document.getElementById('model')?.textContent)"

// ask asks the page's server, as the page does, and returns the JSON of the answer.
func (b tab) ask(path string, body any) string {
	b.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.JS(fmt.Sprintf(`fetch(location.origin + location.pathname.replace(/[^/]*$/, '') + %s,
		{method: 'POST', body: %s}).then(r => r.text())`, quoted(path), quoted(string(text))))
}

// plain returns the JSON of an answer without what differs from answer to answer.
func plain(t *testing.T, text string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	for _, name := range []string{"id", "created", "system_fingerprint"} {
		delete(all, name)
	}
	b, _ := json.Marshal(all) // it came from JSON
	return string(b)
}

func TestThePageWithoutAServer(t *testing.T) {
	h := hostOf(t)
	b := tab{chromium(t), &fake{Server: h.Server}, t}
	b.Forget()
	b.Window(1280, 900, "light")
	b.Open(h.URL+"/class/", started)
	t.Cleanup(b.good)

	gpt, err := picogpt.OpenFS(t.Context(), demo.FS(), picogpt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer gpt.Close()
	s, err := serve.New(testmodel.Demo(t, model.Options{}), tokenizer.GPT2(), serve.Options{Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	// Texts of 50 seeds, whose settings are the command's.
	o := picogpt.Sampling()
	o.MaxTokens = 24
	for seed := range uint64(50) {
		o.Seed = seed + 1
		prompt := []string{"Once upon a time", "The cat", "“Oh!” said", "Lily and Tom"}[seed%4]
		want, err := gpt.Complete(t.Context(), prompt, o)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Choices []struct{ Text string } }
		answer := b.ask("v1/completions", map[string]any{"prompt": prompt, "max_tokens": 24,
			"temperature": o.Temperature, "top_k": o.TopK, "seed": o.Seed})
		if err := json.Unmarshal([]byte(answer), &got); err != nil || len(got.Choices) != 1 ||
			got.Choices[0].Text != want {
			t.Errorf("seed %d: the page writes %.200s, the command %q", o.Seed, answer, want)
		}
	}

	// A score, the lens and the heads, as gpt serve has them.
	for path, body := range map[string]map[string]any{
		"v1/completions": {"prompt": "The dog sat on the mat. A 🐟 naïve 日本語", "max_tokens": 0,
			"echo": true, "logprobs": 5},
		"inside": {"prompt": "Once upon a time there was a little", "top": 5},
	} {
		text, _ := json.Marshal(body) // of plain values
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/"+path, bytes.NewReader(text)))
		if got, want := plain(t, b.ask(path, body)), plain(t, w.Body.String()); got != want ||
			w.Code != http.StatusOK {
			t.Errorf("%s: status %d, the page has\n%.600s\nwant\n%.600s", path, w.Code, got, want)
		}
	}
	if h.asked != nil {
		t.Errorf("the host was asked for %q, want its files alone", h.asked)
	}
}
