package serve_test

// The inside of a model, as a server tells it.

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/inside/steer"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/serve"
	"picogpt/tokenizer"
)

// An insideAnswer is the JSON of /inside.
type insideAnswer struct {
	Tokens    []int
	Texts     []string
	At        int
	Attention [][][][2]json.Number // [n_layer][n_head][sources]{position, weight}
	Lens      []struct {
		inside.Prediction
		Texts []string
	}
	Target, Against *struct {
		ID   int
		Text string
	}
	Attribution *struct {
		Difference, Sum float64
		Parts           inside.Parts
	}
}

func (c *client) inside(body string) (a insideAnswer) {
	c.t.Helper()
	r, text := c.post("/inside", body)
	if r.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: status %d: %s", body, r.StatusCode, text)
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		c.t.Fatal(err)
	}
	return a
}

// story is a text of some 130 tokens: it is read in three parts.
var story = strings.Repeat("One day, Lily saw a cat. She wanted to play. ", 10)

// headsOff is a request's edits that switch two heads off, and the same for the model.
const headsOff = `[{"at":"blocks.1.attn.hook_z","head":2,"op":"set","values":[0]},
	{"at":"z.3","head":0,"op":"scale","values":[0]}]`

func headsOffEdits() []model.Edit {
	z := func(layer int) model.Point { return model.Point{Kind: model.Z, Layer: layer} }
	return []model.Edit{{At: z(1), Head: 2, Op: model.Set, Values: []float32{0}},
		{At: z(3), Head: 0, Op: model.Scale, Values: []float32{0}}}
}

func TestInsideIsWhatInspectSays(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 2})
	c := startWith(t, m, serve.Options{Steer: two()})
	tok := tokenizer.GPT2()
	ids, err := tok.Encode(story)
	if err != nil {
		t.Fatal(err)
	}
	target, against := 257, 373 // " a", " was"
	cold := editsOf(t, steer.Scaled{Vector: two()[1].Vector, Scale: 2})
	for _, x := range []struct {
		fields string
		at     int
		edits  []model.Edit
		metric *inside.Metric
	}{
		{``, len(ids) - 1, nil, nil},
		{`,"at":0,"target":" a"`, 0, nil, &inside.Metric{Target: target}},
		{`,"at":100,"target":257,"against":" was"`, 100, nil, &inside.Metric{Target: target, Against: &against}},
		{`,"at":70,"target":" a","edits":` + headsOff, 70, headsOffEdits(), &inside.Metric{Target: target}},
		{`,"at":70,"target":" a","steer":[{"name":"cold","scale":2}]`, 70, cold, &inside.Metric{Target: target}},
	} {
		a := c.inside(fmt.Sprintf(`{"prompt":%q,"top":3,"sources":64,"parts":4096%s}`, story, x.fields))
		edited := testmodel.Demo(t, model.Options{Threads: 1, Edits: x.edits})
		if !slices.Equal(a.Tokens, ids) || a.At != x.at || strings.Join(a.Texts, "") != story {
			t.Fatalf("%s: %+v", x.fields, a)
		}
		o := inside.LensOptions{From: x.at, Top: 3, Target: &a.Target.ID}
		table, err := inside.Lens(t.Context(), edited, ids[:x.at+1], o)
		if err != nil {
			t.Fatal(err)
		}
		metric := inside.Metric{Target: table.Layers[len(table.Layers)-1][0].Top[0]}
		if x.metric != nil {
			metric = *x.metric
		}
		if a.Target.ID != metric.Target || a.Target.Text != textOf(tok, metric.Target) ||
			(a.Against == nil) != (metric.Against == nil) {
			t.Errorf("%s: target %+v, want %+v", x.fields, a.Target, metric)
		}
		for i, row := range table.Layers {
			if !reflect.DeepEqual(a.Lens[i].Prediction, row[0]) || a.Lens[i].Texts[0] != textOf(tok, row[0].Top[0]) {
				t.Errorf("%s: layer %d: %+v, want %+v", x.fields, i, a.Lens[i], row[0])
			}
		}
		checkAttention(t, edited, ids[:x.at+1], a)
		want, err := inside.Attribute(t.Context(), edited, ids[:x.at+1], metric, inside.AttributeOptions{})
		if len(x.edits) > 2 || err != nil { // steered: the parts do not add up
			if a.Attribution != nil || err == nil {
				t.Errorf("%s: an attribution %+v, error %v", x.fields, a.Attribution, err)
			}
			continue
		}
		if a.Attribution.Difference != want.Difference || a.Attribution.Sum != want.Sum ||
			len(a.Attribution.Parts) != len(want.Parts) {
			t.Errorf("%s: %+v, want %+v", x.fields, a.Attribution, want)
		}
		last := 0.0
		for i, part := range a.Attribution.Parts {
			if v, _ := want.Parts.Value(part.Name); v != part.Value || i > 0 && abs(v) > last {
				t.Errorf("%s: part %d: %+v, want %v, at most %v", x.fields, i, part, v, last)
			}
			last = abs(part.Value)
		}
	}
}

