package serve_test

// /openapi.json: requests at each bound that it has, and beyond each; answers beside its schemas.

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/inside/steer"
	"picogpt/model"
	"picogpt/serve"
)

type object = map[string]any

// A document is a parsed /openapi.json.
type document struct {
	t testing.TB
	object
}

func (c *client) document(header ...string) document {
	c.t.Helper()
	r, text := c.do("GET", "/openapi.json", "", header...)
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/json" {
		c.t.Fatalf("status %d: %.200s", r.StatusCode, text)
	}
	if len(text) > 1<<20 {
		c.t.Errorf("%d bytes", len(text))
	}
	return document{c.t, decoded[object](c.t, text)}
}

// at returns what stands at the end of a path.
func at(v any, path ...string) any {
	for _, name := range path {
		o, _ := v.(object)
		v = o[name]
	}
	return v
}

func (d document) body(path string) object {
	s, _ := at(d.object, "paths", path, "post", "requestBody", "content", "application/json",
		"schema").(object)
	return s
}

// compiled returns the schema at a place, in which objects have no other members than it says.
func (d document) compiled(place string) *jsonschema.Schema {
	d.t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("mem:doc", closed(d.object)); err != nil {
		d.t.Fatal(err)
	}
	s, err := c.Compile("mem:doc#/" + place)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// closed returns a copy in which the objects of components have no other members.
func closed(v any) any {
	b, _ := json.Marshal(v)
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var o object
	d.Decode(&o)
	for _, s := range at(o, "components", "schemas").(object) {
		s.(object)["additionalProperties"] = false
	}
	return o
}

func TestTheDocumentIsOpenAPI(t *testing.T) {
	for name, o := range map[string]serve.Options{"plain": {}, "keys": {Keys: []string{"k"},
		Template: "{{.Text}}", Timeout: 1 << 40}, "less": {NoInside: true}} {
		c := start(t, o)
		d := c.document("Authorization", "Bearer k")
		if d.object["openapi"] != "3.1.0" || at(d.object, "info", "title") == nil ||
			at(d.object, "servers").([]any)[0].(object)["url"] != "." {
			t.Errorf("%s: %v", name, d.object["info"])
		}
		ids := map[any]bool{}
		paths := at(d.object, "paths").(object)
		for path, methods := range paths {
			for method, one := range methods.(object) {
				id := at(one, "operationId")
				if ids[id] || id == nil {
					t.Errorf("%s: %s: the id %v", name, path, id)
				}
				ids[id] = true
				if _, posts := at(one, "requestBody").(object); posts != (method == "post") {
					t.Errorf("%s: %s %s: a body %v", name, method, path, posts)
				}
				open := at(one, "security") != nil
				if open != (path == "/health" || path == "/ready") {
					t.Errorf("%s: %s: open: %v", name, path, open)
				}
				responses := at(one, "responses").(object)
				for _, status := range []string{"200", "403", "405"} {
					if responses[status] == nil {
						t.Errorf("%s: %s has no %s", name, path, status)
					}
				}
				if responses["401"] != nil != (name == "keys" && !open) {
					t.Errorf("%s: %s: 401 is told: %v", name, path, responses["401"])
				}
				kinds := at(responses["200"], "content").(object)
				streams := at(d.body(path), "properties", "stream") != nil
				if _, told := kinds["text/event-stream"]; told != streams {
					t.Errorf("%s: %s has the contents %v", name, path, kinds)
				}
			}
		}
		_, talks := paths["/v1/chat/completions"]
		_, inside := paths["/inside"]
		if talks != (name == "keys") || inside != (name != "less") || paths["/classify"] != nil {
			t.Errorf("%s: the paths %v", name, slices.Sorted(maps.Keys(paths)))
		}
		every(d.object, func(o object) {
			if ref, ok := o["$ref"].(string); ok {
				if at(d.object, strings.Split(ref[2:], "/")...) == nil {
					t.Errorf("%s: nothing at %s", name, ref)
				}
			}
		})
		for path := range paths {
			if d.body(path) != nil {
				d.compiled("paths/" + strings.ReplaceAll(path, "/", "~1") +
					"/post/requestBody/content/application~1json/schema")
			}
		}
		if name == "keys" {
			if r, _ := c.do("GET", "/openapi.json", ""); r.StatusCode != http.StatusUnauthorized {
				t.Errorf("without a key: status %d", r.StatusCode)
			}
		}
		_, first := c.do("GET", "/openapi.json", "", "Authorization", "Bearer k")
		if _, again := c.do("GET", "/openapi.json", "", "Authorization", "Bearer k"); first != again {
			t.Errorf("%s: another document", name)
		}
	}
}

func every(v any, f func(object)) {
	switch v := v.(type) {
	case object:
		f(v)
		for _, inner := range v {
			every(inner, f)
		}
	case []any:
		for _, inner := range v {
			every(inner, f)
		}
	}
}

// TestEveryFieldThatIsHonouredIsTold: those of testdata/fields.txt.
func TestEveryFieldThatIsHonouredIsTold(t *testing.T) {
	c := start(t, serve.Options{Template: "{{bos_token}}{% for m in messages %}{{m.content}}{% endfor %}",
		TemplateJinja: true})
	d := c.document()
	n := 0
	for line := range strings.Lines(parameters) {
		words := strings.Fields(line)
		if len(words) < 3 || words[2] != "honoured" {
			continue
		}
		n++
		path := map[string]string{"chat": "/v1/chat/completions"}[words[0]]
		if path == "" {
			path = "/v1/" + words[0]
		}
		if _, told := at(d.body(path), "properties").(object)[words[1]]; !told {
			t.Errorf("%s: %s is not told", path, words[1])
		}
	}
	if n < 100 {
		t.Errorf("%d fields", n)
	}
}

// samples has values of strings that mean something.
var samples = map[string]any{
	"edits[].at": "blocks.0.attn.hook_z", "edits[].op": "scale", "edits[].values": []any{1},
	"steer[].name": "calm",
}

// valid returns a value that a schema accepts.
func valid(place string, s object) any {
	if v, ok := samples[place]; ok {
		return v
	}
	if all, ok := s["anyOf"].([]any); ok {
		return valid(place, all[0].(object))
	}
	if words, ok := s["enum"].([]any); ok {
		return words[min(1, len(words)-1)]
	}
	switch kindOf(s) {
	case "object":
		o := object{}
		required, _ := s["required"].([]any)
		for _, name := range required {
			name := name.(string)
			o[name] = valid(place+"."+name, at(s, "properties", name).(object))
		}
		return o
	case "array":
		if s["minItems"] != nil {
			return []any{valid(place+"[]", s["items"].(object))}
		}
		return []any{}
	case "integer", "number":
		if s["minimum"] != nil {
			return s["minimum"]
		}
		return 1
	case "boolean":
		return false
	}
	return "a"
}

func kindOf(s object) string {
	if all, ok := s["type"].([]any); ok {
		return all[0].(string)
	}
	kind, _ := s["type"].(string)
	return kind
}

func float(v any) float64 {
	x, _ := v.(json.Number).Float64()
	return x
}

// whole returns a number, and the one of n after it.
func after(v any, n int64, kind string) any {
	written := string(v.(json.Number))
	if kind == "number" {
		x := float(v)
		return x + float64(n)*math.Max(math.Abs(x), 1)*1e-9
	}
	var big, one = new(big.Int), new(big.Int)
	big.SetString(written, 10)
	one.SetInt64(n)
	return json.Number(big.Add(big, one).String())
}

func repeated(v any, n int) []any { return slices.Repeat([]any{v}, n) }

// tries returns values at the bounds of a schema and beyond them, and of other kinds.
func tries(place string, s object) (all []any) {
	some, _ := s["anyOf"].([]any)
	for _, one := range some {
		all = append(all, tries(place, one.(object))...)
	}
	if words, ok := s["enum"].([]any); ok {
		return append(words, "zebra", "", 7)
	}
	kind := kindOf(s)
	switch kind {
	case "integer", "number":
		for bound, n := range map[string]int64{"minimum": -1, "maximum": 1} {
			if b, ok := s[bound]; ok {
				all = append(all, b, after(b, n, kind))
			}
		}
		all = append(all, 0.5)
	case "string":
		all = append(all, valid(place, s), "", "é ")
		if most, ok := s["maxLength"]; ok {
			text := strings.Repeat("a", int(float(most)))
			all = append(all, text, text+"a")
		}
	case "array":
		item := s["items"].(object)
		if most, ok := s["maxItems"]; ok && float(most) < 1<<20 { // more take seconds to check
			n := int(float(most))
			all = append(all, repeated(valid(place+"[]", item), n+1))
			if !slices.Contains([]string{"tools", "functions", "steer"}, place) { // no two are equal
				all = append(all, repeated(valid(place+"[]", item), n))
			}
		}
		for _, try := range tries(place+"[]", item) {
			all = append(all, []any{try})
		}
		all = append(all, []any{})
	case "object":
		if values, ok := s["additionalProperties"].(object); ok {
			for _, try := range tries(place, values) {
				all = append(all, object{"7": try})
			}
			all = append(all, object{"": 1}, object{strings.Repeat("a", 1025): 1})
			if most, ok := s["maxProperties"]; ok {
				many := object{}
				for i := range int(float(most)) {
					many[fmt.Sprint("w", i)] = 1
				}
				more := maps.Clone(many)
				more["one more"] = 1
				all = append(all, many, more)
			}
		}
		base := valid(place, s).(object)
		members, _ := s["properties"].(object)
		for name, inner := range members {
			for _, try := range tries(place+"."+name, inner.(object)) {
				o := maps.Clone(base)
				o[name] = try
				all = append(all, o)
			}
		}
		for name := range base {
			o := maps.Clone(base)
			delete(o, name)
			all = append(all, o)
		}
	}
	return append(all, nil, 1, "x", true, []any{}, object{})
}

// together are errors of values that their fields take, but not with other fields, or not this model.
var together = regexp.MustCompile(`maximum context length|at most max_tokens|with it|want stream,|` +
	`not valid JSON|want ::=|at the end, or one of the|found none|one of the tools|edit of blocks|` +
	`token of the text|want one t|there is none, want|line 1: want the name|131072 states|cannot fill one in|want it, or content|with json_schema|control vectors`)

// bases are requests that are answered.
var bases = map[string]string{
	"/v1/completions":      `{"max_tokens":4}`,
	"/v1/chat/completions": `{"messages":[{"role":"user","content":"a"}],"max_tokens":4}`,
	"/v1/responses":        `{"input":"a","max_output_tokens":4}`,
	"/v1/embeddings":       `{"input":"a"}`,
	"/classify":            `{"input":"a"}`,
	"/tokenize":            `{"prompt":"a"}`,
	"/detokenize":          `{"tokens":[1]}`,
	"/inside":              `{"prompt":"a"}`,
}

// TestEveryBoundIsTheServers sends values at each bound of the document, and beyond it.
func TestEveryBoundIsTheServers(t *testing.T) {
	cases.NotShort(t)
	c := describedServer(t)
	d := c.document()
	good, bad, asked := 0, 0, map[string]bool{}
	for path, base := range bases {
		body := d.body(path)
		if body == nil {
			t.Fatalf("%s is not told", path)
		}
		judge := d.compiled("paths/" + strings.ReplaceAll(path, "/", "~1") +
			"/post/requestBody/content/application~1json/schema")
		for name, schema := range body["properties"].(object) {
			o := decoded[object](t, base)
			if path == "/tokenize" && (name == "content" || name == "messages") {
				delete(o, "prompt")
			}
			if strings.HasPrefix(name, "max_") { // they say the same
				delete(o, "max_tokens")
				delete(o, "max_output_tokens")
			}
			for _, try := range tries(name, schema.(object)) {
				o[name] = try
				sent := marshal(o)
				if asked[path+sent] {
					continue
				}
				asked[path+sent] = true
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(sent))
				if err != nil {
					t.Fatal(err)
				}
				says := judge.Validate(value)
				r, text := c.post(path, sent)
				var e struct{ Param, Message string }
				if r.StatusCode != 200 {
					e.Param = decoded[apiError](t, text).Error.Param
					e.Message = decoded[apiError](t, text).Error.Message
				}
				of := e.Param == name || strings.HasPrefix(e.Param, name+".") ||
					strings.HasPrefix(e.Param, name+"[")
				switch {
				case says == nil:
					if good++; r.StatusCode != 200 && !together.MatchString(e.Message) {
						t.Errorf("%s refuses %.200s: status %d: %.300s", path, sent, r.StatusCode, text)
					}
				case r.StatusCode/100 != 4 || !of:
					t.Errorf("%s takes %.200s: status %d: %.200s, and the document says %v", path, sent,
						r.StatusCode, text, says)
				default:
					bad++
				}
			}
		}
	}
	if t.Logf("%d values within the bounds, %d beyond them", good, bad); good < 1000 || bad < 2000 {
		t.Errorf("only %d and %d values", good, bad)
	}
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// describedServer is a server that has all paths and fields.
func describedServer(t testing.TB) *client {
	_, head := withHead(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	return startWith(t, m, serve.Options{MaxBody: 64 << 20, MaxPrompts: 9, MaxN: 5, TemplateJinja: true,
		Template: "{% for m in messages %}{{m.content}}{% endfor %}{{tools}}",
		Head:     head,
		Steer:    []serve.Steering{{Name: "calm", Vector: steer.Vector{1: make([]float32, m.Config().Embd)}}}})
}

// TestAnswersHaveTheirSchemas: whole ones, events, and errors; with no member that is not told.
func TestAnswersHaveTheirSchemas(t *testing.T) {
	c := describedServer(t)
	d := c.document()
	judge := func(name, place, text string) {
		t.Helper()
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = d.compiled(place).Validate(value)
		}
		if err != nil {
			t.Errorf("%s: %.300s: %v", name, text, err)
		}
	}
	schema := func(path, method, status, kind string) string {
		place := []string{"paths", path, method, "responses", status}
		if status != "200" {
			place = []string{"components", "responses", status}
		}
		place = append(place, "content", kind, "schema")
		for i := range place {
			place[i] = strings.ReplaceAll(place[i], "/", "~1")
		}
		return strings.Join(place, "/")
	}
	const talk = `{"messages":[{"role":"user","content":"a"}],"max_tokens":20,`
	const tools = `"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required"`
	for _, x := range []struct{ path, body string }{
		{"/v1/completions", `{}`}, {"/v1/completions", `{"n":2,"logprobs":3,"echo":true,"prompt":"\u00e9"}`},
		{"/v1/completions", `{"prompt_logprobs":2,"return_token_ids":true,"stop_token_ids":[11,13,262]}`},
		{"/v1/completions", `{"stop":["a","e"],"max_tokens":60}`},
		{"/v1/completions", `{"guided_json":{"type":"array"},"max_tokens":4}`},
		{"/v1/completions", `{"stream":true,"logprobs":1,"return_token_ids":true,` +
			`"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`},
		{"/v1/chat/completions", talk + `"logprobs":true,"top_logprobs":2,"prompt_logprobs":1}`},
		{"/v1/chat/completions", talk + tools + `}`},
		{"/v1/chat/completions", talk + tools + `,"stream":true}`},
		{"/v1/chat/completions", talk + `"functions":[{"name":"f"}],"function_call":{"name":"f"}}`},
		{"/v1/chat/completions", talk + `"logprobs":true,"stream":true}`},
		{"/v1/responses", `{"input":"a","include":["message.output_text.logprobs"],"max_output_tokens":3}`},
		{"/v1/responses", `{"input":"a","instructions":"b","tools":[{"type":"function","name":"f"}],` +
			`"tool_choice":"required","metadata":{"a":"b"},"stream":true}`},
		{"/v1/responses", `{"input":"a","stream":true,"max_output_tokens":3}`},
		{"/v1/embeddings", `{"input":["a","b"]}`},
		{"/v1/embeddings", `{"input":"a","encoding_format":"base64"}`}, {"/classify", `{"input":"a"}`},
		{"/tokenize", `{"prompt":"a \u2028","with_pieces":true,"return_token_strs":true}`},
		{"/tokenize", `{"content":"a"}`}, {"/tokenize", `{"messages":[{"role":"user","content":"a"}]}`},
		{"/detokenize", `{"tokens":[1,2]}`}, {"/inside", `{"prompt":"a b"}`},
		{"/inside", `{"prompt":"a b","target":5,"against":" b","edits":[{"at":"blocks.0.hook_mlp_out",` +
			`"op":"scale","values":[0]}]}`},
	} {
		r, text := c.post(x.path, x.body)
		switch kind := r.Header.Get("Content-Type"); {
		case r.StatusCode != 200:
			t.Errorf("%s %s: status %d: %s", x.path, x.body, r.StatusCode, text)
		case strings.HasPrefix(kind, "text/event-stream"):
			n := 0
			for line := range strings.Lines(text) {
				data, is := strings.CutPrefix(strings.TrimSpace(line), "data: ")
				if is && data != "[DONE]" {
					judge(x.path+" "+x.body, schema(x.path, "post", "200", "text/event-stream"), data)
					n++
				}
			}
			if n < 3 {
				t.Errorf("%s %s: %d events", x.path, x.body, n)
			}
		default:
			judge(x.path+" "+x.body, schema(x.path, "post", "200", "application/json"), text)
		}
	}
	for _, path := range []string{"/v1/models", "/v1/models/{id}", "/tokenizer_info", "/version",
		"/health", "/ready", "/openapi.json"} {
		r, text := c.do("GET", strings.ReplaceAll(path, "{id}", "demo"), "")
		if r.StatusCode != 200 {
			t.Errorf("%s: status %d", path, r.StatusCode)
		}
		judge(path, schema(path, "get", "200", "application/json"), text)
	}
	for status, x := range map[string]struct{ method, path, body string }{
		"400": {"POST", "/v1/completions", `{"n":0}`}, "404": {"GET", "/v1/models/other", ""},
		"405": {"GET", "/v1/completions", ""}, "413": {"POST", "/tokenize", strings.Repeat(" ", 65<<20)},
	} {
		r, text := c.do(x.method, x.path, x.body)
		if fmt.Sprint(r.StatusCode) != status {
			t.Errorf("%s: status %d, want %s", x.path, r.StatusCode, status)
		}
		judge(status, schema(x.path, strings.ToLower(x.method), status, "application/json"), text)
	}
}
