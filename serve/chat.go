package serve

// /v1/chat/completions: conversations, which a template turns into a prompt.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"picogpt/internal/chat"
	"picogpt/internal/strictjson"
	"picogpt/serve/internal/openapi"
)

// roles are those of messages.
var roles = []string{chat.Assistant, chat.User, chat.System, chat.Developer, "tool", "function"}

// longestAnswer is the default of max_tokens in a conversation, as in gpt chat.
const longestAnswer = 256

// mostMessages bounds the messages of a conversation, and the parts of all its messages.
const mostMessages = 10000

func (s *Server) chat(v *visit) error {
	if err := s.mayConverse(v); err != nil {
		return err
	}
	return s.generate(v, s.parseChat)
}

// mayConverse refuses conversations where there is no template.
func (s *Server) mayConverse(v *visit) error {
	if s.template == nil {
		return errorf(404, "no_chat_template",
			"this model continues texts and knows no conversations: ask /v1/completions, or start "+
				"the server with a chat template (gpt serve --template)")
	}
	if note := s.options.TemplateNote; note != "" {
		v.Header().Set("Warning", `299 gpt "`+note+`"`)
	}
	return nil
}

// A conversation is the messages of a request, and what becomes of them.
type conversation struct {
	messages []chat.Message
	field    string // that has them; "" is messages
	tools    tools
	listed   bool // logprobs
	top      int  // top_logprobs

	answers, continues *bool // add_generation_prompt, continue_final_message; nil: as the messages say
	more               *chat.Variables
}

// name returns the field that has the messages.
func (c *conversation) name() string { return cmp.Or(c.field, "messages") }

// addFields adds the fields of a conversation to a table.
func (c *conversation) addFields(s *Server, table map[string]field, ignored *[]string) {
	table["messages"] = readMessages(&c.messages, ignored)
	c.tools.addFields(table, ignored)
	table["add_generation_prompt"] = optional(&c.answers, yes)
	table["continue_final_message"] = optional(&c.continues, yes)
	if s.template.Whole() {
		table["chat_template_kwargs"] = templateVariables(&c.more)
	}
}

// parseChat reads the body of a request.
func (s *Server) parseChat(body string) (*completion, error) {
	q := s.newCompletion(longestAnswer)
	q.chat = true
	if err := q.parse(s, body, q.chatFields(s), "messages"); err != nil {
		return nil, err
	}
	if q.talk.listed {
		q.logprobs = &q.talk.top
	} else if q.talk.top > 0 {
		return nil, fieldf("top_logprobs", "want logprobs true with it")
	}
	return q, q.converse(s)
}

// chatFields returns the table of /v1/chat/completions.
func (q *completion) chatFields(s *Server) map[string]field {
	table := q.fields(s)
	for _, name := range []string{"prompt", "suffix", "echo", outputLimit} {
		delete(table, name)
	}
	q.talk.addFields(s, table, &q.ignored)
	table["messages"], table["logprobs"] = must(table["messages"]), yes(&q.talk.listed)
	table["top_logprobs"] = whole(0, mostTop)(&q.talk.top)
	return table
}

// converse makes the prompt of the conversation.
func (q *completion) converse(s *Server) error {
	ids, err := s.conversation(&q.talk, q.allowance())
	f := &q.form // which has its end itself
	if !q.ignoreEOS && f.schema == nil && (f.calls == nil || f.calls.free) {
		q.Stop = slices.Concat(q.Stop, s.template.Stop)
	}
	q.prompt, q.talk.messages = prompts{{asIDs: true, ids: ids}}, nil
	return err
}

// asks says what becomes of messages: one of the assistant at the end goes on, and else an answer
// begins, unless the request says otherwise.
func (c *conversation) asks() (a chat.Ask, err error) {
	last := ""
	if n := len(c.messages); n > 0 {
		last = c.messages[n-1].Role
	}
	a.Continue = last == chat.Assistant
	if c.continues != nil {
		a.Continue = *c.continues
	}
	a.Answer = !a.Continue
	if c.answers != nil {
		a.Answer = *c.answers
	}
	switch {
	case a.Continue && a.Answer:
		err = fieldf("continue_final_message", "want add_generation_prompt false with it")
	case last == chat.System || last == chat.Developer || last == "",
		a.Continue && last != chat.Assistant:
		err = fieldf(c.name(), "want a message of the user or of a tool at the end, or one of the "+
			"assistant that goes on")
	}
	if err == nil {
		if a.Tools, err = c.tools.known(); err != nil {
			err = fieldf(c.tools.field, "%v", err)
		}
	}
	a.More, a.Now = c.more, time.Now()
	return a, err
}

// templateVariables reads other variables of the template.
func templateVariables(to **chat.Variables) field {
	schema := func() openapi.Schema { return schemaOf(nil) }
	return as(schema, func(r *strictjson.Reader) (err error) {
		*to, err = chat.ReadVariables(r)
		return err
	})
}