// TestRequestsForTheInsideAreCounted, as others are, and want the key.
func TestRequestsForTheInsideAreCounted(t *testing.T) {
	c := start(t, serve.Options{Keys: []string{"k"}})
	for status, key := range map[int]string{200: "k", 401: "x"} {
		r, text := c.post("/inside", `{"prompt":"Tom"}`, "Authorization", "Bearer "+key, "X-Request-Id", "mine")
		if r.StatusCode != status || r.Header.Get("X-Request-Id") != "mine" {
			t.Errorf("status %d, X-Request-Id %s: %s", r.StatusCode, r.Header.Get("X-Request-Id"), text)
		}
		_, page := c.do("GET", "/metrics", "", "Authorization", "Bearer k")
		if n := metric(page, fmt.Sprintf(`http_requests_total{handler="/inside",model_name="demo",status="%d"}`,
			status)); n != "1" {
			t.Errorf("status %d: counted %q times", status, n)
		}
	}
}

func textOf(tok *tokenizer.Tokenizer, id int) string { text, _ := tok.Text(id); return text }

func abs(x float64) float64 { return max(x, -x) }

// checkAttention checks the weights of the last token, the largest first.
func checkAttention(t *testing.T, m *model.Model, ids []int, a insideAnswer) {
	t.Helper()
	n, heads := len(ids), m.Config().Head
	err := m.Eval(t.Context(), model.Input{Session: m.NewSession(), Tokens: ids, Trace: &model.Trace{
		From: n - 1, Points: []model.Point{{Kind: model.Pattern, Layer: model.AllLayers}},
		Read: func(v model.Reading) {
			for h := range heads {
				row, last := v.Data[h*n:(h+1)*n], float32(1)
				found := a.Attention[v.At.Layer][h]
				if len(found) != min(n, 64) {
					t.Errorf("head %d.%d: %d sources", v.At.Layer, h, len(found))
				}
				for _, source := range found {
					at, _ := source[0].Int64()
					if fmt.Sprint(row[at]) != fmt.Sprint(toFloat32(source[1])) || row[at] > last {
						t.Errorf("head %d.%d: %v from %d, want %v", v.At.Layer, h, source[1], at, row[at])
					}
					last = row[at]
				}
				if slices.Max(row) != row[toInt(found[0][0])] {
					t.Errorf("head %d.%d: the first source is not the largest", v.At.Layer, h)
				}
			}
		}}})
	if err != nil {
		t.Fatal(err)
	}
}

func toFloat32(n json.Number) float32 { x, _ := n.Float64(); return float32(x) }
func toInt(n json.Number) int         { x, _ := n.Int64(); return int(x) }

