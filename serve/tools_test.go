package serve_test

// Tools: which are told, which must be called, and the calls of an answer, whole and in a stream.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/chat"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
)

type toolMessage struct {
	Role    string
	Content *string
	Calls   []toolCall `json:"tool_calls"`
	Old     *function  `json:"function_call"`
}

type toolCall struct {
	Index    int
	ID, Type string
	Function function
}

type function struct{ Name, Arguments string }

type toolAnswer struct {
	Choices []struct {
		Index          int
		Message, Delta toolMessage
		FinishReason   *string `json:"finish_reason"`
		PromptIDs      []int   `json:"prompt_token_ids"`
		IDs            []int   `json:"token_ids"`
	}
}

// <tool_call> is one id, 256, of this vocabulary, which can be made likely.
func startBytes(t *testing.T, o serve.Options) *client { return startCalling(t, false, o) }

// startCalling is startBytes where that id may be special.
func startCalling(t *testing.T, special bool, o serve.Options) *client {
	config, file := fixture.Checkpoint(fixture.Options{Vocab: 258, Positions: 1024,
		Config: map[string]any{"eos_token_id": 257}})
	m := testmodel.New(t, config, file, model.Options{Threads: 1})
	dir := t.TempDir()
	if err := fixture.ByteTokenizer(dir); err != nil {
		t.Fatal(err)
	}
	vocab, err := os.ReadFile(filepath.Join(dir, "vocab.json"))
	if err != nil {
		t.Fatal(err)
	}
	ids := decoded[map[string]int](t, string(vocab))
	delete(ids, "<|endoftext|>")
	vocab, _ = json.Marshal(ids)
	tok, err := tokenizer.Load(fstest.MapFS{"tokenizer.json": &fstest.MapFile{Data: fmt.Appendf(nil,
		`{"model":{"type":"BPE","merges":[],"vocab":%s},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":`+
			`false,"use_regex":true},"decoder":{"type":"ByteLevel"},"added_tokens":[{"id":257,"content":`+
			`"<|endoftext|>","special":true},{"id":256,"content":"<tool_call>","special":%t}]}`, vocab, special)}})
	if err != nil {
		t.Fatal(err)
	}
	return startTokenizer(t, m, tok, o)
}

const (
	toolTemplate = `{{ tools|tojson if tools }}{% for m in messages %}[{{ m.role }}]{{ m.content }}` +
		`{{ m.tool_calls|tojson if m.tool_calls }}{{ m.tool_call_id }}{% endfor %}{# <tool_call> #}`
	weatherFields = `"name":"weather","description":"Tells it","parameters":{"type":"object","properties":` +
		`{"city":{"type":"string","maxLength":9},"days":{"type":"integer","minimum":0,"maximum":99}},` +
		`"required":["city","days"]},"strict":true`
	weather  = "{" + weatherFields + "}"
	now      = `{"name":"now"}`
	askTools = `"messages":[{"role":"user","content":"Well?"}],"tools":[{"type":"function","function":` +
		weather + `},{"type":"function","function":` + now + `}]`
	likely = `"logit_bias":{"256":4,"257":-100},"max_tokens":300`
)

