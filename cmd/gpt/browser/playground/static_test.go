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
	"regexp"
	"strings"
	"sync"
	"testing"

	"picogpt"
	"picogpt/checkpoint"
	"picogpt/cmd/gpt/browser"
	"picogpt/dev/testmodel"
	"picogpt/internal/chat"
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

// A host gives out files and knows nothing of requests to an API. Down, it answers nothing at all. Held,
// it keeps the end of the engine until the channel is closed.
type host struct {
	*httptest.Server
	dir   string
	mu    sync.Mutex
	asked []string // what it did not have
	style int      // how often it was asked for style.css
	down  bool
	held  chan struct{}
	more  map[string][]byte // files beside the page's
}

func hostOf(t testing.TB) *host {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	h := &host{dir: dir}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/class/")
	h.mu.Lock()
	if h.down {
		h.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	if _, err := os.Stat(filepath.Join(h.dir, name)); (err != nil || r.Method != http.MethodGet) &&
		h.more[name] == nil {
		h.asked = append(h.asked, r.Method+" "+r.URL.Path)
	}
	if name == "page/style.css" {
		h.style++
	}
	h.mu.Unlock()
	w.Header().Set("Cache-Control", "max-age=600") // as hosts of files say
	switch {
	case h.more[name] != nil:
		w.Write(h.more[name])
	case h.held != nil && name == "page/engine.wasm.gz":
		b, _ := os.ReadFile(filepath.Join(h.dir, name)) // or nothing comes
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.Write(b[:len(b)/2])
		w.(http.Flusher).Flush()
		<-h.held
		w.Write(b[len(b)/2:])
	default:
		http.StripPrefix("/class/", http.FileServer(http.Dir(h.dir))).ServeHTTP(w, r)
	}
}

// on returns a new tab for the page of a host.
func (h *host) on(t *testing.T) tab {
	t.Helper()
	b := tab{browser.Open(t), &fake{Server: h.Server}, t}
	b.Window(1280, 900, "light")
	t.Cleanup(b.good)
	return b
}

// start opens the page of a host, and waits for its engine.
func (b tab) start(fragment string) {
	b.t.Helper()
	b.Open(b.URL+"/class/"+fragment, "true")
	b.patiently(started)
}

// patiently is Wait for what an engine computes, perhaps on a busy machine.
func (b tab) patiently(expression string) {
	b.t.Helper()
	for range 8 {
		if b.JS("new Promise(done => { const end = performance.now() + 10_000, ask = () => ("+expression+
			") || performance.now() > end ? done(!!("+expression+")) : requestAnimationFrame(ask); ask(); })") ==
			"true" {
			return
		}
	}
	b.t.Fatalf("it does not become true: %s; %s %s", expression, b.JS(status), b.JS(problem))
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

// drop drops files of the host on the page.
func (b tab) drop(names ...string) {
	b.t.Helper()
	list, _ := json.Marshal(names) // strings have a JSON
	b.JS(`(async () => {
		const all = new DataTransfer();
		for (const name of ` + string(list) + `) {
			const bytes = await new Promise((done) => {
				const ask = new XMLHttpRequest();
				ask.open("GET", name);
				ask.responseType = "arraybuffer";
				ask.onload = () => done(ask.response);
				ask.send();
			});
			all.items.add(new File([bytes], name));
		}
		document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: all, bubbles: true, cancelable: true}));
	})()`)
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

func TestStaticPage(t *testing.T) {
	h := hostOf(t)
	b := h.on(t)
	b.start("")

	gpt, err := picogpt.OpenFS(t.Context(), demo.FS(), picogpt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer gpt.Close()
	s, err := serve.New(testmodel.Demo(t, model.Options{}), tokenizer.GPT2(),
		serve.Options{Name: "demo", Template: chat.Named[0].Source})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	same := func(path string, body map[string]any) (answer string) {
		t.Helper()
		text, _ := json.Marshal(body) // of plain values
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/"+path, bytes.NewReader(text)))
		answer = b.ask(path, body)
		if got, want := plain(t, answer), plain(t, w.Body.String()); got != want || w.Code != http.StatusOK {
			t.Errorf("%s: status %d, the page has\n%.600s\nwant\n%.600s", path, w.Code, got, want)
		}
		return answer
	}

	// Texts of 50 seeds, whose settings are the command's, with the scores of prompt and text; and what
	// is inside of some of them: the lens, the heads, what adds to a logit.
	o := picogpt.Sampling()
	o.MaxTokens = 12
	for seed := range uint64(50) {
		o.Seed = seed + 1
		prompt := []string{"Once upon a time", "The cat", "“Oh!” said a naïve 🐟", "Lily and Tom"}[seed%4]
		want, err := gpt.Complete(t.Context(), prompt, o)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Choices []struct{ Text string } }
		answer := same("v1/completions", map[string]any{"prompt": prompt, "max_tokens": 12, "echo": true,
			"logprobs": 3, "temperature": o.Temperature, "top_k": o.TopK, "seed": o.Seed})
		if err := json.Unmarshal([]byte(answer), &got); err != nil || len(got.Choices) != 1 ||
			got.Choices[0].Text != string([]rune(prompt+want)) { // half a character is U+FFFD in JSON
			t.Errorf("seed %d: the page writes %.200s, the command %q", o.Seed, answer, want)
		}
		if seed%10 == 0 {
			same("inside", map[string]any{"prompt": prompt + want, "top": 5})
			same("v1/chat/completions", map[string]any{"seed": o.Seed, "max_tokens": 12,
				"messages": []any{map[string]any{"role": "user", "content": prompt}}})
		}
	}
	if h.asked != nil {
		t.Errorf("the host was asked for %q, want its files alone", h.asked)
	}
}

func TestStaticPageInAClass(t *testing.T) {
	h := hostOf(t)
	b := h.on(t)

	// While it loads, it says how far it is, and files wait for it.
	h.held = make(chan struct{})
	h.more = map[string][]byte{"config.json": demo.Config()}
	b.Open(h.URL+"/class/", "true")
	b.patiently("/^Loading the engine: [1-9][.][0-9] of [6-9][.][0-9] MB$/.test(" + status + ")")
	b.drop("config.json")
	b.want(problem, "")
	close(h.held)
	h.held = nil
	b.patiently(started + " && " + problem + ".startsWith('config.json: a JSON file')")

	// A text comes token by token, and stops where it is stopped.
	b.set("max_tokens", "200")
	b.set("ignore_eos", "true")
	b.JS("window.lengths = new Set(); new MutationObserver(() => lengths.add(" + value +
		".length)).observe(document.getElementById('mirror'), {childList: true, subtree: true, characterData: true})")
	b.Press("Control+Enter")
	b.patiently("lengths.size > 3")
	b.Press("Escape")
	b.patiently(idle)
	at := b.JS(value)
	if words := len(strings.Fields(at)); words < 6 || words > 150 {
		t.Errorf("stopped in the middle, the text has %d words: %s", words, at)
	}
	b.ask("tokenize", map[string]any{"prompt": "The cat"}) // and the next request is answered
	b.want(value, at)

	// A narrow window.
	b.Window(360, 640, "light")
	b.want("document.documentElement.scrollWidth <= 360", "true")
	b.Shoot("static-phone.png")
	b.Window(1280, 900, "light")

	// The next visit needs no network.
	b.patiently("navigator.serviceWorker.controller || (window.stored ??= navigator.serviceWorker.ready" +
		".then(() => window.isStored = true), window.isStored)")
	b.Leave()
	h.mu.Lock()
	if h.style != 2 { // the second time by the service worker, which may have a newer version
		t.Errorf("the host was asked for style.css %d times, want 2", h.style)
	}
	h.down = true
	h.mu.Unlock()
	b.start("#again")
	b.ask("tokenize", map[string]any{"prompt": "The cat"})
	h.mu.Lock()
	h.down = false
	h.mu.Unlock()

	// Another tab at the same time, with the link of a server's page.
	served := withTheDemo(t, serve.Options{})
	served.set("seed", "77")
	served.write("A link about naïve cats")
	served.Elapse()
	served.patiently("location.hash.startsWith('#z=')")
	c := h.on(t)
	c.start(served.JS("location.hash"))
	c.want(value+" + '|' + "+id("set-seed")+".value", "A link about naïve cats|77")
	if h.asked != nil {
		t.Errorf("the host was asked for %q, want its files alone", h.asked)
	}
}

func TestStaticPageOpensAModel(t *testing.T) {
	h := hostOf(t)
	h.more = map[string][]byte{"model.safetensors": demo.Weights(), "config.json": demo.Config()}
	written := map[string]string{} // by file: what its model writes
	request := map[string]any{"prompt": "The", "max_tokens": 9, "seed": 3}
	for name, how := range map[string][2]string{"a.gguf": {"gguf", "f16"}, "b.safetensors": {"safetensors", "q8"}} {
		c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Format: how[1]})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		s, err := serve.New(m, tokenizer.GPT2(), serve.Options{Name: name[:1]})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var file bytes.Buffer
		v, err := c.Convert(how[0])
		if err == nil {
			err = v.WriteWeights(t.Context(), &file, m)
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(request) // of plain values
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/completions", bytes.NewReader(text)))
		h.more[name], written[name] = file.Bytes(), plain(t, w.Body.String())
	}
	b := h.on(t)
	b.start("")
	text := func() string { return b.ask("v1/completions", request) }
	before := text()
	b.drop("config.json")
	b.patiently(problem + ".startsWith('config.json: ')")
	b.drop("model.safetensors") // of which nobody says the heads
	b.patiently(problem + ".startsWith('config.json: file does not exist: want it too, dropped together')")
	if got := plain(t, text()); got != plain(t, before) {
		t.Errorf("after files that cannot be opened the demo writes %s, want %s", got, before)
	}
	b.JS(`(() => {
		const all = new DataTransfer(), part = new Blob([new Uint8Array(1 << 25)]);
		all.items.add(new File(Array(100).fill(part), "huge.gguf"));
		document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: all, bubbles: true, cancelable: true}));
	})()`)
	b.patiently(problem + " === 'huge.gguf: 3.36 GB, want at most 3.22 GB: a browser has no more memory for a page'")
	b.drop("config.json", "model.safetensors")
	b.drop("config.json") // the first is still being opened
	b.patiently(problem + ".startsWith('config.json: ') && /model/.test(document.getElementById('model').textContent)")
	b.drop("config.json", "model.safetensors")
	b.patiently("/on this machine only: a token takes about [0-9.]+ s[.]$/.test(" + status + ")")
	b.patiently("/model/.test(document.getElementById('model').textContent)")
	if got, want := plain(t, text()), strings.Replace(plain(t, before), `"demo"`, `"model"`, 1); got != want {
		t.Errorf("the demo as files writes %s, want %s", got, want)
	}
	for name, files := range map[string][]string{"a.gguf": {"a.gguf"},
		"b.safetensors": {"b.safetensors", "config.json"}} {
		b.drop(files...)
		b.patiently("/^" + name[:1] + " is open/.test(" + status + ")")
		if got := plain(t, text()); got != written[name] {
			t.Errorf("%s writes %s, want %s", name, got, written[name])
		}
	}
}

func TestStaticPageSaysThatItsEngineHasEnded(t *testing.T) {
	h := hostOf(t)
	worker, err := os.ReadFile(filepath.Join(h.dir, "page", "worker.js"))
	if err != nil {
		t.Fatal(err)
	}
	h.more = map[string][]byte{"page/worker.js": append(worker, `
		const take = onmessage;
		onmessage = (e) => e.data.path === "/v1/completions" ?
			postMessage({what: "ended", fault: "it has no more memory"}) : take(e);`...)}
	b := h.on(t)
	b.start("")
	b.Press("Control+Enter")
	const ended = problem + " === 'The engine has ended: it has no more memory. Reload the page to begin again.'"
	b.patiently(ended)
	b.JS("new Promise(done => setTimeout(done, 250))")
	b.want(ended, "true")
}

func TestStaticPageSaysWhatItLacks(t *testing.T) {
	h := hostOf(t)
	b := h.on(t)
	b.Open("file://"+h.dir+"/index.html", problem+".includes('python3 -m http.server')")
	b.Forget() // its modules are refused
	old := h.on(t)
	old.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{
		"source": "delete window.DecompressionStream"}, nil)
	old.Open(h.URL+"/class/", problem+".startsWith('This browser lacks DecompressionStream. The page wants Chromium')")
	other := regexp.MustCompile(`(?:https?:|["'(\x60])//\w[^\s"'\x60]*`)
	for _, name := range []string{"page/engine.js", "page/worker.js", "service.js"} {
		text, err := os.ReadFile(filepath.Join(h.dir, name))
		if err != nil {
			t.Error(err)
		}
		for _, address := range other.FindAllString(string(text), -1) {
			if address != "http://127.0.0.1:8000/." { // what to do with a folder of files
				t.Errorf("%s names %s", name, address)
			}
		}
	}
	html, err := os.ReadFile(filepath.Join(h.dir, "index.html"))
	const policy = `content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; ` +
		`connect-src 'self'; img-src 'self'; base-uri 'none'">`
	if err != nil || !strings.Contains(string(html), policy) {
		t.Errorf("index.html has no policy %s (%v)", policy, err)
	}
}

func BenchmarkStaticPage(b *testing.B) {
	const tokens = 100
	h := hostOf(b)
	page := browser.Open(b)
	page.Open(h.URL+"/class/", "true")
	ask := fmt.Sprintf(`fetch(location.href + "v1/completions", {method: "POST", body:
		'{"prompt": "Once", "max_tokens": %d, "ignore_eos": true, "seed": 1}'}).then(r => r.text())`, tokens)
	page.JS(ask) // the engine has come
	for b.Loop() {
		page.JS(ask)
	}
	b.ReportMetric(tokens*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