func TestInsideThatIsRefused(t *testing.T) {
	c := start(t, serve.Options{Steer: two()})
	z := `{"at":"z.1","head":0,"op":"set","values":[0]}`
	for fields, x := range map[string]struct{ param, message string }{
		`"prompt":["a","b"]`:                              {"prompt", "want at most 1 prompts, found more"},
		`"prompt":[]`:                                     {"prompt", "want one text, found 0"},
		`"prompt":7`:                                      {"prompt", "want a string"},
		`"prompt":[50257]`:                                {"prompt", "50256"},
		`"prompt":"a","at":1`:                             {"at", "want a token of the text, 0 to 0, found 1"},
		`"prompt":"a","at":-1`:                            {"at", "want a whole number from 0 to 255, found -1"},
		`"prompt":"a","at":0.5`:                           {"at", "found 0.5"},
		`"prompt":"a","target":"two words"`:               {"target", "want one token, found 2 in"},
		`"prompt":"a","target":""`:                        {"target", "want one token, found 0"},
		`"prompt":"a","target":[1]`:                       {"target", "want one token, as a string or an id, found a list"},
		`"prompt":"a","target":50257`:                     {"target", "50256"},
		`"prompt":"a","against":"b"`:                      {"against", "want target with it"},
		`"prompt":"a","target":5,"against":5`:             {"against", "want another token than target"},
		`"prompt":"a","top":21`:                           {"top", "from 1 to 20"},
		`"prompt":"a","sources":65`:                       {"sources", "from 1 to 64"},
		`"prompt":"a","parts":0`:                          {"parts", "from 1"},
		`"prompt":"a","steer":[{"name":"hot"}]`:           {"steer", "want warm, cold"},
		`"promt":"a"`:                                     {"promt", "did you mean prompt?"},
		`"prompt":"` + strings.Repeat("word ", 300) + `"`: {"prompt", "maximum context"},
		`"prompt":"a","edits":7`:                          {"edits", "want an array"},
		`"prompt":"a","edits":[7]`:                        {"edits", "want an object"},
		`"prompt":"a","edits":[{}]`:                       {"edits", "want at in each"},
		`"prompt":"a","edits":[{"at":"z.1"}]`:             {"edits", `"", want set, add, scale or hide`},
		`"prompt":"a","edits":[{"at":"blocks.1.attn.hook_y","op":"set"}]`:        {"edits", "did you mean blocks.1.attn.hook_q?"},
		`"prompt":"a","edits":[{"at":"z.4","op":"set","values":[0]}]`:            {"edits", "layer from 0 to 3"},
		`"prompt":"a","edits":[{"at":"ln1.hook_scale","op":"set","values":[0]}]`: {"edits", "there is none"},
		`"prompt":"a","edits":[{"at":"z.1","head":4,"op":"set","values":[0]}]`:   {"edits", "from -1 to 3, found 4"},
		`"prompt":"a","edits":[{"at":"z.1","op":"sett","values":[0]}]`:           {"edits", `"sett", want set`},
		// What a request has is not sent back whole.
		`"prompt":"a","edits":[{"at":"z.1","op":"` + strings.Repeat("o", 5000) + `","values":[0]}]`: {
			"edits", `hook_z: "` + strings.Repeat("o", 40) + `"…, want set`},
		`"prompt":"a","edits":[{"at":"z.1","op":"set","values":[1e39]}]`:                  {"edits", "32 bits, found 1e39"},
		`"prompt":"a","edits":[{"at":"z.1","op":"set","values":["NaN"]}]`:                 {"edits", "want a number"},
		`"prompt":"a","edits":[{"at":"z.1","op":"set","values":[1,2]}]`:                   {"edits", "2 values, want 128"},
		`"prompt":"a","edits":[{"at":"z.1","op":"set","from":257,"values":[1]}]`:          {"edits", "from 0 to 256, found 257"},
		`"prompt":"a","edits":[{"at":"z.1","op":"set","from":3,"to":3,"values":[1]}]`:     {"edits", "tokens 3 to 3"},
		`"prompt":"a","edits":[{"at":"pattern.1","op":"hide","keys_from":2,"keys_to":1}]`: {"edits", "keys 2 to 1"},
		`"prompt":"a","edits":[` + strings.Repeat(z+",", 512) + z + `]`:                   {"edits", "want at most 512, found more"},
		`"prompt":"a","edits":[{"at":"z.1","op":"set","values":[` + strings.Repeat("0,", 1<<14) + `0]}]`: {
			"edits", "at most 16384 numbers"},
		`"prompt":"a","edits":[{"at":"resid_post.1","op":"set","values":[` +
			strings.Repeat("3e38,-3e38,", 63) + `3e38,3e38]}]`: {"edits", "not finite with them: want smaller values"},
	} {
		c.refused("/inside", "{"+fields+"}", http.StatusBadRequest, x.param, x.message)
		if _, edits, ok := strings.Cut(fields, `,"edits":`); ok {
			c.refused("/v1/completions", `{"max_tokens":2,"prompt":"a","edits":`+
				edits+"}", http.StatusBadRequest, x.param, x.message)
		}
	}
	// The weights are not finite, and what is made of them is set.
	c.refused("/inside", `{"prompt":"a","edits":[{"at":"q.1","op":"set","values":[3e38]},
		{"at":"z.1","op":"set","values":[0]}]}`, 400, "edits", "not finite with them")
	small := start(t, serve.Options{MaxBody: 100, MaxQueue: 1, Batcher: batch.Options{MaxStreams: 1}})
	small.refused("/inside", `{"prompt":"`+strings.Repeat("a", 100)+`"}`, 413, "", "more than 100 bytes")
	giveBack := small.server.TakeSearchTurn()
	defer giveBack()
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		running.Go(func() { small.askInside(ctx, `{"prompt":"a"}`) })
	}
	eventually(t, "the queue is full", func() bool { return small.server.Waiting() == 2 })
	small.refused("/inside", `{"prompt":"a"}`, 429, "", "want at most 2")
	cancel()
	running.Wait()
	for want, header := range map[int][]string{415: {"Content-Encoding", "gzip"}, 405: nil} {
		method := map[int]string{415: "POST", 405: "GET"}[want]
		if r, text := c.do(method, "/inside", `{"prompt":"a"}`, header...); r.StatusCode != want {
			t.Errorf("status %d, want %d: %s", r.StatusCode, want, text)
		}
	}
	off := start(t, serve.Options{NoInside: true})
	off.refused("/inside", `{"prompt":"a"}`, 404, "", "/inside: no such path")
	off.refused("/v1/completions", `{"prompt":"a","edits":[`+z+`]}`, 400, "edits",
		"this server takes none (gpt serve --inside off)")
	gpu := startWith(t, testmodel.Demo(t, model.Options{Threads: 1, Device: device{}}), serve.Options{})
	gpu.refused("/inside", `{"prompt":"a"}`, 400, "", "--device cpu")
	gpu.refused("/v1/completions", `{"prompt":"a","edits":[`+z+`]}`, 400, "edits", "--device cpu")
	for c, want := range map[*client]bool{c: true, off: false, gpu: false} {
		if _, text := c.do("GET", "/v1/models", ""); strings.Contains(text, `"inside":true`) != want {
			t.Errorf("models: %s, want inside %v", text, want)
		}
	}
}