// TestAnAnswerCallsTools that a request has: those that it must, as many as it may, with arguments of
// their schemas; and a stream is the same message in parts.
func TestAnAnswerCallsTools(t *testing.T) {
	c := startBytes(t, serve.Options{Template: toolTemplate})
	for _, x := range []struct {
		about, fields, finish string
		names                 string // that are called, by turns
		least, most           int
		content               bool
	}{
		{"required", askTools + `,"tool_choice":"required","logit_bias":{"257":-3}`, "tool_calls", "weather now", 1, 16, false},
		{"one", askTools + `,"tool_choice":"required","parallel_tool_calls":false`, "tool_calls",
			"weather now", 1, 1, false},
		{"held for a stop string", askTools + `,"tool_choice":"required","stop":["weather\", \"arguments\": {\"z"]`,
			"tool_calls", "weather now", 1, 16, false},
		{"named", askTools + `,"tool_choice":{"type":"function","function":{"name":"weather"}}`, "stop",
			"weather", 1, 1, false},
		{"auto", askTools + "," + likely, "tool_calls", "weather now", 1, 16, true},
		{"auto, one", askTools + `,"tool_choice":"auto","parallel_tool_calls":false,` + likely, "tool_calls",
			"weather now", 1, 1, true},
		{"auto, and none comes", askTools + `,"logit_bias":{"256":-100,"60":-100,"257":-100},"max_tokens":9`, "length",
			"", 0, 0, true},
		{"a schema without a type", `"messages":[{"role":"user","content":"Well?"}],"tools":[{"function":{"name":"now",` +
			`"parameters":{"properties":{}}}}],"tool_choice":"required"`, "tool_calls", "now", 1, 16, false},
		{"none", askTools + `,"tool_choice":"none",` + likely, "length", "", 0, 0, true},
		{"functions", `"messages":[{"role":"user","content":"Well?"}],"functions":[` + weather + "," + now +
			`],"function_call":"auto",` + likely, "function_call", "weather now", 1, 1, true},
		{"a function", `"messages":[{"role":"user","content":"Well?"}],"functions":[` + weather + "," + now +
			`],"function_call":{"name":"now"}`, "stop", "now", 1, 1, false},
	} {
		called, spoke, most := map[string]bool{}, false, 0
		for seed := range 12 {
			body := fmt.Sprintf(`{"seed":%d,%s`, seed, x.fields)
			r, text := c.post("/v1/chat/completions", body+"}")
			if r.StatusCode != 200 {
				t.Fatalf("%s: %d %s", x.about, r.StatusCode, text)
			}
			got := decoded[toolAnswer](t, text).Choices[0]
			m, finish := got.Message, got.FinishReason
			if len(m.Calls) == 0 && m.Old == nil && x.least > 0 {
				t.Fatalf("%s: %s", body, text)
			}
			_, text = c.post("/v1/chat/completions", body+`,"stream":true}`)
			whole := joined(t, text)
			if whole.Content != nil && *whole.Content == "" && m.Content == nil {
				whole.Content = nil
			}
			for i := range m.Calls { // each answer has its own
				m.Calls[i].ID, whole.Calls[i].ID, m.Calls[i].Index = "", "", i
			}
			if !reflect.DeepEqual(m, whole) {
				t.Fatalf("%s: whole %+v, streamed %+v", x.about, m, whole)
			}
			if m.Old != nil {
				m.Calls = []toolCall{{Type: "function", Function: *m.Old}}
			}
			for _, one := range m.Calls {
				if called[one.Function.Name] = true; one.Type != "function" {
					t.Errorf("%s: %+v", x.about, one)
				}
				checkArguments(t, one.Function)
			}
			if n := len(m.Calls); n < x.least || n > x.most || *finish != x.finish {
				t.Errorf("%s: %d calls, %s, want %d to %d, %s", x.about, n, *finish, x.least, x.most, x.finish)
			}
			spoke, most = spoke || m.Content != nil && *m.Content != "", max(most, len(m.Calls))
		}
		for name := range strings.FieldsSeq(x.names) {
			if !called[name] {
				t.Errorf("%s: %s is never called", x.about, name)
			}
			delete(called, name)
		}
		if len(called) > 0 || spoke != x.content || x.about == "required" && most < 2 {
			t.Errorf("%s: calls of %v, a text: %t, want %t; %d calls", x.about, called, spoke, x.content, most)
		}
	}
}

// TestASpecialTokenBeginsCalls where it is what the template begins them with.
func TestASpecialTokenBeginsCalls(t *testing.T) {
	c := startCalling(t, true, serve.Options{Template: toolTemplate})
	_, text := c.post("/v1/chat/completions", `{"seed":1,"return_token_ids":true,`+askTools+","+likely+"}")
	if m := decoded[toolAnswer](t, text).Choices[0]; len(m.Message.Calls) == 0 || !slices.Contains(m.IDs, 256) {
		t.Error(text)
	}
	// It is no text of other forms.
	_, text = c.post("/v1/chat/completions", `{"seed":1,"return_token_ids":true,"guided_regex":"[<_>a-z]{12}",`+
		`"messages":[{"role":"user","content":"a"}],`+likely+"}")
	if m := decoded[toolAnswer](t, text).Choices[0]; slices.Contains(m.IDs, 256) || len(m.IDs) < 12 {
		t.Error(text)
	}
}

