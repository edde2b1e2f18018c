package serve

// /v1/responses: a conversation whose answer is a list of items, a text and calls of tools. Nothing
// is stored: a request has the whole conversation.

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"picogpt/internal/chat"
	"picogpt/internal/strictjson"
	"picogpt/serve/internal/openapi"
)

// A response is the JSON of an answer of /v1/responses: what the request said, and the items.
type response struct {
	ID           string           `json:"id"`
	Object       string           `json:"object"`
	Created      int64            `json:"created_at"` // seconds since 1970
	Status       string           `json:"status"`     // in_progress, completed or incomplete
	Background   bool             `json:"background"`
	Error        any              `json:"error"`
	Incomplete   *incomplete      `json:"incomplete_details"`
	Instructions *string          `json:"instructions"`
	MaxTokens    *int             `json:"max_output_tokens"`
	MaxCalls     any              `json:"max_tool_calls"`
	Metadata     jsontext.Value   `json:"metadata"`
	Model        string           `json:"model"`
	Output       []*item          `json:"output"`
	Parallel     bool             `json:"parallel_tool_calls"`
	Previous     any              `json:"previous_response_id"`
	Reasoning    reasoning        `json:"reasoning"`
	Store        bool             `json:"store"`
	Temperature  float64          `json:"temperature"`
	Text         jsontext.Value   `json:"text"`
	ToolChoice   jsontext.Value   `json:"tool_choice"`
	Tools        []jsontext.Value `json:"tools"`
	TopLogprobs  int              `json:"top_logprobs"`
	TopP         float64          `json:"top_p"`
	Truncation   string           `json:"truncation"`
	Usage        *responseUsage   `json:"usage"`
	User         any              `json:"user"`

	listed bool            // it includes log-probabilities
	event  func(eventJSON) // sends one of a stream, of so many; nil: the answer is whole
	count  int
}

type incomplete struct {
	Reason string `json:"reason"`
}

type reasoning struct {
	Effort  any `json:"effort"`
	Summary any `json:"summary"`
}