// askInside sends a request that ends with a context, and returns the status, 0 for none.
func (c *client) askInside(ctx context.Context, body string, header ...string) int {
	r, err := http.NewRequestWithContext(ctx, "POST", c.url+"/inside", strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return 0
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

// TestManyWhoLookInsideDelayNobody: 60 requests of one client wait, of 250 tokens each. Then another
// client asks, and has its turn among the first; and a text of 200 tokens comes to its end long
// before all are answered, because it has a step between any two parts of them.
func TestManyWhoLookInsideDelayNobody(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	var log record // a line for each request when it has ended
	c := startWith(t, m, behind(serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}))
	long := `{"target":5,"against":6,"prompt":[` + strings.Repeat("5,", 249) + `5]}`
	giveBack := c.server.TakeSearchTurn()
	var running sync.WaitGroup
	for i := range 61 {
		who := "192.0.2.1"
		if i == 60 {
			who = "192.0.2.2"
			eventually(t, "the others wait", func() bool { return c.server.Waiting() == 60 })
		}
		running.Go(func() {
			if status := c.askInside(t.Context(), long, from(who)...); status != http.StatusOK {
				t.Errorf("status %d", status)
			}
		})
	}
	eventually(t, "all wait", func() bool { return c.server.Waiting() == 61 })
	running.Go(func() {
		status, text := c.ask(t.Context(), `{"prompt":"Once","max_tokens":200,"ignore_eos":true,"seed":1}`,
			from("192.0.2.3")...)
		if status != http.StatusOK {
			t.Errorf("status %d: %s", status, text)
		}
	})
	eventually(t, "the text is being written", func() bool { return c.server.Steps() > 1 })
	giveBack()
	running.Wait()
	c.idle(m)
	lines := func() []string {
		log.mu.Lock()
		defer log.mu.Unlock()
		return strings.Split(strings.TrimSpace(log.text.String()), "\n")
	}
	eventually(t, "all requests are in the log", func() bool { return len(lines()) == 62 })
	own := slices.IndexFunc(lines(), func(l string) bool { return strings.Contains(l, "address=192.0.2.2 ") })
	text := slices.IndexFunc(lines(), func(l string) bool { return strings.Contains(l, "path=/v1/completions ") })
	if own > 5 || text > 45 {
		t.Errorf("%d requests were answered before the other client's, and %d before the text", own, text)
	}
}

// TestATextIsReadInParts: what else wants the model has it between the parts. So it sees a session
// that has some pages of the cache and later has more.
func TestATextIsReadInParts(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var grown atomic.Int32
	var running sync.WaitGroup
	running.Go(func() {
		for last := int64(0); ctx.Err() == nil; {
			m.Work(ctx, func(*kernels.Worker) {
				now := m.CacheBytes()
				if 0 < last && last < now {
					grown.Add(1)
				}
				last = now
			})
		}
	})
	for i := 0; i < 100 && grown.Load() == 0; i++ { // each is an occasion
		c.inside(`{"prompt":[` + strings.Repeat("5,", 249) + `5]}`)
	}
	cancel()
	running.Wait()
	if grown.Load() == 0 {
		t.Error("no session was seen to grow")
	}
}

func TestWhoLooksInsideAndGoesFreesItsTurn(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	computing, done := make(chan bool), make(chan bool)
	var running sync.WaitGroup
	running.Go(func() {
		m.Work(t.Context(), func(*kernels.Worker) { close(computing); <-done })
	})
	<-computing
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { c.askInside(ctx, `{"prompt":"Tom saw"}`) })
	eventually(t, "it has its turn", func() bool { return c.server.SearchTurns() == 1 })
	running.Go(func() {
		if status := c.askInside(t.Context(), `{"prompt":"Tom ran"}`); status != http.StatusOK {
			t.Errorf("the other: status %d", status)
		}
	})
	eventually(t, "the other waits", func() bool { return c.server.Waiting() == 2 })
	cancel()
	eventually(t, "the other has its turn", func() bool { return c.server.SearchTurns() == 2 })
	close(done)
	running.Wait()
	c.idle(m)
}

