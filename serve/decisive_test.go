package serve_test

// Fields that decide what an answer is are honoured or refused, and no others are refused.

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/internal/chat"
	"picogpt/serve"
)

//go:embed testdata/fields.txt
var parameters string

// asking holds, by the path's name, where requests go and a field that they need.
var asking = map[string]struct{ path, field, value string }{
	"completions": {"/v1/completions", "prompt", `"Once"`},
	"chat":        {"/v1/chat/completions", "messages", `[{"role":"user","content":"Once"}]`},
	"embeddings":  {"/v1/embeddings", "input", `"Once"`},
	"responses":   {"/v1/responses", "input", `"Once"`},
}

// TestParametersAreHonouredHarmlessOrRefused: each of the API's, and of vLLM's and llama.cpp's.
func TestParametersAreHonouredHarmlessOrRefused(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{Template: chat.Plain})
	refused, plain := map[string]bool{}, map[string]string{}
	for line := range strings.Lines(parameters) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(words) < 3 || words[0] == "#" {
			continue
		}
		path, name, class := words[0], words[1], words[2]
		to := asking[path]
		with := func(value string) string {
			fields := `{"seed":1`
			if name == "seed" {
				fields = `{"user":"me"`
			}
			if path != "embeddings" && name != "max_output_tokens" && name != "max_tokens" && name != "max_completion_tokens" {
				fields += `,"max_tokens":1`
			}
			if to.field != name {
				fields += `,"` + to.field + `":` + to.value
			}
			return fields + `,"` + name + `":` + value + "}"
		}
		switch class {
		case "honoured":
			c.refused(to.path, with("[[{}]]"), 400, name, "want") // it is read
		case "harmless":
			r, got := c.post(to.path, with(words[3]))
			if _, ok := plain[path]; !ok {
				_, plain[path] = c.post(to.path, `{"seed":1,"max_tokens":1,"`+to.field+`":`+to.value+"}")
			}
			if r.StatusCode != 200 || answered(got) != answered(plain[path]) {
				t.Errorf("%s: %d %s, want %s", line, r.StatusCode, got, plain[path])
			}
		case "refused":
			c.refused(to.path, with(words[3]), 400, name, "")
			for _, off := range append(serve.Off(name), "null") {
				if r, text := c.post(to.path, with(off)); r.StatusCode != 200 {
					t.Errorf("%s %s %s: %d %s", path, name, off, r.StatusCode, text)
				}
			}
			refused[name] = true
		default:
			t.Errorf("the class of %s", line)
		}
	}
	for _, name := range serve.Decisives() {
		if !refused[name] && !strings.Contains(name, ".") {
			t.Errorf("%s is refused, and is in no list", name)
		}
	}
}

// answered is what all answers to a request have in common.
func answered(text string) string {
	from := 0
	for _, of := range []string{`"choices"`, `"data"`, `"content"`} {
		from = max(from, strings.Index(text, of))
	}
	return text[from:]
}

// TestDecisiveFieldsOfObjects are refused by their path.
func TestDecisiveFieldsOfObjects(t *testing.T) {
	c := start(t, serve.Options{Template: chat.Plain})
	tried := []string{}
	for _, x := range []struct{ path, fields, param string }{
		{"completions", `"response_format":{"type":"json_object","schema":{}}`, "response_format.schema"},
		{"completions", `"structured_outputs":{"whitespace_pattern":"x"}`,
			"structured_outputs.whitespace_pattern"},
		{"completions", `"structured_outputs":{"json":{},"disable_any_whitespace":true}`,
			"structured_outputs.disable_any_whitespace"},
		{"chat", `"messages":[{"role":"user","content":"a","audio":{"id":"1"}}]`, "messages[0].audio"},
		{"chat", `"messages":[{"role":"user","content":"a","refusal":"no"}]`, "messages[0].refusal"},
		{"chat", `"messages":[{"role":"user","content":"a","prefix":true}]`, "messages[0].prefix"},
		{"chat", `"messages":[{"role":"user","content":"a","partial":true}]`, "messages[0].partial"},
		{"chat", `"messages":[{"role":"user","content":"a","images":["AAAA"]}]`, "messages[0].images"},
	} {
		c.refused(asking[x.path].path, `{"max_tokens":1,`+x.fields+`}`, 400, x.param,
			"this server has no such field")
		tried = append(tried, strings.NewReplacer("[0]", "", "[1]", "").Replace(x.param))
	}
	for _, name := range serve.Decisives() {
		if strings.Contains(name, ".") && !slices.Contains(tried, name) {
			t.Errorf("%s is not tried", name)
		}
	}
	if r, text := c.post("/v1/chat/completions", `{"max_tokens":1,"messages":[{"role":"user","content":"a",
		"tool_calls":[],"refusal":null,"prefix":false,"annotations":[]}]}`); r.StatusCode != 200 {
		t.Error(text)
	}
}

