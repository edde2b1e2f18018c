package serve_test

// /openapi.json: requests at each bound that it has, and beyond each; answers beside its schemas.

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

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
