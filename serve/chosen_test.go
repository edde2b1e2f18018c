package serve_test

// Who answers: a model, variants of it with adapters, and other models.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/serve"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// letterFiles writes a checkpoint whose tokens are a to z and the end of text.
func letterFiles(t *testing.T, o fixture.Options) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := fixture.Write(dir, o); err != nil {
		t.Fatal(err)
	}
	vocab := map[string]int{tokenizer.EndOfTextToken: 26}
	for i := range 26 {
		vocab[string(rune('a'+i))] = i
	}
	b, _ := json.Marshal(vocab)
	for name, text := range map[string]string{"vocab.json": string(b), "merges.txt": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// loraFiles writes an adapter of attention and MLP of a layer.
func loraFiles(t *testing.T, embd, layer int, seed uint64) (dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var all []weights.Tensor
	for _, x := range []struct {
		module  string
		in, out int
	}{{"attn.c_attn", embd, 3 * embd}, {"mlp.c_proj", 4 * embd, embd}} {
		for i, shape := range [][]int{{2, x.in}, {x.out, 2}} {
			w := weights.Tensor{Name: fmt.Sprintf("base_model.model.transformer.h.%d.%s.lora_%c.weight",
				layer, x.module, 'A'+i), DType: weights.BF16, Shape: shape}
			for range w.Len() {
				w.Data = append(w.Data, 0, byte(0x3e|rng.IntN(2)<<7)) // 0.125 or −0.125
			}
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b weights.Tensor) int { return strings.Compare(a.Name, b.Name) })
	dir = t.TempDir()
	config := `{"peft_type":"LORA","r":2,"lora_alpha":4,"target_modules":["c_attn","c_proj"]}`
	err := os.WriteFile(filepath.Join(dir, "adapter_config.json"), []byte(config), 0o666)
	if err == nil {
		err = weights.WriteFile(t.Context(), filepath.Join(dir, "adapter_model.safetensors"),
			map[string]string{"format": "pt"}, all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A family is a model, the adapters of a server, and models with one of them each, the first with
// none.
type family struct {
	model    *model.Model
	tok      *tokenizer.Tokenizer
	adapters []serve.Adapter
	alone    []*model.Model
	loads    atomic.Int64
}

// newFamily opens a checkpoint with adapters named a, b, c, …
func newFamily(t *testing.T, open func(...checkpoint.Adapter) *checkpoint.Checkpoint, o model.Options,
	adapters ...checkpoint.Adapter) *family {
	t.Helper()
	load := func(adapters ...checkpoint.Adapter) (*checkpoint.Checkpoint, *model.Model) {
		c := open(adapters...)
		m, err := model.New(t.Context(), c.Config, c.Tensors, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			m.Close()
			c.Close()
		})
		return c, m
	}
	f := &family{}
	c, m := load()
	tok, err := c.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	f.model, f.tok, f.alone = m, tok, []*model.Model{m}
	for i, a := range adapters {
		with, err := c.With(a)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := a.Digest()
		if err != nil {
			t.Fatal(err)
		}
		one := serve.Adapter{Name: string(rune('a' + i)), Scale: 1, Fingerprint: digest,
			Bytes: model.BytesIn(o.Format, with.Tensors, with.Change.Names),
			Open: func(ctx context.Context) (*model.Model, error) {
				f.loads.Add(1)
				return m.Variant(ctx, with.Change)
			}}
		if a.Scale != nil {
			one.Scale = *a.Scale
		}
		f.adapters = append(f.adapters, one)
		_, alone := load(a)
		f.alone = append(f.alone, alone)
	}
	return f
}

// small is a family of three adapters of a model so small that a test can swap them a thousand
// times.
func small(t *testing.T, o fixture.Options, format string) *family {
	dir, half := letterFiles(t, o), 0.5
	a, b := loraFiles(t, o.Embd, 0, 1), loraFiles(t, o.Embd, 1, 2)
	return newFamily(t, func(all ...checkpoint.Adapter) *checkpoint.Checkpoint {
		c, err := checkpoint.Open(dir, checkpoint.Options{Adapters: all})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}, model.Options{Threads: 1, Format: format}, checkpoint.Adapter{Path: a}, checkpoint.Adapter{Path: b},
		checkpoint.Adapter{Path: a, Scale: &half})
}

// stories is the demo with adapters.
func stories(t *testing.T) *family {
	dir, half := "../checkpoint/testdata/adapters/", 0.5
	return newFamily(t, func(all ...checkpoint.Adapter) *checkpoint.Checkpoint {
		c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{Adapters: all})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}, model.Options{Threads: 1}, checkpoint.Adapter{Path: dir + "plain"},
		checkpoint.Adapter{Path: dir + "all-rslora-f16"}, checkpoint.Adapter{Path: dir + "plain", Scale: &half})
}

// TestAThousandSwapsUnderLoad: clients ask for a model and for three adapters, of whose copies only
// one or two fit, until they were made a thousand times: each text is that of the adapter alone,
// the copies that are there keep to the bound, and what nobody uses is freed.
func TestAThousandSwapsUnderLoad(t *testing.T) {
	swaps(t, small(t, fixture.Options{Embd: 32, Head: 2, Positions: 32}, ""), cases.Sized(1000, 1000))
}

// The same with matrices as wide as GPT-2's.
func TestWideAdaptersSwapUnderLoad(t *testing.T) {
	cases.NotShort(t)
	swaps(t, small(t, fixture.Options{Embd: 768, Head: 12, Layer: 2, Positions: 32, Scale: 0.1,
		DType: weights.F16}, "q8"), cases.Sized(12, 1000))
}

func swaps(t *testing.T, f *family, most int) {
	want := make([][]string, len(f.alone))
	for i, m := range f.alone {
		for seed := range uint64(6) {
			text := ""
			for tok, err := range decode.Generate(t.Context(), m.NewSession(), []int{1, 2, 3},
				decode.Options{MaxTokens: 5, Vocabulary: f.tok, EndOfText: []int{},
					Params: sample.Params{Seed: seed, Temperature: 1}}) {
				if err != nil {
					t.Fatal(err)
				}
				text += tok.Text
			}
			want[i] = append(want[i], text)
		}
	}
	if slices.Equal(want[0], want[1]) || slices.Equal(want[1], want[2]) || slices.Equal(want[1], want[3]) {
		t.Fatalf("the adapters change nothing: %q", want)
	}
	bound := f.adapters[0].Bytes + f.adapters[1].Bytes + 1
	var mu sync.Mutex
	there := map[weak.Pointer[model.Model]]int64{}
	for i := range f.adapters {
		a := &f.adapters[i]
		open := a.Open
		a.Open = func(ctx context.Context) (*model.Model, error) {
			mu.Lock()
			defer mu.Unlock()
			// what is no longer used may be in a register of a goroutine that was interrupted
			for tries := 0; ; tries++ {
				sum := a.Bytes
				for other, bytes := range there {
					if other.Value() == nil {
						delete(there, other)
					} else {
						sum += bytes
					}
				}
				if sum <= bound {
					break
				}
				if tries == 100 {
					t.Errorf("copies of %d bytes are there, want at most %d", sum, bound)
					break
				}
				runtime.GC()
			}
			m, err := open(ctx)
			there[weak.Make(m)] = a.Bytes
			return m, err
		}
	}
	o := serve.Options{Name: "m", Adapters: f.adapters, AdapterBytes: bound}
	o.Batcher.PrefixBytes = 1 << 20
	c := startTokenizer(t, f.model, f.tok, o)
	var running sync.WaitGroup
	var asked atomic.Int64
	for k := range 8 {
		running.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(k), 9))
			for f.loads.Load() < int64(most) && asked.Add(1) < int64(50*most) && !t.Failed() {
				i, seed := rng.IntN(4), rng.IntN(6)
				body := fmt.Sprintf(`{"prompt":[1,2,3],"max_tokens":5,"seed":%d,"ignore_eos":true,
					"skip_special_tokens":false,"stream":%t`, seed, k%2 == 1)
				switch {
				case i > 0 && k%3 == 0:
					body += fmt.Sprintf(`,"lora":[{"id":%d}]`, i-1)
				case i > 0:
					body += `,"model":"m:` + f.adapters[i-1].Name + `"`
				}
				r, text := c.post("/v1/completions", body+"}")
				if got := textIn(text); r.StatusCode != http.StatusOK || got != want[i][seed] {
					t.Errorf("%s: %q, want %q, in %s", body, got, want[i][seed], text)
				}
			}
		})
	}
	running.Wait()
	if n := f.loads.Load(); n < int64(most) {
		t.Errorf("%d loads, want %d", n, most)
	}
}