// TestDecisiveFieldsHaveManyForms: values of other kinds, spaces and long ones.
func TestDecisiveFieldsHaveManyForms(t *testing.T) {
	c := start(t, serve.Options{Template: chat.Plain})
	for _, x := range []struct{ fields, param, message string }{
		{`"tool_choice":{"type":"function","function":{"name":"f"}}`, "tool_choice", "found an object"},
		{`"tool_choice":"required","tools":[]`, "tool_choice", "want it left out"},
		{`"modalities":["audio"]`, "modalities", "found a list"},
		{`"n_predict":0`, "n_predict", "want max_tokens in its place, found 0"},
		{`"continue_final_message":"yes"`, "continue_final_message", "found"},
		{`"json_schema":"` + strings.Repeat("a", 1000) + `"`, "json_schema", "response_format"},
		{`"grammar":{"a":1,"a":2}`, "grammar", "found an object"},
	} {
		c.refused("/v1/completions", `{"prompt":"a","max_tokens":1,`+x.fields+`}`, 400, x.param, x.message)
	}
	r, text := c.post("/v1/completions", `{"prompt":"a","max_tokens":1,"modalities":[ "text" ],
		"n_predict":-1.0,"tools":[{"type":"function"}],"tool_choice":"auto"}`)
	if got := r.Header.Get("X-Ignored-Fields"); r.StatusCode != 200 ||
		got != "modalities, n_predict, tool_choice, tools" {
		t.Errorf("%d, ignored %q: %s", r.StatusCode, got, text)
	}
}

// TestDecisiveFieldsMaySayAgain what the fields in their place say: clients send several names of one
// number to whatever server there is.
func TestDecisiveFieldsMaySayAgain(t *testing.T) {
	c := start(t, serve.Options{Template: chat.Plain})
	for path, to := range asking {
		if path == "embeddings" {
			continue
		}
		asks := `{"` + to.field + `":` + to.value + `,`
		r, text := c.post(to.path, asks+`"max_new_tokens":2,"n_predict":2.0,"stop":["x"],
			"stopping_strings":[ "x" ],"n":2,"num_return_sequences":2,"max_tokens":2}`)
		if r.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, r.StatusCode, text)
		}
		c.refused(to.path, asks+`"max_tokens":2,"max_new_tokens":2,"n_predict":3}`, 400, "n_predict", "")
		c.refused(to.path, asks+`"max_tokens":2,"grammar":"a","":"a"}`, 400, "grammar", "")
		c.refused(to.path, asks+`"":"a","stop_regex":"a"}`, 400, "stop_regex", "")
		for _, two := range []string{`"max_tokens":2,"max_completion_tokens":3`,
			`"max_tokens":2,"min_tokens":1,"max_completion_tokens":3`} {
			c.refused(to.path, asks+two+`}`, 400, "max_completion_tokens", "want what max_tokens says, 2")
		}
		c.refused(to.path, asks+`"max_completion_tokens":3,"max_tokens":2}`, 400, "max_tokens", "found 2")
	}
}