// readMessages reads a conversation.
func readMessages(to *[]chat.Message, ignored *[]string) field {
	message := func(i int, m *chat.Message, parts *int) field {
		function := calledFunction("function_call", new(chat.Call), ignored)
		return object(fmt.Sprintf("messages[%d]", i), ignored, map[string]field{
			"role": must(among(text(&m.Role), roles...)), "content": content(&m.Text, parts, ignored),
			"name": text(&m.Name), "tool_call_id": text(&m.CallID),
			"tool_calls": readCalls(&m.Calls, parts, ignored),
			"function_call": as(function.schema, func(r *strictjson.Reader) error {
				m.Calls = make([]chat.Call, 1)
				return calledFunction("function_call", &m.Calls[0], ignored).read(r)
			}),
		})
	}
	one := func() field { return message(0, new(chat.Message), new(int)) }
	return as(listed(mostMessages, one), func(r *strictjson.Reader) error {
		parts := 0
		return r.Array(func(i int) error {
			if i == mostMessages {
				return r.Errorf("want at most %d messages, found more", mostMessages)
			}
			var m chat.Message
			err := message(i, &m, &parts).read(r)
			if err == nil && !slices.Contains(roles, m.Role) {
				return r.Errorf("message %d: want the role system, developer, user, assistant or tool, "+
					"found %s", i, cmp.Or(short(m.Role), "none"))
			}
			*to = append(*to, m)
			return err
		})
	})
}

// readCalls reads the calls of tools of a message.
func readCalls(to *[]chat.Call, parts *int, ignored *[]string) field {
	call := func(c *chat.Call) field {
		return object("tool_calls", ignored, map[string]field{"id": text(&c.ID),
			"type": word(new(string), []string{"function"}), "index": whole(0, mostMessages)(new(int)),
			"function": calledFunction("tool_calls.function", c, ignored)})
	}
	one := func() field { return call(new(chat.Call)) }
	return as(listed(mostMessages, one), func(r *strictjson.Reader) error {
		return r.Array(func(int) error {
			if *parts++; *parts > mostMessages {
				return r.Errorf("want at most %d parts, found more", mostMessages)
			}
			var c chat.Call
			err := call(&c).read(r)
			*to = append(*to, c)
			return err
		})
	})
}

func calledFunction(name string, to *chat.Call, ignored *[]string) field {
	inner := object(name, ignored, map[string]field{"name": must(text(&to.Name)),
		"arguments": text(&to.Arguments)})
	return as(inner.schema, func(r *strictjson.Reader) error {
		err := inner.read(r)
		if err == nil && to.Name == "" {
			return r.Errorf("want the name of a function, found none")
		}
		return err
	})
}

// textParts are the types of parts that are texts, with those of /v1/responses.
var textParts = []string{"text", "input_text", "output_text"}

// content reads the content of a message: a text, or a list of parts that are texts.
func content(to *string, parts *int, ignored *[]string) field {
	part := func(kind, said *string) field {
		return object("content", ignored, map[string]field{
			"type": must(among(text(kind), textParts...)),
			"text": text(said), "annotations": anyList, "logprobs": anyList})
	}
	schema := func() openapi.Schema {
		one := part(new(string), new(string)).schema()
		return openapi.Either(openapi.String(), openapi.AtMost(mostMessages, one))
	}
	return as(schema, func(r *strictjson.Reader) error {
		if r.Kind() != '[' {
			return text(to).read(r)
		}
		var all strings.Builder
		err := r.Array(func(i int) error {
			if *parts++; *parts > mostMessages {
				return r.Errorf("want at most %d parts, found more", mostMessages)
			}
			var kind, said string
			err := part(&kind, &said).read(r)
			if err == nil && !slices.Contains(textParts, kind) {
				return r.Errorf("part %d: want the type text, found %s", i,
					cmp.Or(short(kind), "none"))
			}
			all.WriteString(said)
			return err
		})
		*to = all.String()
		return err
	})
}

// conversation returns the ids of a conversation.
func (s *Server) conversation(c *conversation, wanted allowance) ([]int, error) {
	ask, err := c.asks()
	if err != nil {
		return nil, err
	}
	messages := c.messages
	bytes := 0
	for i := range messages {
		m := &messages[i]
		if len(m.Calls) > 0 && !s.template.Reads("tool_calls") {
			m.Text, m.Calls = m.Text+s.calls.Text(m.Calls), nil
		}
		if s.deaf && (m.Role == "tool" || m.Role == "function") {
			m.Role = chat.User
		}
		bytes += len(m.Text)
	}
	switch {
	case wanted != allowance{}:
		if err := s.mayFit(c.name(), bytes, wanted); err != nil {
			return nil, err
		}
	case bytes > mostText: // only its ids are wanted
		return nil, fieldf("messages", "want at most %d bytes, found %d", mostText, bytes)
	}
	ids, err := s.template.Conversation(messages, ask)
	if err != nil {
		return nil, fieldf(c.name(), "%v", err)
	}
	if !s.template.Whole() {
		ids = s.vocabulary.WithStart(ids)
	}
	return ids, nil
}

// A chatLogprobs is the JSON of the log-probabilities of a conversation's tokens.
type chatLogprobs struct {
	Content []chatEntry `json:"content"`
}

type chatEntry struct {
	chatToken
	Top []chatToken `json:"top_logprobs"`
}

type chatToken struct {
	Token   string  `json:"token"`
	LogProb logProb `json:"logprob"`
	Bytes   *[]int  `json:"bytes"`
}

func (j *job) chatLogprobs(entries []entry) *chatLogprobs {
	lists := &chatLogprobs{make([]chatEntry, len(entries))}
	for i, e := range entries {
		one := chatEntry{j.chatToken(e.id, e.logProb), make([]chatToken, len(e.top))}
		for k, a := range e.top {
			one.Top[k] = j.chatToken(a.ID, a.LogProb)
		}
		lists.Content[i] = one
	}
	return lists
}

func (j *job) chatToken(id int, x float64) chatToken {
	t := chatToken{Token: j.name(id), LogProb: logProb(x)}
	if !math.IsNaN(x) && j.server.vocabulary.has(id) {
		t.Bytes = new(j.server.vocabulary.bytes(id))
	}
	return t
}
