package serve_test

// The other paths: embeddings, the tokenizer, conversations, metrics, health.

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/internal/chat"
	"picogpt/internal/folder"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/serve"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
)

type embeddings struct {
	Data []struct {
		Index     int
		Embedding json.RawMessage
	}
	Usage struct {
		PromptTokens int `json:"prompt_tokens"`
	}
}

// pooled computes a vector in one Eval, row by row.
func pooled(t testing.TB, m *model.Model, ids []int, pooling string) []float32 {
	t.Helper()
	rows := make([][]float32, len(ids))
	s := m.NewSession()
	defer s.Release()
	err := m.Eval(t.Context(), model.Input{Session: s, Tokens: ids,
		Visit: func(r model.Row) { rows[r.Index] = slices.Clone(r.Hidden) }})
	if err != nil {
		t.Fatal(err)
	}
	if pooling == "last" {
		rows = rows[len(rows)-1:]
	}
	sum, squares := make([]float64, len(rows[0])), 0.0
	for k := range sum {
		for i, row := range rows {
			if pooling == "weighted" {
				sum[k] += float64(i) * float64(row[k])
			}
			sum[k] += float64(row[k])
		}
		squares += sum[k] * sum[k]
	}
	v := make([]float32, len(sum))
	for k := range sum {
		v[k] = float32(sum[k] / math.Sqrt(squares))
	}
	return v
}

func TestEmbeddings(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	texts := []string{"a cat", strings.Repeat("The dog ran home. ", 30)}
	for _, pooling := range []string{"", "last", "weighted"} {
		c := startWith(t, m, serve.Options{Pooling: pooling})
		input, _ := json.Marshal(texts)
		_, floats := c.post("/v1/embeddings", `{"model":"demo","input":`+string(input)+`}`)
		_, encoded := c.post(
			"/v1/embeddings",
			`{"input":`+string(input)+`,"encoding_format":"base64"}`,
		)
		f, e := decoded[embeddings](t, floats), decoded[embeddings](t, encoded)
		for i, text := range texts {
			ids, _ := tokenizer.GPT2().Encode(text)
			want := pooled(t, m, ids, pooling)
			got := decoded[[]float32](t, string(f.Data[i].Embedding))
			raw, err := base64.StdEncoding.DecodeString(
				decoded[string](t, string(e.Data[i].Embedding)),
			)
			if err != nil || len(raw) != 4*len(want) || f.Data[i].Index != i {
				t.Fatalf("%d bytes of base64, %v", len(raw), err)
			}
			for k := range want {
				bits := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*k:]))
				if math.Abs(float64(got[k]-want[k])) > 1e-6 || bits != got[k] {
					t.Fatalf(
						"%s of %.20q, %d: %v and %v, want %v",
						pooling,
						text,
						k,
						got[k],
						bits,
						want[k],
					)
				}
			}
		}
		// ids have the same result as their text
		_, ids := c.post("/v1/embeddings", `{"input":[[64,3797]]}`)
		if !strings.Contains(ids, string(f.Data[0].Embedding)) {
			t.Errorf("ids give another vector than their text")
		}
	}
	c := startWith(t, m, serve.Options{})
	for fields, param := range map[string]string{
		``: "input", `"input":""`: "input", `"input":["a",""]`: "input", `"input":[]`: "input",
		`"input":"a","encoding_format":"int8"`: "encoding_format", `"input":"a","dimensions":3`: "dimensions",
		`"input":` + `"` + strings.Repeat("a b ", 400) + `"`: "input",
	} {
		c.refused("/v1/embeddings", "{"+fields+"}", 400, param, "")
	}
}

