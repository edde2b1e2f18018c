package serve_test

// /v1/responses: the answers of conversations, as lists of items.

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/serve"
)

type responseItem struct {
	ID, Type, Status, Role, Name, Arguments string
	CallID                                  string `json:"call_id"`
	Content                                 []struct {
		Type, Text string
		Logprobs   []any
	}
}

type response struct {
	ID, Object, Status string
	Output             []responseItem
	Usage              struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	}
	Incomplete *struct{ Reason string } `json:"incomplete_details"`
	Tools      []any
}

type responseEvent struct {
	Type     string
	Number   int `json:"sequence_number"`
	Response *response
	Index    int    `json:"output_index"`
	ItemID   string `json:"item_id"`
	Item     *responseItem
	Delta    string
	Text     *string
	Args     *string `json:"arguments"`
	Name     string
	Code     string
}

// TestAResponseIsAnAnswerOfAConversation: with a seed it says what /v1/chat/completions says of the
// same conversation, and its stream comes to the same.
func TestAResponseIsAnAnswerOfAConversation(t *testing.T) {
	c := startBytes(t, serve.Options{Template: toolTemplate})
	const flat = `"tools":[{"type":"function",` + weatherFields + `},{"type":"function","name":"now"}]`
	for _, x := range []struct{ about, input, messages, fields string }{
		{"a text", `"Well?"`, `[{"role":"user","content":"Well?"}]`, `"logit_bias":{"257":-100}`},
		{"items", `[{"role":"user","content":[{"type":"input_text","text":"We"},{"type":"input_text","text":"ll?"}]},
			{"type":"message","role":"assistant","id":"x","status":"completed","content":[{"type":"output_text","text":"A",
			"annotations":[],"logprobs":[]}]},{"type":"reasoning","summary":[]},{"role":"user","content":"B"}]`,
			`[{"role":"user","content":"Well?"},{"role":"assistant","content":"A"},{"role":"user","content":"B"}]`, `"top_k":5`},
		{"instructions", `[{"role":"user","content":"a"}]`,
			`[{"role":"system","content":"Be kind."},{"role":"user","content":"a"}]`, `"instructions":"Be kind."`},
		{"calls", `[{"role":"user","content":"a"},{"type":"function_call","call_id":"q","name":"now","arguments":"{}"},
			{"type":"function_call","call_id":"r","name":"now","arguments":"{}"},
			{"type":"function_call_output","call_id":"q","output":"1"},
			{"type":"function_call_output","call_id":"r","output":[{"type":"input_text","text":"2"}]}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"q","function":{"name":"now","arguments":"{}"}},
			{"id":"r","function":{"name":"now","arguments":"{}"}}]},{"role":"tool","tool_call_id":"q","content":"1"},
			{"role":"tool","tool_call_id":"r","content":"2"}]`, `"logit_bias":{"257":-100}`},
		{"tools", `"Well?"`, `[{"role":"user","content":"Well?"}]`, flat + `,"tool_choice":"required","logit_bias":{"257":-3}`},
		{"a text before calls", `"Well?"`, `[{"role":"user","content":"Well?"}]`, flat + `,"logit_bias":{"256":4,"257":-100}`},
		{"a named one", `"Well?"`, `[{"role":"user","content":"Well?"}]`, flat + `,"tool_choice":{"type":"function","name":"now"}`},
		{"a form", `"Well?"`, `[{"role":"user","content":"Well?"}]`, `"text":{"format":{"type":"json_schema","name":"w","strict":true,
			"schema":{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":4}},"verbosity":"low"}`},
	} {
		chat := strings.NewReplacer(`"tools":[{"type":"function",`+weatherFields+`},{"type":"function","name":"now"}]`,
			`"tools":[{"type":"function","function":`+weather+`},{"type":"function","function":`+now+`}]`,
			`{"type":"function","name":"now"}`, `{"type":"function","function":{"name":"now"}}`,
			`"text":{"format":{"type":"json_schema","name":"w","strict":true,`, `"response_format":{"type":"json_schema","json_schema":{`,
			`"instructions":"Be kind."`, `"top_k":0`, `,"verbosity":"low"}`, `}`).Replace(x.fields)
		for seed := range 5 {
			body := fmt.Sprintf(`{"seed":%d,"max_output_tokens":200,"input":%s,%s`, seed, x.input, x.fields)
			r, text := c.post("/v1/responses", body+"}")
			if r.StatusCode != 200 {
				t.Fatalf("%s: %s", x.about, text)
			}
			whole := decoded[response](t, text)
			_, text = c.post("/v1/chat/completions", fmt.Sprintf(`{"seed":%d,"max_tokens":200,"messages":%s,%s}`, seed,
				x.messages, chat))
			checkItems(t, x.about, whole, decoded[toolAnswer](t, text), text)
			_, text = c.post("/v1/responses", body+`,"stream":true}`)
			streamed := checkEvents(t, x.about, text)
			for _, of := range []*response{&whole, &streamed} {
				for i := range of.Output {
					of.Output[i].ID, of.Output[i].CallID = "", ""
				}
				of.ID = ""
			}
			if !reflect.DeepEqual(whole, streamed) {
				t.Errorf("%s: whole %+v, streamed %+v", x.about, whole, streamed)
			}
		}
	}
}