// TestAnAnswerOfAFormOrACall: a response_format is that of an answer that is no call, as OpenAI has it.
func TestAnAnswerOfAFormOrACall(t *testing.T) {
	c := startBytes(t, serve.Options{Template: toolTemplate})
	const text = `"<tool_call>\n{"`
	ask := `"return_token_ids":true,"max_tokens":300,"response_format":{"type":"json_schema","json_schema":{"name":"a",` +
		`"schema":{"enum":["<tool_call>\n{"]}}},` + askTools
	kinds := map[string]int{}
	for seed := range 40 {
		body := fmt.Sprintf(`{"seed":%d,%s,"logit_bias":{"60":3,"256":2}`, seed, ask)
		_, got := c.post("/v1/chat/completions", body+"}")
		one := decoded[toolAnswer](t, got).Choices[0]
		kinds[*one.FinishReason]++
		switch m := one.Message; *one.FinishReason {
		case "stop":
			if len(m.Calls) > 0 || decoded[string](t, *m.Content) != decoded[string](t, text) {
				t.Fatal(got)
			}
		case "tool_calls":
			if m.Content != nil || len(m.Calls) == 0 {
				t.Fatal(got)
			}
			checkArguments(t, m.Calls[0].Function)
		}
		_, stream := c.post("/v1/chat/completions", body+`,"stream":true}`)
		if m := joined(t, stream); len(m.Calls) != len(one.Message.Calls) || len(m.Calls) == 0 && *m.Content != *one.Message.Content {
			t.Errorf("%s: streamed %+v", got, m)
		}
	}
	if kinds["stop"] == 0 || kinds["tool_calls"] == 0 || len(kinds) != 2 {
		t.Error(kinds)
	}
	_, got := c.post("/v1/chat/completions", `{"seed":1,`+ask+`,"tool_choice":"required"}`)
	if len(decoded[toolAnswer](t, got).Choices[0].Message.Calls) == 0 {
		t.Error(got)
	}
	c = startBytes(t, serve.Options{Template: toolTemplate, ToolFormat: "llama"}) // any object may be a call
	c.refused("/v1/chat/completions", "{"+ask+"}", 400, "tools", "want one form for the text, found response_format too")
}

func checkArguments(t *testing.T, f function) {
	t.Helper()
	var weather struct {
		City *string
		Days *int
	}
	d := json.NewDecoder(strings.NewReader(f.Arguments))
	d.DisallowUnknownFields()
	err := d.Decode(&weather)
	if f.Name == "weather" && (weather.City == nil || weather.Days == nil || len([]rune(*weather.City)) > 9 ||
		*weather.Days < 0 || *weather.Days > 99) || f.Name == "now" && f.Arguments != "{}" || err != nil {
		t.Errorf("%s: %s, %v", f.Name, f.Arguments, err)
	}
}

// joined returns the message of a stream, as clients put it together.
func joined(t *testing.T, body string) (m toolMessage) {
	t.Helper()
	data := events(t, body)
	for _, event := range data[:len(data)-1] {
		var raw struct {
			Choices []struct{ Delta map[string]any }
		}
		d := decoded[toolAnswer](t, event).Choices[0].Delta
		if json.Unmarshal([]byte(event), &raw); m.Role != "" && raw.Choices[0].Delta["role"] != nil {
			t.Errorf("the role comes twice: %s", event)
		}
		m.Role += d.Role
		if d.Content != nil {
			if len(d.Calls) > 0 || len(m.Calls) > 0 {
				t.Errorf("a text beside a call or after it: %s", event)
			}
			if m.Content == nil {
				m.Content = new("")
			}
			*m.Content += *d.Content
		}
		if d.Old != nil {
			if m.Old == nil {
				m.Old = &function{}
			}
			m.Old.Name, m.Old.Arguments = m.Old.Name+d.Old.Name, m.Old.Arguments+d.Old.Arguments
		}
		if len(d.Calls) > 1 {
			t.Errorf("two parts of calls in an event: %s", event)
		}
		for _, one := range d.Calls {
			if begins := one.ID != ""; begins != (one.Index == len(m.Calls)) || begins != (one.Function.Name != "") ||
				begins && one.Function.Arguments != "" {
				t.Errorf("not the beginning of a call, or more of its arguments: %s", event)
			}
			if one.Index == len(m.Calls) {
				m.Calls = append(m.Calls, one)
				continue
			}
			m.Calls[one.Index].Function.Arguments += one.Function.Arguments
		}
	}
	return m
}

