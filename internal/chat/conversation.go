package chat

// Messages: a template in Jinja makes one text of them all, which is encoded with its special
// tokens, as Hugging Face's libraries do. One of text/template makes a piece of each.

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"picogpt/internal/chat/internal/jinja"
	"picogpt/internal/strictjson"
)

// A Message is what one has said.
type Message struct {
	Role, Text string
	Name       string // whose it is; "" for none
	Calls      []Call // of tools, for a template in Jinja
	CallID     string // which call a message of a tool answers
}

// A Call is one of a tool.
type Call struct{ ID, Name, Arguments string }

// dict returns a call as templates know it: with the arguments as a value, unless they are no JSON.
func (c *Call) dict() *jinja.Dict {
	r := strictjson.NewReader(cmp.Or(c.Arguments, "{}"))
	arguments, err := jinja.ReadJSON(r)
	if err != nil || r.End() != nil {
		arguments = c.Arguments
	}
	return jinja.NewDict().Set("id", c.ID).Set("type", "function").Set("function",
		jinja.NewDict().Set("name", c.Name).Set("arguments", arguments))
}

// ReadTool reads a tool as templates know it: an object with its type and its function; or where flat
// is set the function alone, which may have the type in it.
func ReadTool(r *strictjson.Reader, flat bool) (any, error) {
	v, err := jinja.ReadJSON(r)
	if d, ok := v.(*jinja.Dict); ok && flat {
		v = jinja.NewDict().Set("type", "function").Set("function", d.Without("type"))
	}
	return v, err
}

// An Ask says what becomes of messages.
type Ask struct {
	Answer   bool       // an answer begins (add_generation_prompt)
	Continue bool       // the last message goes on (continue_final_message)
	Tools    []any      // that ReadTool gave; nil for none
	More     *Variables // of a template in Jinja; nil for none
	Now      time.Time  // that it tells
}

// Variables are those that a request adds to a template's.
type Variables = jinja.Dict

// ReadVariables reads an object of variables, which has none that the messages decide.
func ReadVariables(r *strictjson.Reader) (*Variables, error) {
	if r.Kind() != '{' {
		return nil, r.Object(nil)
	}
	v, err := jinja.ReadJSON(r)
	if err != nil {
		return nil, err
	}
	more := v.(*Variables)
	for _, name := range []string{"messages", "add_generation_prompt", "continue_final_message",
		"chat_template", "tokenize", "tools", "documents"} {
		if _, has := more.Get(name); has {
			return nil, r.Errorf("want no %s among them", name)
		}
	}
	return more, nil
}

// Assistant is the role of the model.
const Assistant = "assistant"

// tag stands where a message is to go on.
const tag = "CONTINUE_FINAL_MESSAGE_TAG "

// render returns the text that a template in Jinja makes of messages. A message that goes on ends
// where the text does, as transformers finds its end.
func (c *Template) render(messages []Message, a Ask) (string, error) {
	list := make([]any, len(messages))
	for i, m := range messages {
		text := m.Text
		if a.Continue && i == len(messages)-1 {
			text += tag
		}
		d := jinja.NewDict().Set("role", m.Role).Set("content", text)
		if m.Name != "" {
			d.Set("name", m.Name)
		}
		if m.CallID != "" {
			d.Set("tool_call_id", m.CallID)
		}
		if m.Calls != nil {
			calls := make([]any, len(m.Calls))
			for i := range calls {
				calls[i] = m.Calls[i].dict()
			}
			d.Set("tool_calls", calls)
		}
		list[i] = d
	}
	var tools any
	if a.Tools != nil {
		tools = a.Tools
	}
	variables := jinja.NewDict().Set("bos_token", "").Set("eos_token", "")
	for name, text := range c.Tokens {
		variables.Set(name, text)
	}
	variables.Set("messages", list).Set("tools", tools).Set("documents", nil).
		Set("add_generation_prompt", a.Answer)
	text, err := c.whole.Render(variables.With(a.More), a.Now)
	if err != nil {
		return "", fmt.Errorf("template: %w", err)
	}
	if !a.Continue {
		return text, nil
	}
	end := strings.LastIndex(text, strings.TrimSpace(tag))
	if last := messages[len(messages)-1].Text; end < 0 ||
		!strings.Contains(text, strings.TrimSpace(last)) {
		return "", errors.New("the template does not end with the last message, which cannot go on")
	}
	if strings.HasPrefix(text[end:], tag) {
		return text[:end], nil
	}
	return strings.TrimRightFunc(text[:end], unicode.IsSpace), nil
}

// Hears reports whether what a role says after an answer reaches the model.
func (c *Template) Hears(role string) bool {
	const probe = "what nobody says"
	text, err := c.render([]Message{{Role: User, Text: "a"}, {Role: Assistant, Text: "b"},
		{Role: role, Text: probe}}, Ask{})
	return err == nil && strings.Contains(text, probe)
}

// Conversation returns the ids of messages. The caller puts the token before them that a text begins
// with where the template is not Whole.
func (c *Template) Conversation(messages []Message, a Ask) (ids []int, err error) {
	if c.Whole() {
		text, err := c.render(messages, a)
		if err != nil {
			return nil, err
		}
		return c.tokenizer.WithSpecial().Encode(text)
	}
	turn := 0
	for _, m := range messages {
		var part []int
		if m.Role == Assistant {
			part, err = c.tokenizer.Encode(m.Text)
		} else {
			part, err = c.Encode(Line{Text: m.Text, Turn: turn, Role: m.Role})
		}
		if err != nil {
			return nil, err
		}
		if ids = append(ids, part...); m.Role == User {
			turn++
		}
	}
	return ids, nil
}