// 24 texts in one batch, with edits and without, twice, so that there are prefixes: each is what it
// is alone.
func TestTextsWithEditsAreAnsweredBesideOthers(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 2})
	o := serve.Options{Steer: two(), Batcher: batch.Options{MaxStreams: 24, PrefixBytes: 1 << 28}}
	c := startWith(t, m, o)
	off := headsOffEdits()
	warm := editsOf(t, steer.Scaled{Vector: two()[0].Vector, Scale: 0.5})
	kinds := []struct {
		field string
		edits []model.Edit
	}{
		{``, nil}, {`,"edits":[]`, nil}, {`,"edits":` + headsOff, off},
		{`,"edits":` + headsOff + `,"steer":[{"name":"warm"}]`, slices.Concat(warm, off)},
	}
	different := map[string]bool{}
	var wants [16]string
	for i := range wants {
		text, tokens := direct(t, m, story, decode.Options{MaxTokens: 5, Edits: kinds[i%4].edits, Top: 1,
			Params: sample.Params{Temperature: 1, Seed: uint64(i / 4)}})
		wants[i], different[fmt.Sprint(tokens[0].Top)] = text, true
	}
	for range 2 {
		var running sync.WaitGroup
		for i, want := range wants {
			kind := kinds[i%4]
			running.Go(func() {
				r, text := c.post("/v1/completions", fmt.Sprintf(
					`{"prompt":%q,"max_tokens":5,"seed":%d%s}`, story, i/4, kind.field))
				if r.StatusCode != http.StatusOK {
					t.Errorf("%s: %s", kind.field, text)
				} else if a := decoded[answer](t, text); a.Choices[0].Text != want {
					t.Errorf("%s: %q, want %q", kind.field, a.Choices[0].Text, want)
				}
			})
		}
		running.Wait()
	}
	if len(different) != 3 || c.server.PrefixHits() == 0 {
		t.Errorf("%d different beginnings, want 3; %d tokens of shared prefixes", len(different),
			c.server.PrefixHits())
	}
}