type responseUsage struct {
	Input        int            `json:"input_tokens"`
	InputDetails *promptDetails `json:"input_tokens_details"`
	Output       int            `json:"output_tokens"`
	Details      struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// An item is a message of the assistant, or a call of a tool.
type item struct {
	ID        string      `json:"id"`
	Type      string      `json:"type"`
	Status    string      `json:"status"`
	Role      string      `json:"role,omitzero"`
	Content   []*textPart `json:"content,omitzero"`
	CallID    string      `json:"call_id,omitzero"`
	Name      string      `json:"name,omitzero"`
	Arguments *string     `json:"arguments,omitzero"`

	written []byte // of the text, or of the arguments
}

type textPart struct {
	Type        string      `json:"type"`
	Text        string      `json:"text"`
	Annotations []string    `json:"annotations"`
	Logprobs    []chatEntry `json:"logprobs"`
}

// An eventJSON is an event of a stream.
type eventJSON struct {
	Type      string      `json:"type"`
	Number    int         `json:"sequence_number"`
	Response  *response   `json:"response,omitzero"`
	Index     *int        `json:"output_index,omitzero"`
	Item      *item       `json:"item,omitzero"`
	ItemID    string      `json:"item_id,omitzero"`
	Content   *int        `json:"content_index,omitzero"`
	Part      *textPart   `json:"part,omitzero"`
	Delta     *string     `json:"delta,omitzero"`
	Text      *string     `json:"text,omitzero"`
	Name      string      `json:"name,omitzero"`
	Arguments *string     `json:"arguments,omitzero"`
	Logprobs  []chatEntry `json:"logprobs,omitzero"`
	Code      any         `json:"code,omitzero"` // of an error
	Message   string      `json:"message,omitzero"`
	Param     any         `json:"param,omitzero"`
}

func (s *Server) responses(v *visit) error {
	if err := s.mayConverse(v); err != nil {
		return err
	}
	return s.generate(v, s.parseResponse)
}

// parseResponse reads the body of a request.
func (s *Server) parseResponse(body string) (*completion, error) {
	q := s.newCompletion(longestAnswer)
	q.chat, q.talk.field = true, "input"
	r := &response{Object: "response", Status: "in_progress", Metadata: jsontext.Value(`{}`),
		Text: jsontext.Value(`{"format":{"type":"text"}}`), ToolChoice: jsontext.Value(`"auto"`),
		Output: []*item{}, Tools: []jsontext.Value{}, Truncation: "disabled"}
	q.response = r
	if err := q.parse(s, body, q.responseFields(s), "input"); err != nil {
		return nil, err
	}
	if r.listed {
		q.logprobs = &r.TopLogprobs
	}
	if r.Instructions != nil {
		system := chat.Message{Role: chat.System, Text: *r.Instructions}
		q.talk.messages = append([]chat.Message{system}, q.talk.messages...)
	}
	for _, t := range q.talk.tools.all {
		r.Tools = append(r.Tools, jsontext.Value(t.source))
	}
	if q.limit != "" {
		r.MaxTokens = &q.MaxTokens
	}
	r.Parallel = q.talk.tools.parallel == nil || *q.talk.tools.parallel
	r.Temperature, r.TopP = q.Temperature, q.TopP
	return q, q.converse(s)
}

// responseFields returns the table of /v1/responses.
func (q *completion) responseFields(s *Server) map[string]field {
	q.response = cmp.Or(q.response, new(response))
	r, table := q.response, q.fields(s)
	for _, name := range []string{"prompt", "suffix", "echo", "n", "best_of", "use_beam_search", "logprobs",
		"prompt_logprobs", "return_token_ids", "n_probs", "response_format", "stream_options"} {
		delete(table, name)
	}
	table["input"] = must(readInput(&q.talk.messages, &q.ignored))
	table["instructions"] = optional(&r.Instructions, text)
	table["text"] = keeping(&r.Text, mostForm+mostEchoed, object("text", &q.ignored, map[string]field{
		"format": q.form.textFormat(&q.ignored), "verbosity": anyText}))
	table["metadata"] = keeping(&r.Metadata, mostEchoed, object("metadata", new([]string), nil))
	names := func() openapi.Schema { return openapi.List(openapi.String()) }
	table["include"] = as(names, func(r *strictjson.Reader) error {
		return r.Array(func(int) error {
			name, err := r.String()
			q.response.listed = q.response.listed || name == "message.output_text.logprobs"
			return err
		})
	})
	q.talk.tools.addItemFields(table, &q.ignored)
	table["tool_choice"] = keeping(&r.ToolChoice, mostEchoed, table["tool_choice"])
	for _, name := range []string{"store", "background"} {
		never := func() openapi.Schema { return openapi.Schema{"const": false} }
		table[name] = as(never, func(r *strictjson.Reader) error {
			is, err := r.Bool()
			if err == nil && is {
				return r.Errorf("want false, because this server stores nothing, found true")
			}
			return err
		})
	}
	table["truncation"] = word(&r.Truncation, []string{"disabled"})
	table["top_logprobs"] = whole(0, mostTop)(&r.TopLogprobs)
	return table
}

// mostEchoed bounds metadata, and what chooses a tool, in bytes: a response has them.
const mostEchoed = 16 << 10

// keeping returns a field whose value, of so many bytes at most, is also kept as it is.
func keeping(to *jsontext.Value, most int, f field) field {
	return as(f.schema, func(r *strictjson.Reader) error {
		v, err := r.Raw()
		switch {
		case err != nil:
			return err
		case len(v.Text()) > most:
			return r.Errorf("want at most %d bytes, found %d", most, len(v.Text()))
		}
		*to = jsontext.Value(strings.Clone(v.Text()))
		return f.read(strictjson.NewReader(v.Text()))
	})
}

// textFormat reads the field format of text: as response_format, but that a schema stands beside its
// type.
func (f *form) textFormat(ignored *[]string) field {
	members := func(kind *string, schema **string) field {
		return object("text.format", ignored, map[string]field{"name": anyText,
			"type":        must(among(text(kind), "text", "json_object", "json_schema")),
			"description": anyText, "strict": yes(new(bool)), "schema": asJSON(schema)})
	}
	of := func() openapi.Schema { return members(new(string), new(*string)).schema() }
	return as(of, func(r *strictjson.Reader) error {
		var kind string
		var schema *string
		err := members(&kind, &schema).read(r)
		switch {
		case err != nil || kind == "text":
			return err
		case kind == "json_object":
			schema = new(anObject)
		case kind != "json_schema":
			return r.Errorf("want the type text, json_object or json_schema, found %s",
				cmp.Or(short(kind), "none"))
		case schema == nil:
			return r.Errorf("want a schema, found none")
		}
		f.fields, f.schema = append(f.fields, "text"), schema
		return nil
	})
}

// readInput reads a text of the user, or a list of items.
func readInput(to *[]chat.Message, ignored *[]string) field {
	item := func(kind *string, m *chat.Message, call *chat.Call, parts *int) field {
		return object("input", ignored, map[string]field{
			"type": among(text(kind), "message", "function_call", "function_call_output", "reasoning"),
			"id":   anyText, "status": anyText, "phase": anyText,
			"role": among(text(&m.Role), roles[:4]...), "content": content(&m.Text, parts, ignored),
			"call_id": text(&call.ID), "name": text(&call.Name), "arguments": text(&call.Arguments),
			"output": content(&m.Text, parts, ignored),
		})
	}
	schema := func() openapi.Schema {
		one := item(new(string), new(chat.Message), new(chat.Call), new(int)).schema()
		return openapi.Either(openapi.String(), openapi.AtMost(mostMessages, one))
	}
	return as(schema, func(r *strictjson.Reader) error {
		if r.Kind() != '[' {
			said, err := ownString(r)
			*to = []chat.Message{{Role: chat.User, Text: said}}
			return err
		}
		parts := 0
		return r.Array(func(i int) error {
			if i == mostMessages {
				return r.Errorf("want at most %d items, found more", mostMessages)
			}
			kind := "message"
			m, call := chat.Message{}, chat.Call{}
			err := item(&kind, &m, &call, &parts).read(r)
			last := len(*to) - 1
			switch {
			case err != nil:
				return r.Errorf("item %d: %v", i, err)
			case kind == "message" && slices.Contains(roles[:4], m.Role):
				*to = append(*to, m)
			case kind == "message":
				return r.Errorf("item %d: want the role system, developer, user or assistant, found %s", i,
					cmp.Or(short(m.Role), "none"))
			case kind == "function_call" && call.Name == "":
				return r.Errorf("item %d: want the name of a function, found none", i)
			case kind == "function_call" && last >= 0 && (*to)[last].Role == chat.Assistant:
				(*to)[last].Calls = append((*to)[last].Calls, call)
			case kind == "function_call":
				*to = append(*to, chat.Message{Role: chat.Assistant, Calls: []chat.Call{call}})
			case kind == "function_call_output":
				m.Role, m.CallID = "tool", call.ID
				*to = append(*to, m)
			case kind != "reasoning": // which no template has
				return r.Errorf("item %d: want the type message, function_call or function_call_output, "+
					"found %s", i, short(kind))
			}
			return nil
		})
	})
}

// send sends an event of a stream.
func (r *response) send(e eventJSON) {
	if r.event == nil {
		return
	}
	e.Number = r.count
	r.count++
	if n := len(r.Output) - 1; n >= 0 && e.Response == nil {
		last := r.Output[n]
		if e.Index = &n; e.Item == nil {
			e.ItemID = last.ID
		}
		if last.Content != nil && e.Item == nil {
			e.Content = new(0)
		}
	}
	r.event(e)
}

// begin begins an item, after the end of the one before.
func (r *response) begin(i *item) {
	r.end("completed")
	i.Status = "in_progress"
	r.Output = append(r.Output, i)
	added := *i
	if added.Content = nil; i.Content != nil {
		added.Content = []*textPart{}
	}
	r.send(eventJSON{Type: "response.output_item.added", Item: &added})
	if i.Content != nil {
		r.send(eventJSON{Type: "response.content_part.added", Part: i.Content[0]})
	}
}

// end ends the last item, if there is one.
func (r *response) end(status string) {
	n := len(r.Output) - 1
	if n < 0 {
		return
	}
	i := r.Output[n]
	i.Status = status
	text := string(i.written)
	if i.Content != nil {
		part := i.Content[0]
		part.Text = text
		r.send(eventJSON{Type: "response.output_text.done", Text: &text, Logprobs: part.Logprobs})
		r.send(eventJSON{Type: "response.content_part.done", Part: part})
	} else {
		i.Arguments = &text
		r.send(eventJSON{Type: "response.function_call_arguments.done", Name: i.Name, Arguments: &text})
	}
	r.send(eventJSON{Type: "response.output_item.done", Item: i})
}

// add adds what a choice says, or what of it is new.
func (r *response) add(j *job, c *choice) {
	if r.ID == "" {
		r.ID, r.Created = "resp_"+j.visit.id, j.visit.start.Unix()
		r.Model = j.server.nameOf(j.adapter)
		r.send(eventJSON{Type: "response.created", Response: r})
		r.send(eventJSON{Type: "response.in_progress", Response: r})
	}
	text, logprobs := characters(string(c.text)), j.chatLogprobs(c.entries).Content
	if (text != "" || c.finish != "" && len(c.calls) == 0) && len(r.Output) == 0 {
		r.begin(&item{ID: "msg_" + j.visit.id, Type: "message", Role: chat.Assistant,
			Content: []*textPart{{Type: "output_text", Annotations: []string{}, Logprobs: []chatEntry{}}}})
	}
	if text != "" {
		i := r.Output[0]
		i.written = append(i.written, text...)
		i.Content[0].Logprobs = append(i.Content[0].Logprobs, logprobs...)
		r.send(eventJSON{Type: "response.output_text.delta", Delta: &text, Logprobs: logprobs})
	}
	for _, p := range c.calls {
		if p.ID != "" {
			r.begin(&item{ID: "fc_" + p.ID, Type: "function_call", CallID: p.ID, Name: p.Name,
				Arguments: new("")})
		}
		if delta := string(p.Arguments); delta != "" {
			i := r.Output[len(r.Output)-1]
			i.written = append(i.written, delta...)
			r.send(eventJSON{Type: "response.function_call_arguments.delta", Delta: &delta})
		}
	}
	switch c.finish {
	case "":
	case "length":
		r.Status, r.Incomplete = "incomplete", &incomplete{"max_output_tokens"}
		r.end("incomplete")
	default:
		r.Status = "completed"
		r.end("completed")
	}
}

// close says what was used, and ends a stream.
func (r *response) close(used *usage) {
	r.Usage = &responseUsage{Input: used.Prompt, InputDetails: used.Details, Output: used.Completion,
		Total: used.Prompt + used.Completion}
	r.send(eventJSON{Type: "response." + r.Status, Response: r})
}

// fail ends a stream with an error.
func (r *response) fail(e *errorJSON) {
	r.Output = nil
	r.send(eventJSON{Type: "error", Code: e.Code, Message: e.Message, Param: e.Param})
}