// TestATemplateIsToldOfToolsAndCalls: of what the request has, with arguments as values; where it
// knows none, they are in the text.
func TestATemplateIsToldOfToolsAndCalls(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"W?"},{"role":"assistant","content":null,"tool_calls":` +
		`[{"id":"abc","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Bern\"}"}},` +
		`{"id":"d","type":"function","function":{"name":"now","arguments":"{"}}]},` +
		`{"role":"tool","tool_call_id":"abc","content":"rain"}]`
	const tool = `{"type":"function","function":{"name":"now","description":"d"}}`
	const without = `"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"now","arguments":""}}]},` +
		`{"role":"user","content":"W?"}]`
	const calls = `[{"id": "abc", "type": "function", "function": {"name": "weather", "arguments": {"city": "Bern"}}}, ` +
		`{"id": "d", "type": "function", "function": {"name": "now", "arguments": "{"}}]`
	const plain = `{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}`
	for _, x := range []struct{ template, fields, want string }{
		{toolTemplate, messages + `,"tools":[` + tool + `]`,
			`[{"type": "function", "function": {"name": "now", "description": "d"}}][user]W?[assistant]` + calls + `[tool]rainabc`},
		{toolTemplate, messages + `,"functions":[{"name":"now","description":"d"}]`,
			`[{"type": "function", "function": {"name": "now", "description": "d"}}][user]W?[assistant]` + calls + `[tool]rainabc`},
		{toolTemplate, messages + `,"tools":[` + tool + `],"tool_choice":"none"`, "[user]W?[assistant]" + calls + "[tool]rainabc"},
		{plain, messages, "[user]W?[assistant]{\"name\": \"weather\", \"arguments\": {\"city\":\"Bern\"}}\n" +
			"{\"name\": \"now\", \"arguments\": {}[tool]rain"},
		{plain + "{# <tool_call> #}", messages, "[user]W?[assistant]<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\":\"Bern\"}}" +
			"\n</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}\n</tool_call>[tool]rain"},
		{"{% for m in messages if m.role != 'tool' %}[{{ m.role }}]{{ m.content }}{% endfor %}", messages,
			"[user]W?[assistant]{\"name\": \"weather\", \"arguments\": {\"city\":\"Bern\"}}\n{\"name\": \"now\", \"arguments\": {}[user]rain"},
		{"{% for m in messages %}{{ raise_exception('who?') if m.role not in ['user', 'assistant'] }}[{{ m.role }}]{% endfor %}",
			messages, "[user][assistant][user]"},
		{toolTemplate, without, `[assistant][{"id": "", "type": "function", "function": {"name": "now", "arguments": {}}}][user]W?`},
		{plain, without, `[assistant]{"name": "now", "arguments": {}}[user]W?`},
	} {
		c := startBytes(t, serve.Options{Template: x.template})
		_, text := c.post("/v1/chat/completions", `{"return_token_ids":true,"max_tokens":100,`+x.fields+"}")
		var got []byte
		for _, id := range decoded[toolAnswer](t, text).Choices[0].PromptIDs {
			got = append(got, byte(id))
			if id == 256 {
				got = append(got[:len(got)-1], "<tool_call>"...)
			}
		}
		if string(got) != x.want {
			t.Errorf("%s %s: %q %s, want %q", x.template, x.fields, got, text, x.want)
		}
	}
}