// withHead returns the demo with a head of three labels.
func withHead(t testing.TB) (*checkpoint.Checkpoint, *checkpoint.Head) {
	t.Helper()
	var file bytes.Buffer
	f, err := weights.FromBytes("demo", demo.Weights())
	if err != nil {
		t.Fatal(err)
	}
	data, _ := binary.Append(nil, binary.LittleEndian, fixture.HeadWeights(3, 128))
	err = weights.Write(&file, nil, append(f.All(), weights.Tensor{Name: "score.weight",
		DType: weights.F32, Shape: []int{3, 128}, Data: data}))
	if err != nil {
		t.Fatal(err)
	}
	ck, err := checkpoint.OpenFS(folder.Memory{"config.json": demo.Config(),
		"model.safetensors": file.Bytes()}, "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ck.Close() })
	head, err := ck.Head()
	if err != nil {
		t.Fatal(err)
	}
	return ck, head
}

// TestClassify: vLLM's fields, with the numbers of package eval.
func TestClassify(t *testing.T) {
	ck, head := withHead(t)
	// It has no output head: answers of other kinds are refused, and these are none the worse.
	config := ck.Config
	config.TieWordEmbeddings = false
	m, err := model.New(t.Context(), config, ck.Tensors, model.Options{Threads: 1, Headless: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := startWith(t, m, serve.Options{Head: head})
	c.refused("/v1/completions", `{"prompt":"a"}`, 400, "", "no output head, so no logits")
	c.refused("/v1/completions", `{"prompt":"a","stream":true}`, 400, "", "no output head, so no logits")
	if r, text := c.post("/v1/embeddings", `{"input":"a"}`); r.StatusCode != 200 {
		t.Errorf("an embedding: %d %s", r.StatusCode, text)
	}
	texts := []string{"a cat", strings.Repeat("The dog ran home. ", 30)}
	input, _ := json.Marshal(texts)
	r, text := c.post("/classify", `{"model":"demo","input":`+string(input)+`}`)
	answer := decoded[struct {
		ID, Object, Model string
		Data              []struct {
			Index  int
			Label  string
			Probs  []float64
			Number int `json:"num_classes"`
		}
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}](t, text)
	if r.StatusCode != 200 || answer.Object != "list" || !strings.HasPrefix(answer.ID, "classify-") ||
		len(answer.Data) != 2 || answer.Usage.Prompt != 2+151 {
		t.Fatalf("%d %s", r.StatusCode, text)
	}
	for i, text := range texts {
		want, err := eval.ClassifyOne(t.Context(), m, tokenizer.GPT2(), head,
			eval.Request{Text: text}, eval.ClassifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, class := answer.Data[i], want.Classes[0]
		if got.Index != i || got.Label != class.Label || !slices.Equal(got.Probs, class.Scores) ||
			got.Number != 3 {
			t.Errorf("%q: %+v, want %+v", text, got, class)
		}
	}
	c.refused("/classify", `{"input":""}`, 400, "input", "")
	c.refused("/classify", `{}`, 400, "input", "")
	c.refused("/classify", `{"input":"a","model":"x"}`, 404, "model", "")
	start(t, serve.Options{}).refused("/classify", `{"input":"a"}`, 404, "", "no head that classifies")
	startWith(t, m, serve.Options{Head: &checkpoint.Head{PerToken: true}}).refused("/classify",
		`{"input":"a"}`, 404, "", "classifies tokens, not texts")
}

func TestTokenize(t *testing.T) {
	c := start(t, serve.Options{})
	for body, want := range map[string]string{
		`{"prompt":"Hello<|endoftext|>é","model":"demo","add_special_tokens":true}`: `{"tokens":[15496,50256,2634],"count":3,"max_model_len":256,"token_strs":null}`,
		`{"prompt":"a😀","return_token_strs":true}`:                                  `{"tokens":[64,47249,222],"count":3,"max_model_len":256,"token_strs":["a","bytes:\\xf0\\x9f\\x98","bytes:\\x80"]}`,
		`{"content":"Hello"}`:                 `{"tokens":[15496]}`,
		`{"content":"a😀","with_pieces":true}`: `{"tokens":[{"id":64,"piece":"a"},{"id":47249,"piece":[240,159,152]},{"id":222,"piece":[128]}]}`,
		`{"prompt":""}`:                       `{"tokens":[],"count":0,"max_model_len":256,"token_strs":null}`,
	} {
		if r, got := c.post(
			"/tokenize",
			body,
		); r.StatusCode != 200 ||
			strings.TrimSpace(got) != want {
			t.Errorf("%s: %d, %s, want %s", body, r.StatusCode, got, want)
		}
	}
	for body, want := range map[string]string{
		`{"tokens":[15496,50256,2634]}`: `{"prompt":"Hello<|endoftext|>é","content":"Hello<|endoftext|>é"}`,
		`{"tokens":[]}`:                 `{"prompt":"","content":""}`,
		`{"tokens":[222]}`:              `{"prompt":"` + "\ufffd" + `","content":"` + "\ufffd" + `"}`,
	} {
		if r, got := c.post(
			"/detokenize",
			body,
		); r.StatusCode != 200 ||
			strings.TrimSpace(got) != want {
			t.Errorf("%s: %d, %s, want %s", body, r.StatusCode, got, want)
		}
	}
	c.refused("/tokenize", `{}`, 400, "prompt", "want it")
	c.refused("/tokenize", `{"prompt":"a","content":"b"}`, 400, "prompt", "not both")
	c.refused("/tokenize", `{"prompt":["a"]}`, 400, "prompt", "want a string")
	c.refused("/tokenize", `{"prompt":"a","model":"x"}`, 404, "model", "")
	c.refused("/detokenize", `{}`, 400, "tokens", "found none")
	c.refused("/detokenize", `{"tokens":[50257]}`, 400, "tokens", "50256")
	c.refused("/detokenize", `{"tokens":"a"}`, 400, "tokens", "want an array")
	_, info := c.do("GET", "/tokenizer_info", "")
	if got := decoded[map[string]any](t, info); got["eos_token"] != "<|endoftext|>" {
		t.Errorf("tokenizer_info: %s", info)
	}
}

type conversation struct {
	ID, Object string
	Choices    []struct {
		Message, Delta struct{ Role, Content string }
		Logprobs       *struct {
			Content []struct {
				Token   string
				Logprob float64
				Bytes   []int
				Top     []any `json:"top_logprobs"`
			}
		}
		FinishReason *string `json:"finish_reason"`
	}
}

func TestConversations(t *testing.T) {
	none := start(t, serve.Options{})
	none.refused("/v1/chat/completions", `{"messages":[]}`, 404, "", "--template")
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{Template: chat.DialoGPT})
	// dialogpt: each turn ends with the end of text; special tokens in a message are text
	prompt := "Hi<|endoftext|>Hello, Tom.<|endoftext|>How are you?<|endoftext|>"
	want, tokens := direct(t, m, prompt, decode.Options{MaxTokens: 12,
		Params: sample.Params{Temperature: 1, Seed: 2}})
	const messages = `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello, Tom."},
		{"role":"user","content":[{"type":"text","text":"How "},{"type":"text","text":"are you?"}]}]`
	const fields = `"seed":2,"max_completion_tokens":12,"logprobs":true,"top_logprobs":2,` + messages
	r, text := c.post("/v1/chat/completions", "{"+fields+"}")
	if r.StatusCode != 200 {
		t.Fatalf("status %d: %s", r.StatusCode, text)
	}
	a := decoded[conversation](t, text)
	if got := a.Choices[0]; got.Message.Content != want || got.Message.Role != "assistant" ||
		len(got.Logprobs.Content) != len(tokens) || len(got.Logprobs.Content[0].Top) != 2 ||
		!strings.HasPrefix(a.ID, "chatcmpl-") || a.Object != "chat.completion" {
		t.Errorf("%s, want %q", text, want)
	}
	_, stream := c.post("/v1/chat/completions", `{"stream":true,`+fields+"}")
	got, roles := "", 0
	data := events(t, stream)
	for _, event := range data[:len(data)-1] {
		part := decoded[conversation](t, event)
		got += part.Choices[0].Delta.Content
		if part.Choices[0].Delta.Role != "" {
			roles++
		}
		if part.Object != "chat.completion.chunk" {
			t.Errorf("object %s", part.Object)
		}
	}
	if got != want || roles != 1 {
		t.Errorf("the stream %q with %d roles, want %q", got, roles, want)
	}
	r, _ = c.post("/v1/chat/completions", `{"store":true,"tools":[{"type":"function","function":{"name":"f"}}],"max_tokens":1,`+messages+"}")
	if got := r.Header.Get("X-Ignored-Fields"); got != "store, tools" {
		t.Errorf("ignored: %q", got)
	}
	for fields, message := range map[string]string{
		`"messages":[]`: "at the end", ``: "at the end",
		`"messages":[{"role":"system","content":"a"}]`: "at the end", `"messages":"a"`: "want an array",
		`"messages":[{"role":"user","content":[{"type":"image_url"}]}]`:                "want the type text",
		`"messages":[{"role":"user","content":"` + strings.Repeat("a b ", 200) + `"}]`: "",
	} {
		r, text := c.post("/v1/chat/completions", "{"+fields+"}")
		e := decoded[apiError](t, text).Error
		if r.StatusCode != 400 || !strings.Contains(e.Message, message) {
			t.Errorf("%.80s: %d, %+v", fields, r.StatusCode, e)
		}
	}
	if _, err := serve.New(m, tokenizer.GPT2(), serve.Options{Template: "{{"}); err == nil {
		t.Error("a broken template is taken")
	}
}

func TestMetricsAreVLLMs(t *testing.T) {
	c := start(t, serve.Options{})
	c.complete(`{"prompt":["Once upon","Tom"],"n":2,"max_tokens":5,"ignore_eos":true}`)
	c.post(
		"/v1/completions",
		`{"prompt":"Once upon","stream":true,"max_tokens":3,"ignore_eos":true}`,
	)
	_, text := c.do("GET", "/metrics", "")
	for _, want := range []string{
		`vllm:num_requests_running{model_name="demo"} 0`, `vllm:num_requests_waiting{model_name="demo"} 0`,
		`vllm:kv_cache_usage_perc{model_name="demo"} 0`, `vllm:num_preemptions_total{model_name="demo"} 0`,
		`vllm:generation_tokens_total{model_name="demo"} 23`,
		`vllm:request_success_total{finished_reason="length",model_name="demo"} 5`,
		`vllm:time_to_first_token_seconds_count{model_name="demo"} 2`,
		`vllm:inter_token_latency_seconds_count{model_name="demo"} 18`,
		`vllm:request_queue_time_seconds_count{model_name="demo"} 3`,
		`vllm:request_prefill_time_seconds_count{model_name="demo"} 3`,
		`vllm:request_decode_time_seconds_count{model_name="demo"} 3`,
		`http_requests_total{handler="/v1/completions",model_name="demo",status="200"} 2`,
		`vllm:e2e_request_latency_seconds_bucket{model_name="demo",le="0.001"}`,
		`vllm:prompt_tokens_total{model_name="demo"} 5`,
		`vllm:prefix_cache_queries_total{model_name="demo"} `,
		`vllm:prefix_cache_hits_total{model_name="demo"} `,
		`vllm:iteration_tokens_total_count{model_name="demo"} `,
		"\ngo_goroutines ", "\ngo_memstats_heap_alloc_bytes ", // of the process, as Go names them
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	value := func(name string) (n float64) {
		_, rest, _ := strings.Cut(text, "\nvllm:iteration_tokens_total"+name+" ")
		fmt.Sscan(rest, &n)
		return n
	}
	// the streamed text makes steps of one row, four texts side by side none of more than 16
	one, eight := value(`_bucket{model_name="demo",le="1"}`), value(`_bucket{model_name="demo",le="8"}`)
	sixteen, all := value(`_bucket{model_name="demo",le="16"}`), value(`_count{model_name="demo"}`)
	if one < 2 || eight <= one || sixteen != all || all != value(`_bucket{model_name="demo",le="+Inf"}`) {
		t.Errorf("steps of up to 1, 8, 16 rows: %v, %v, %v of %v", one, eight, sixteen, all)
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestReadyEndsWithTheDrainAndHealthDoesNot(t *testing.T) {
	c := start(t, serve.Options{})
	status := func(path string) int { r, _ := c.do("GET", path, ""); return r.StatusCode }
	if status("/health") != 200 || status("/ready") != 200 {
		t.Error("not ready")
	}
	c.server.Drain()
	if status("/health") != 200 || status("/ready") != 503 {
		t.Error("ready while it drains")
	}
	c.refused("/v1/completions", `{"max_tokens":1}`, 503, "", "shutting down")
	r, _ := c.post("/v1/completions", `{"max_tokens":1}`)
	if r.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestWhatCannotBeMeant(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	for want, o := range map[string]serve.Options{
		"max queue": {MaxQueue: -1}, "max body": {MaxBody: math.MaxInt64}, "pooling": {Pooling: "max"},
		"cache share": {CacheShare: "none"},
		"key 1 of 1":  {Keys: []string{""}}, "timeout": {Timeout: -1},
	} {
		if _, err := serve.New(
			m,
			tokenizer.GPT2(),
			o,
		); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
