package chat

// What stands around a line of a conversation: a template in the syntax of Go's text/template makes
// of it what the model is given, as ids. Those in Jinja are in conversation.go.

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/chat/internal/jinja"
	"picogpt/tokenizer"
)

const (
	// Longest is the most bytes of a template in text/template.
	Longest = 64 << 10
	// LongestInJinja is the most bytes of one in Jinja.
	LongestInJinja = jinja.Longest
)

// A Line is the data of a template: a line of a conversation.
type Line struct {
	Text  string
	Turn  int    // its number, from 0: of a line that is no user's, the number of those before it
	Ended bool   // the answer before it ended with the end of text, which the model has read
	Role  string // whose line it is: User, System or Developer; "" is User
}

// The roles of lines. What the assistant says stands in no template.
const (
	User      = "user"
	System    = "system"
	Developer = "developer"
)

// The templates that need no file.
const (
	Plain    = `{{if and .Turn (not .Ended)}}{{"\n"}}{{end}}{{.Text}}`
	DialoGPT = `{{if and .Turn (not .Ended)}}<|endoftext|>{{end}}{{.Text}}<|endoftext|>`
)

// A Known template is one that has a name.
type Known struct {
	Name, Source string
	Stop         []string // texts that end an answer
}

// Untrained is told of a model without a template, which answers as plain.
const Untrained = "this model has no chat template and was not trained for conversations: " +
	"it continues a text of lines that say who speaks"

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

// A Template turns lines into ids. It is safe for concurrent use.
type Template struct {
	Source string
	Tokens map[string]string // bos_token, eos_token and others, for one in Jinja
	Stop   []string          // texts that end an answer, beside those that are asked for

	template  *lineTemplate
	whole     *jinja.Template // in its place, for one in Jinja
	tokenizer *tokenizer.Tokenizer
	special   []string // texts of special tokens
}

// New parses a template, and tries one of text/template. An error is an *Error, or a *jinja.Error,
// or says that the line is not in it. It is Jinja if that is known, or if it has statements or reads
// messages, unless it has the line of text/template and is no Jinja.
func New(source string, inJinja bool, t *tokenizer.Tokenizer) (*Template, error) {
	if inJinja || strings.Contains(source, "messages") || strings.Contains(source, "{%") {
		parsed, err := jinja.Parse(source)
		if err == nil {
			made := &Template{Source: source, whole: parsed, tokenizer: t}
			for _, known := range Named {
				if known.Source == source {
					made.Stop = known.Stop
				}
			}
			return made, nil
		} else if inJinja || !strings.Contains(source, ".Text") {
			return nil, err
		}
	}
	parsed, err := parseBounded(source)
	if err != nil {
		return nil, err
	}
	made := &Template{Source: source, template: parsed, tokenizer: t}
	for _, id := range t.Special() {
		if text, err := t.Text(id); err == nil && text != "" {
			made.special = append(made.special, text)
		}
	}
	const probe = "a line that nobody writes"
	text, err := made.execute(Line{Text: probe})
	if err == nil && !strings.Contains(text, probe) {
		err = errors.New("want {{.Text}} in it, which is the line")
	}
	return made, err
}

// Know gives the template the texts of the tokenizer's tokens: bos_token, eos_token and others. In
// Jinja, that of eos_token ends an answer too, if it is a special token: fine-tunes end their turns
// with it whose config names another. ends are the ids that end the model's texts anyway.
func (c *Template) Know(tokens map[string]string, ends []int) {
	c.Tokens = tokens
	for _, id := range c.tokenizer.Special() {
		text, err := c.tokenizer.Text(id)
		if c.whole != nil && err == nil && text != "" && text == tokens["eos_token"] &&
			!slices.Contains(ends, id) && !slices.Contains(c.Stop, text) {
			c.Stop = slices.Concat(c.Stop, []string{text})
		}
	}
}

// Whole reports whether the template is one in Jinja.
func (c *Template) Whole() bool { return c.whole != nil }

// Reads reports whether the template is in Jinja and has a name in it.
func (c *Template) Reads(name string) bool { return c.whole != nil && strings.Contains(c.Source, name) }

// An Error is a mistake in a template. It begins with its position, line 1:2, and names no Go
// types.
type Error struct{ message string }

func (e *Error) Error() string { return e.message }

// Encode returns the ids of a line. Special tokens of the template are single ids; those in the
// line are ordinary text: marks split them until the template's are found. A template without .Role
// is for the lines of users: others stand as lines of their own.
func (c *Template) Encode(t Line) ([]int, error) {
	if t.Role = cmp.Or(t.Role, User); t.Role != User && !strings.Contains(c.Source, ".Role") {
		if t.Text += "\n"; t.Turn > 0 {
			t.Text = "\n" + t.Text
		}
		return c.tokenizer.Encode(t.Text)
	}
	mark, torn := unusedMark(t.Text), false
	for _, name := range c.special {
		if strings.Contains(t.Text, name) {
			t.Text, torn = strings.ReplaceAll(t.Text, name, name[:1]+mark+name[1:]), true
		}
	}
	text, err := c.execute(t)
	if err != nil {
		return nil, err
	}
	if !torn {
		return c.tokenizer.WithSpecial().Encode(text)
	}
	var ids []int
	rest := specials{text: text, names: c.special, next: make([]int, len(c.special))}
	for rest.at < len(text) {
		before, name := rest.cut()
		part, err := c.tokenizer.Encode(strings.ReplaceAll(before, mark, ""))
		if err != nil {
			return nil, err
		}
		if ids = append(ids, part...); name != "" {
			id, err := c.tokenizer.WithSpecial().Encode(name)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id...)
		}
	}
	return ids, nil
}

// unusedMark returns a short text that does not occur in a line: a number between zero bytes.
func unusedMark(line string) string {
	used := map[string]bool{}
	for part := range strings.SplitSeq(line, "\x00") {
		if len(part) < 20 {
			used[part] = true
		}
	}
	for n := 0; ; n++ {
		if text := strconv.Itoa(n); !used[text] {
			return "\x00" + text + "\x00"
		}
	}
}

// specials is a text that is cut at its special tokens. It searches for each once from a position
// on.
type specials struct {
	text  string
	names []string
	at    int   // the text before it is cut off
	next  []int // the position of each name at or after at; less if it is not known
}

// cut cuts off the text before the first special token, and that token: the longest if several
// begin there.
func (s *specials) cut() (before, name string) {
	from, first := s.at, len(s.text)
	for i, n := range s.names {
		if s.next[i] <= from {
			if s.next[i] = len(s.text); from < len(s.text) {
				if at := strings.Index(s.text[from:], n); at >= 0 {
					s.next[i] = from + at
				}
			}
		}
		if at := s.next[i]; at < first || at == first && at < len(s.text) && len(n) > len(name) {
			first, name = at, n
		}
	}
	s.at = first + len(name)
	return s.text[from:first], name
}