func TestToolsThatCannotBeMeantAreRefused(t *testing.T) {
	c := start(t, serve.Options{Template: toolTemplate})
	const messages = `"messages":[{"role":"user","content":"a"}]`
	f := func(function string) string { return `"tools":[{"type":"function","function":` + function + "}]" }
	for _, x := range []struct{ fields, param, message string }{
		{`"tool_choice":"required"`, "tool_choice", "want tools with it"},
		{`"function_call":{"name":"f"}`, "tool_choice", "want the name of one of the tools, found f"},
		{f(`{"name":"f"}`) + `,"tool_choice":{"type":"function"}`, "tool_choice", "found none"},
		{f(`{"name":"f"}`) + `,"tool_choice":"any"`, "tool_choice", "want none, auto, required, found any"},
		{f(`{"name":""}`), "tools", "tool 0: want a name of 1 to 64"},
		{f(`{"name":"a b"}`), "tools", "found a b"},
		{`"tools":[{"type":"web_search"}]`, "tools", "want function, found web_search"},
		{`"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]`,
			"tools", "tool 1: f comes twice"},
		{f(`{"name":"f","parameters":{"type":"object","type":"object"}}`), "tools", "comes twice"},
		{f(`{"name":"f","parameters":{"type":"nope"}}`), "tools", "nope"},
		{f(`{"name":"f","parameters":{"properties":{"a":{"type":"nope"}}}}`), "tools", "the parameters of f: schema: #/properties/a/type: want"},
		{f(`{"name":"f","parameters":[]}`), "tools", "want an object, found a list"},
		{f(`{"name":"f","parameters":{"type":"string"}}`), "tools", "want object, found string"},
		{f(`{"name":"f"}`) + `,"guided_json":{}`, "tools", "want one form for the text, found guided_json too"},
		{f(`{"name":"f"}`) + `,"tool_choice":"required","max_tokens":3`, "max_tokens", "enough"},
		{`"tools":[` + strings.TrimSuffix(strings.Repeat(`{},`, 513), ",") + "]", "tools", "tool 0"},
	} {
		c.refused("/v1/chat/completions", "{"+messages+","+x.fields+"}", 400, x.param, x.message)
	}
	many := make([]string, 513)
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"f%d"}`, i)
	}
	c.refused("/v1/chat/completions", "{"+messages+`,"functions":[`+strings.Join(many, ",")+"]}", 400, "functions",
		"want at most 512 tools")
	if _, err := serve.New(testmodel.Demo(t, model.Options{Threads: 1}), tokenizer.GPT2(),
		serve.Options{Template: toolTemplate, ToolFormat: "nope"}); err == nil ||
		!strings.Contains(err.Error(), "want none, hermes, mistral, llama, json") {
		t.Error(err)
	}
}

// TestATemplatesStopDoesNotCutAForm whose values may have the text in them.
func TestATemplatesStopDoesNotCutAForm(t *testing.T) {
	vicuna := chat.Named[slices.IndexFunc(chat.Named, func(k chat.Known) bool { return k.Name == "vicuna" })]
	c := start(t, serve.Options{Template: vicuna.Source})
	const said = `"messages":[{"role":"user","content":"a"}],"max_tokens":60`
	_, text := c.post("/v1/chat/completions", "{"+said+`,"guided_json":{"const":"USER: b"}}`)
	if m := decoded[toolAnswer](t, text).Choices[0].Message; *m.Content != `"USER: b"` {
		t.Error(text)
	}
	_, text = c.post("/v1/chat/completions", "{"+said+`,"tool_choice":"required","parallel_tool_calls":false,"tools":[`+
		`{"function":{"name":"f","parameters":{"properties":{"a":{"const":"USER: b"}},"required":["a"]}}}]}`)
	if m := decoded[toolAnswer](t, text).Choices[0].Message; len(m.Calls) != 1 ||
		decoded[map[string]string](t, m.Calls[0].Function.Arguments)["a"] != "USER: b" {
		t.Error(text)
	}
}