// checkItems compares a response with the answer of /v1/chat/completions.
func checkItems(t *testing.T, about string, r response, a toolAnswer, text string) {
	t.Helper()
	if len(a.Choices) != 1 {
		t.Fatalf("%s: %s", about, text)
	}
	m, finish := a.Choices[0].Message, *a.Choices[0].FinishReason
	var said string
	var calls []toolCall
	for i, one := range r.Output {
		switch one.Type {
		case "message":
			if said = one.Content[0].Text; i > 0 || one.Role != "assistant" || one.Content[0].Type != "output_text" {
				t.Errorf("%s: %+v", about, one)
			}
		case "function_call":
			if calls = append(calls, toolCall{Function: function{one.Name, one.Arguments}}); one.CallID == "" {
				t.Errorf("%s: %+v", about, one)
			}
		default:
			t.Errorf("%s: %+v", about, one)
		}
	}
	for i := range m.Calls {
		m.Calls[i].ID, m.Calls[i].Type = "", ""
	}
	want := ""
	if m.Content != nil {
		want = *m.Content
	}
	if status := map[bool]string{true: "incomplete", false: "completed"}[finish == "length"]; said != want ||
		!reflect.DeepEqual(calls, m.Calls) || r.Status != status || (r.Incomplete != nil) != (finish == "length") ||
		r.Output[len(r.Output)-1].Status != status || r.Usage.Total != r.Usage.Input+r.Usage.Output || r.Object != "response" {
		t.Errorf("%s: %+v, want %q and %+v, %s", about, r, want, m.Calls, finish)
	}
}

// checkEvents checks the order of the events of a stream, and returns the response of the last.
func checkEvents(t *testing.T, about, text string) (last response) {
	t.Helper()
	open, name, parts := "", "", map[string]string{}
	n := 0
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		line, data, ok := strings.Cut(block, "\ndata: ")
		e := decoded[responseEvent](t, data)
		if !ok || line != "event: "+e.Type || e.Number != n {
			t.Fatalf("%s: event %d: %s", about, n, block)
		}
		kind := strings.TrimPrefix(e.Type, "response.")
		switch {
		case n < 2:
			if kind != []string{"created", "in_progress"}[n] || e.Response.Status != "in_progress" {
				t.Errorf("%s: event %d: %s", about, n, block)
			}
		case kind == "output_item.added":
			if open != "" || e.Item.Status != "in_progress" || e.Index != len(parts) {
				t.Errorf("%s: %s, while %q is open", about, block, open)
			}
			open, name = e.Item.ID, e.Item.Name
			parts[open] = ""
		case kind == "output_item.done":
			whole := e.Item.Arguments
			if len(e.Item.Content) > 0 {
				whole = e.Item.Content[0].Text
			}
			if e.Item.ID != open || whole != parts[open] {
				t.Errorf("%s: %s, of %q", about, block, parts[open])
			}
			open = ""
		case kind == "completed" || kind == "incomplete":
			last = *e.Response
		case e.ItemID != open:
			t.Errorf("%s: %s, while %q is open", about, block, open)
		case strings.HasSuffix(kind, ".delta"):
			parts[open] += e.Delta
		case e.Text != nil && *e.Text != parts[open] || e.Args != nil && (*e.Args != parts[open] || e.Name != name):
			t.Errorf("%s: %s, want %q of %s", about, block, parts[open], name)
		}
		n++
	}
	if open != "" || last.Output == nil || len(parts) != len(last.Output) {
		t.Errorf("%s: the stream ends with %+v, and %q is open", about, last, open)
	}
	return last
}