var textField = regexp.MustCompile(`"text":"([^"]*)"`)

// textIn returns the text of an answer, or of all events of a stream.
func textIn(answer string) (text string) {
	for _, m := range textField.FindAllStringSubmatch(answer, -1) {
		text += m[1]
	}
	return text
}

// TestAnswersAreThoseOfAServerWithTheAdapter: on every path that computes, an answer is that of a
// server which was started with the adapter alone.
func TestAnswersAreThoseOfAServerWithTheAdapter(t *testing.T) {
	f := stories(t)
	o := serve.Options{Name: "m", Fingerprint: "x", Template: "{{.Text}}\n"}
	var alone []*client
	for _, m := range f.alone {
		alone = append(alone, startTokenizer(t, m, f.tok, o))
	}
	o.Adapters = f.adapters
	c := startTokenizer(t, f.model, f.tok, o)
	own := regexp.MustCompile(`"(id|created|created_at|model|system_fingerprint)":("[^"]*"|\d+),?`)
	var seen []string
	for _, x := range []struct{ path, body string }{
		{"/v1/completions", `"prompt":["Once upon a time","The cat"],"n":2,"max_tokens":6,"seed":3,"echo":true,
			"logprobs":2`},
		{"/v1/completions", `"prompt":"Lily had","max_tokens":8,"seed":3,"stream":true,"guidance_scale":1.5,
			"negative_prompt":"Tom"`},
		{"/v1/completions", `"prompt":"Lily had","max_tokens":6,"use_beam_search":true,"best_of":3,"logprobs":1`},
		{"/v1/completions", `"prompt":"Lily had a","max_tokens":5,"seed":1,"edits":[{"at":"z.1","head":2,
			"op":"scale","values":[0]}]`},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"Hello"}],"max_tokens":6,"seed":2`},
		{"/v1/responses", `"input":"Hello","max_output_tokens":6,"temperature":0`},
		{"/v1/embeddings", `"input":["Once upon","a time"]`},
		{"/inside", `"prompt":"Once upon a time"`},
	} {
		for i := range f.alone {
			name := []string{"m", "m:a", "b", "m:c"}[i]
			r, got := c.post(x.path, `{"model":"`+name+`",`+x.body+`}`)
			_, want := alone[i].post(x.path, `{`+x.body+`}`)
			if r.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", x.path, got)
			}
			full := []string{"m", "m:a", "m:b", "m:c"}[i]
			if !strings.Contains(got, `"model":"`+full+`"`) {
				t.Errorf("%s: want the model %s in %s", x.path, full, got)
			}
			got, want = own.ReplaceAllString(got, ""), own.ReplaceAllString(want, "")
			if got != want {
				t.Errorf("%s of %s: %s\nalone: %s", x.path, name, got, want)
			}
			if slices.Contains(seen, got) {
				t.Errorf("%s of %s answers as another: %s", x.path, name, got)
			}
			seen = append(seen, got)
		}
	}
}

// TestHowAnAdapterIsChosen: the names that requests have for it, and what is told of those that are
// wrong.
func TestHowAnAdapterIsChosen(t *testing.T) {
	f := small(t, fixture.Options{Embd: 32, Head: 2, Positions: 32}, "")
	f.adapters[2].Scale = 0.5
	c := startTokenizer(t, f.model, f.tok, serve.Options{Name: "m", Aliases: []string{"gpt-3.5"},
		Adapters: f.adapters})
	const rest = `,"prompt":[1],"max_tokens":1}`
	for body, want := range map[string]string{
		`{"model":"m"`:                   "m",
		`{"model":"gpt-3.5"`:             "m",
		`{"model":"m:a"`:                 "m:a",
		`{"model":"gpt-3.5:b"`:           "m:b",
		`{"model":"c"`:                   "m:c",
		`{"lora":null`:                   "m",
		`{"lora":[]`:                     "m",
		`{"lora":[{"id":1}]`:             "m:b",
		`{"model":"m:b","lora":null`:     "m:b",
		`{"model":"m","lora":[{"id":1}]`: "m:b",
		`{"lora":[{"id":2,"scale":0.5}]`: "m:c",
		`{"lora":[{"id":0,"scale":0},{"id":1,"scale":1},{"id":2,"scale":0}]`: "m:b",
		`{"model":"m:a","lora":[{"id":0}]`:                                   "m:a",
	} {
		r, text := c.post("/v1/completions", body+rest)
		if r.StatusCode != http.StatusOK || !strings.Contains(text, `"model":"`+want+`"`) {
			t.Errorf("%s: want %s, found %s", body, want, text)
		}
	}
	for _, x := range []struct {
		body    string
		status  int
		param   string
		message string
	}{
		{`{"model":"m:z"`, 404, "model", `"m:z" is not here, want m or gpt-3.5 or m:a or m:b or m:c`},
		{`{"model":"x:a"`, 404, "model", "is not here"},
		{`{"model":"m:"`, 404, "model", "is not here"},
		{`{"model":"m:a","lora":[{"id":1}]`, 400, "lora", "want the adapter of model, a, found b"},
		{`{"model":"m:a","lora":[{"id":0,"scale":0}]`, 400, "lora",
			"want the adapter of model, a, found none with a scale"},
		{`{"model":"b","lora":[]`, 400, "lora", "want the adapter of model, b, found none"},
		{`{"lora":[{"id":1,"scale":0}],"model":"gpt-3.5:c"`, 400, "lora", "of model, c, found none"},
		{`{"lora":"a"`, 400, "lora", "want an array"},
		{`{"lora":3`, 400, "lora", "want an array"},
		{`{"lora":[{"id":3}]`, 400, "lora", "want a whole number from 0 to 2"},
		{`{"lora":[{"id":"a"}]`, 400, "lora", "want a number"},
		{`{"lora":[{"scale":1}]`, 400, "lora", "want id in each"},
		{`{"lora":[{"id":0,"scale":0.7}]`, 400, "lora", "scale of a: want 0, or 1 as the server has it"},
		{`{"lora":[{"id":2,"scale":1}]`, 400, "lora", "scale of c: want 0, or 0.5"},
		{`{"lora":[{"id":0,"scale":1},{"id":1,"scale":1}]`, 400, "lora", "want one adapter, found a and b"},
		{`{"lora":[{"id":0,"scale":0},{"id":0,"scale":0},{"id":0,"scale":0},{"id":0}]`, 400, "lora",
			"want at most 3"},
	} {
		c.refused("/v1/completions", x.body+rest, x.status, x.param, x.message)
	}
	_, list := c.do("GET", "/v1/models", "")
	for _, want := range []string{`"id":"m:a","object":"model"`, `"root":"c","parent":"m"`} {
		if !strings.Contains(list, want) {
			t.Errorf("/v1/models: %s, want %s", list, want)
		}
	}
	if _, one := c.do("GET", "/v1/models/m:b", ""); !strings.Contains(one, `"root":"b","parent":"m"`) {
		t.Errorf("a model: %s", one)
	}
	if _, all := c.do("GET", "/lora-adapters", ""); !strings.Contains(all, `{"id":2,"path":"c","scale":0}`) {
		t.Errorf("/lora-adapters: %s", all)
	}
	_, page := c.do("GET", "/metrics", "")
	if want := fmt.Sprintf(`vllm:lora_bytes{model_name="m"} %d`, f.adapters[0].Bytes*3); !strings.Contains(
		page, want) {
		t.Errorf("/metrics has no %s", want)
	}
	_, document := c.do("GET", "/openapi.json", "")
	if !strings.Contains(document, `"enum":["m","gpt-3.5","m:a","m:b","m:c"]`) ||
		!strings.Contains(document, `"lora":{`) {
		t.Error("the document of the API has no adapters")
	}
	colon := startTokenizer(t, f.model, f.tok, serve.Options{Name: "m:8", Adapters: f.adapters})
	if _, text := colon.post("/v1/completions", `{"model":"m:8:a"`+rest); !strings.Contains(text, `"model":"m:8:a"`) {
		t.Errorf("a model whose name has a colon: %s", text)
	}
	if r, _ := start(t, serve.Options{}).do("GET", "/lora-adapters", ""); r.StatusCode != http.StatusNotFound {
		t.Errorf("/lora-adapters of a server without: status %d", r.StatusCode)
	}
}

// TestOptionsOfAdaptersAndModels: names that requests could not tell apart, and what never fits.
func TestOptionsOfAdaptersAndModels(t *testing.T) {
	f := small(t, fixture.Options{Embd: 32, Head: 2, Positions: 32}, "")
	for want, o := range map[string]serve.Options{
		"adapter a: want a name of its own":     {Adapters: []serve.Adapter{{Name: "a"}, {Name: "a"}}},
		"adapter model: want a name of its own": {Adapters: []serve.Adapter{{Name: "model"}}},
		"adapter b:c: want a name of 1 to":      {Adapters: []serve.Adapter{{Name: "b:c"}}},
		"adapter a: takes 9 bytes, want at most 8": {Adapters: []serve.Adapter{{Name: "a", Bytes: 9}},
			AdapterBytes: 8},
		"model a: want a name of its own": {Adapters: []serve.Adapter{{Name: "a"}},
			Models: []serve.Other{{Name: "a"}}},
		"model b: takes 9 bytes, want at most 8": {Models: []serve.Other{{Name: "b", Bytes: 9}},
			ModelBytes: 8},
	} {
		if _, err := serve.New(f.model, f.tok, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestOtherModels: each answers with its own weights, tokenizer, template and limits, is loaded at
// its first request, and makes room for the next where both do not fit.
func TestOtherModels(t *testing.T) {
	var events []string // loads take turns
	var loaded atomic.Int64
	other := func(name string, seed uint64) serve.Other {
		dir := letterFiles(t, fixture.Options{Seed: seed, Positions: 40 + int(seed)})
		return serve.Other{Name: name, Bytes: 10, Context: 40 + int(seed),
			Open: func(ctx context.Context) (*serve.Server, func(), error) {
				if loaded.Add(1) > 1 {
					t.Error("two models are there")
				}
				events = append(events, name)
				c, err := checkpoint.Open(dir, checkpoint.Options{})
				if err != nil {
					return nil, nil, err
				}
				m, err := model.New(ctx, c.Config, c.Tensors, model.Options{Threads: 1})
				if err != nil {
					return nil, nil, err
				}
				tok, err := c.Tokenizer()
				if err != nil {
					return nil, nil, err
				}
				s, err := serve.New(m, tok, serve.Options{Name: name, Template: "{{.Text}}"})
				return s, func() {
					loaded.Add(-1)
					m.Close()
					c.Close()
				}, err
			}}
	}
	f := small(t, fixture.Options{Embd: 32, Head: 2, Positions: 32}, "")
	failing := serve.Other{Name: "bad", Bytes: 1, Open: func(context.Context) (*serve.Server, func(), error) {
		return nil, nil, errors.New("its files are gone")
	}}
	gone := serve.Other{Name: "gone", Bytes: 10,
		Check: func(context.Context) error { return errors.New("its folder is not there") },
		Open: func(context.Context) (*serve.Server, func(), error) {
			t.Error("what failed a check is opened")
			return nil, nil, errors.New("gone")
		}}
	c := startTokenizer(t, f.model, f.tok, serve.Options{Name: "m", Keys: []string{"k"}, ModelBytes: 15,
		Models: []serve.Other{other("x", 1), other("y", 2), failing, gone}})
	ask := func(path, body string) (int, string) {
		r, text := c.post(path, body, "Authorization", "Bearer k")
		return r.StatusCode, text
	}
	if r, _ := c.post("/v1/completions", `{"model":"x","prompt":"a"}`); r.StatusCode != 401 || events != nil {
		t.Errorf("without a key: status %d, loaded %v", r.StatusCode, events)
	}
	answers := map[string]string{}
	for _, name := range []string{"m", "x", "y", "x"} {
		status, text := ask("/v1/completions", `{"model":"`+name+`","prompt":"abc","max_tokens":9,"seed":1,
			"ignore_eos":true}`)
		if status != 200 || !strings.Contains(text, `"model":"`+name+`"`) {
			t.Fatalf("%s: %d %s", name, status, text)
		}
		if before, ok := answers[name]; ok && before != textIn(text) {
			t.Errorf("%s: %q, and %q before", name, textIn(text), before)
		}
		answers[name] = textIn(text)
	}
	if answers["m"] == answers["x"] || answers["x"] == answers["y"] {
		t.Errorf("models answer alike: %v", answers)
	}
	for _, x := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/chat/completions", `{"model":"x","messages":[{"role":"user","content":"ab"}],"max_tokens":2}`,
			200, `"model":"x"`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"ab"}]}`, 404, "no_chat_template"},
		{"/tokenize", `{"model":"x","prompt":"abc"}`, 200, `"max_model_len":41`},
		{"/v1/completions", `{"model":"z","prompt":"a"}`, 404, "want m or x or y or bad or gone"},
		{"/v1/completions", `{"model":"x","prompt":"a","max_tokens":-1}`, 400, "max_tokens"},
		{"/v1/completions", `{"model":"x","prompt":"a"`, 400, "the body"},
		{"/v1/completions", `{"model":"bad","prompt":"a"}`, 500, "the server made a mistake"},
		{"/v1/completions", `{"model":"gone","prompt":"a"}`, 500, "the server made a mistake"}, // x stays
		{"/v1/embeddings", `{"model":"x","input":"abc"}`, 200, `"model":"x"`},
	} {
		if status, text := ask(x.path, x.body); status != x.status || !strings.Contains(text, x.want) {
			t.Errorf("%s %s: %d %s, want %d %s", x.path, x.body, status, text, x.status, x.want)
		}
	}
	if want := []string{"x", "y", "x"}; !slices.Equal(events, want) {
		t.Errorf("loaded %v, want %v", events, want)
	}
	_, list := c.do("GET", "/v1/models", "", "Authorization", "Bearer k")
	if !strings.Contains(list, `"id":"y"`) || !strings.Contains(list, `"max_model_len":42`) {
		t.Errorf("/v1/models: %s", list)
	}
	_, page := c.do("GET", "/metrics", "", "Authorization", "Bearer k")
	if !strings.Contains(page, `request_success_total{finished_reason="length",model_name="m"}`) ||
		!strings.Contains(page, `http_requests_total{handler="/v1/chat/completions",model_name="x",status="200"} 1`) {
		t.Errorf("/metrics has not both models: %s", page)
	}
	c.server.Drain()
	if status, text := ask("/v1/completions", `{"model":"x","prompt":"a"}`); status != 503 {
		t.Errorf("after Drain: %d %s", status, text)
	}
	if status, text := ask("/v1/completions", `{"model":"y","prompt":"a"}`); status != 503 || len(events) > 3 {
		t.Errorf("after Drain: %d %s, loaded %v", status, text, events)
	}
	c.server.Close()
	if n := loaded.Load(); n != 0 {
		t.Errorf("after Close: %d models are there", n)
	}
	runtime.KeepAlive(f)
}

// TestTimeoutOfAnotherModel: the time that a model takes to load is part of the answer's.
func TestTimeoutOfAnotherModel(t *testing.T) {
	f := small(t, fixture.Options{Embd: 32, Head: 2, Positions: 32}, "")
	late := serve.Other{Name: "late", Bytes: 1,
		Open: func(ctx context.Context) (*serve.Server, func(), error) {
			<-ctx.Done() // the time is over
			s, err := serve.New(f.model, f.tok, serve.Options{Name: "late"})
			return s, func() {}, err
		}}
	c := startTokenizer(t, f.model, f.tok, serve.Options{Name: "m", Timeout: time.Second,
		Models: []serve.Other{late}})
	r, text := c.post("/v1/completions", `{"model":"late","prompt":"abc","max_tokens":2}`)
	if r.StatusCode != 504 || !strings.Contains(text, `"timeout"`) {
		t.Errorf("%d %s, want 504", r.StatusCode, text)
	}
	runtime.KeepAlive(f)
}
