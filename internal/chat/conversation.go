package chat

// Conversations as a whole: a template in Jinja makes one text of all messages, which is encoded with
// its special tokens, as Hugging Face's libraries do. One of text/template makes a piece of each.

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"picogpt/decode"
	"picogpt/internal/chat/internal/jinja"
	"picogpt/internal/strictjson"
	"picogpt/tokenizer"
)

// A Message is what one has said.
type Message struct {
	Role, Text string
	Name       string // whose it is; "" for none
}

// An Ask says what becomes of messages.
type Ask struct {
	Answer   bool       // an answer begins (add_generation_prompt)
	Continue bool       // the last message goes on (continue_final_message)
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

// A Known template is one that has a name.
type Known struct {
	Name, Source string
	Stop         []string // texts that end an answer
}

// Named are the templates that need no file. plain is for models that only continue texts.
var Named = []Known{
	{"plain", `{% for m in messages %}{{ {'user': 'User: ', 'assistant': 'Assistant: '}[m.role] }}` +
		`{{ m.content|trim }}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}`,
		[]string{"\nUser:", "\nAssistant:"}},
	{"alpaca", `{% for m in messages %}{% if m.role == 'user' %}{{ '### Instruction:\n' }}` +
		`{% elif m.role == 'assistant' %}{{ '### Response:\n' }}{% endif %}` +
		`{{ m.content|trim + '\n\n' }}{% endfor %}` +
		`{% if add_generation_prompt %}{{ '### Response:\n' }}{% endif %}`,
		[]string{"\n### Instruction:", "\n### Response:"}},
	{"vicuna", `{% for m in messages %}{% if m.role == 'user' %}{{ 'USER: ' + m.content|trim + ' ' }}` +
		`{% elif m.role == 'assistant' %}{{ 'ASSISTANT: ' + m.content|trim + eos_token }}` +
		`{% else %}{{ m.content|trim + '\n\n' }}{% endif %}{% endfor %}` +
		`{% if add_generation_prompt %}ASSISTANT:{% endif %}`, []string{"USER:"}},
	{"chatml", `{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + ` +
		`'<|im_end|>\n' }}{% endfor %}` +
		`{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`,
		[]string{"<|im_end|>"}},
	{"dialogpt", DialoGPT, nil},
}

// Whole reports whether the template is one in Jinja.
func (c *Template) Whole() bool { return c.whole != nil }

// inJinja reports whether a source is Jinja: it has statements or reads messages, and not the line.
func inJinja(source string) bool {
	if !strings.Contains(source, "messages") && !strings.Contains(source, "{%") {
		return false
	}
	_, err := jinja.Parse(source)
	return err == nil || !strings.Contains(source, ".Text")
}

// newWhole parses a template in Jinja.
func newWhole(source string, t *tokenizer.Tokenizer) (*Template, error) {
	parsed, err := jinja.Parse(source)
	if err != nil {
		return nil, err
	}
	return &Template{Source: source, whole: parsed, tokenizer: t}, nil
}

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
		list[i] = d
	}
	variables := jinja.NewDict()
	for _, name := range []string{"bos_token", "eos_token"} {
		variables.Set(name, "")
	}
	for name, text := range c.Tokens {
		variables.Set(name, text)
	}
	variables.Set("messages", list).Set("tools", nil).Set("documents", nil).
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

// read sets the ids of a line. A template in Jinja makes them anew of the whole conversation, of
// which the turn keeps what is new. Where they are too many, the oldest messages are left out.
func (c *Chat) read(t *Turn) (err error) {
	n := len(c.Turns)
	if !c.Template.Whole() {
		if n == 0 && c.System != "" {
			t.PromptIDs, err = c.Template.Encode(Line{Text: c.System, Role: System})
		}
		ids, failed := c.Template.Encode(Line{
			Text: t.Text, Turn: n, Ended: n > 0 && c.Turns[n-1].FinishReason == decode.FinishEndOfText,
		})
		t.PromptIDs = append(append([]int{}, t.PromptIDs...), ids...)
		if err = errors.Join(err, failed); err == nil && n == 0 {
			t.PromptIDs = c.Tokenizer.WithStart(t.PromptIDs)
		}
		return err
	}
	var messages []Message
	if c.System != "" {
		messages = append(messages, Message{Role: System, Text: c.System})
	}
	first := len(messages)
	for i := range c.Turns {
		if old := &c.Turns[i]; len(old.IDs) > 0 {
			messages = append(messages, Message{Role: User, Text: old.Text},
				Message{Role: Assistant, Text: c.Text(old)})
		}
	}
	messages = append(messages, Message{Role: User, Text: t.Text})
	if c.Clock.IsZero() {
		c.Clock = time.Now().Truncate(time.Second)
	}
	positions := c.Session.Model().Config().Positions
	for {
		whole, err := c.Template.Conversation(messages, Ask{Answer: true, Now: c.Clock})
		if err != nil {
			return err
		}
		if len(whole) <= positions-min(LongestAnswer, positions/4) || first+1 == len(messages) {
			held := c.IDs()
			kept := 0
			for kept < min(len(held), len(whole)) && held[kept] == whole[kept] {
				kept++
			}
			t.Cut, t.PromptIDs = len(held)-kept, append([]int{}, whole[kept:]...)
			return nil
		}
		messages = append(messages[:first:first], messages[first+2:]...)
	}
}