func TestWhatAResponseCannotBeIsRefused(t *testing.T) {
	c := start(t, serve.Options{Template: toolTemplate})
	for _, x := range []struct{ fields, param, message string }{
		{`"input":"a","store":true`, "store", "stores nothing"},
		{`"input":"a","background":true`, "background", "stores nothing"},
		{`"input":"a","previous_response_id":"resp_1"`, "previous_response_id", "no such field"},
		{`"input":"a","conversation":"conv_1"`, "conversation", "no such field"},
		{`"input":"a","truncation":"auto"`, "truncation", "want disabled, found auto"},
		{`"input":[{"type":"item_reference","id":"x"}]`, "input", "item 0: want the type message, function_call"},
		{`"input":[{"role":"robot","content":"a"}]`, "input", "found robot"},
		{`"input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]`, "input", "want the type text"},
		{`"input":[{"type":"function_call","call_id":"a"}]`, "input", "want the name of a function"},
		{`"input":[{"role":"system","content":"a"}]`, "input", "at the end"},
		{`"input":7`, "input", "want"},
		{`"input":"a","metadata":{"a":"` + strings.Repeat("b", 16<<10) + `"}`, "metadata", "want at most 16384 bytes"},
		{`"input":"a","text":{"b":"` + strings.Repeat("b", 272<<10) + `"}`, "text", "want at most 278528 bytes"},
		{`"input":"` + strings.Repeat("a b ", 2000) + `"`, "input", "maximum context length"},
		{`"input":"a","tools":[{"type":"web_search"}]`, "tools", "web_search"},
		{`"input":"a","tool_choice":"required"`, "tool_choice", "want tools"},
		{`"input":"a","text":{"format":{"type":"json_schema","name":"a"}}`, "text", "want a schema"},
		{`"input":"a","text":{"format":{"type":"json_schema","name":"a","schema":{"type":"nope"}}}`, "text", "nope"},
		{`"input":"a","max_output_tokens":5000`, "max_output_tokens", "maximum context length"},
		{`"messages":[{"role":"user","content":"a"}]`, "messages", "input"},
	} {
		c.refused("/v1/responses", "{"+x.fields+"}", 400, x.param, x.message)
	}
	c = start(t, serve.Options{})
	c.refused("/v1/responses", `{"input":"a"}`, 404, "", "chat template")
}

// TestTheProbabilitiesOfAResponseAreInItsParts where the request includes them.
func TestTheProbabilitiesOfAResponseAreInItsParts(t *testing.T) {
	c := start(t, serve.Options{Template: toolTemplate})
	const body = `{"seed":1,"input":"Once","max_output_tokens":9,"include":["message.output_text.logprobs"],"top_logprobs":2`
	_, text := c.post("/v1/responses", body+"}")
	whole := decoded[response](t, text)
	_, text = c.post("/v1/responses", body+`,"stream":true}`)
	last := checkEvents(t, "logprobs", text)
	if n := len(whole.Output[0].Content[0].Logprobs); n != 9 ||
		!reflect.DeepEqual(whole.Output[0].Content, last.Output[0].Content) {
		t.Errorf("%d, whole %+v, streamed %+v", n, whole.Output, last.Output)
	}
	if !slices.Contains(strings.Split(text, "\n"), "event: response.incomplete") {
		t.Error(text)
	}
}

// TestADeadEndIsTheErrorOfAResponse: with a status where nothing is sent yet, and else as the last
// event of a stream, in which no item is completed.
func TestADeadEndIsTheErrorOfAResponse(t *testing.T) {
	c := start(t, serve.Options{Template: toolTemplate})
	const body = `{"input":"a","stream":true,"guided_choice":["aX"],"bad_words":["X"],"seed":1`
	c.refused("/v1/responses", strings.Replace(body, "aX", "X", 1)+"}", 400, "", noID)
	_, text := c.post("/v1/responses", body+"}")
	blocks := strings.Split(strings.TrimSpace(text), "\n\n")
	if last := blocks[len(blocks)-1]; !strings.HasPrefix(last, "event: error\n") || !strings.Contains(last, noID) ||
		strings.Contains(text, ".done") || strings.Contains(text, `"completed"`) {
		t.Error(text)
	}
}
