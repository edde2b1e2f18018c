// Package chattemplate makes the ids that a model is given for a line of a conversation, by a
// template in the syntax of Go's text/template.
package chattemplate

import (
	"errors"
	"strings"
	"text/template"

	"picogpt/tokenizer"
)

// A Turn is what a template knows of a line.
type Turn struct {
	Text  string
	Turn  int  // its number, from 0
	Ended bool // the answer before it ended with the end of text, which the model has then read
}

// The templates that need no file.
const (
	Plain    = `{{if and .Turn (not .Ended)}}{{"\n"}}{{end}}{{.Text}}`
	DialoGPT = `{{if and .Turn (not .Ended)}}<|endoftext|>{{end}}{{.Text}}<|endoftext|>`
)

// Longest is how many bytes a template has at most.
const Longest = 64 << 10

// A Template makes ids of lines. It is safe for concurrent use.
type Template struct {
	Source string

	template  *template.Template
	tokenizer *tokenizer.Tokenizer
	special   []string // texts of special tokens
}

// New reads a template, and tries it. Its errors are an *Error, or that the line is not in it.
func New(source string, t *tokenizer.Tokenizer) (*Template, error) {
	parsed, err := template.New("line").Parse(source)
	if err != nil {
		return nil, explain(err)
	}
	made := &Template{Source: source, template: parsed, tokenizer: t}
	for _, id := range t.Special() {
		if text, err := t.Text(id); err == nil && text != "" {
			made.special = append(made.special, text)
		}
	}
	const probe = "a line that nobody writes"
	text, err := made.execute(Turn{Text: probe})
	if err == nil && !strings.Contains(text, probe) {
		err = errors.New("want {{.Text}} in it, which is the line")
	}
	return made, err
}

// An Error is a mistake in a template. It begins with the place, line 1:2, and names no type of
// Go's for what a template is given.
type Error struct{ message string }

func (e *Error) Error() string { return e.message }

func explain(err error) error {
	plain := strings.NewReplacer("template: line:", "line ", " in type chattemplate.Turn", "",
		"chattemplate.Turn", "a line")
	return &Error{plain.Replace(err.Error())}
}

func (c *Template) execute(t Turn) (string, error) {
	var b strings.Builder
	if err := c.template.Execute(&b, t); err != nil {
		return "", explain(err)
	}
	return b.String(), nil
}

// Encode returns the ids of a line. Special tokens of the template are single ids; those in the
// line are ordinary text: marks tear them apart until the others are found.
func (c *Template) Encode(t Turn) ([]int, error) {
	marks := 0
	for run := range strings.FieldsFuncSeq(t.Text, func(r rune) bool { return r != 0 }) {
		marks = max(marks, len(run))
	}
	mark, torn := strings.Repeat("\x00", marks+1), false
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
	for text != "" {
		at, name := c.nextSpecial(text)
		part, err := c.tokenizer.Encode(strings.ReplaceAll(text[:at], mark, ""))
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
		text = text[at+len(name):]
	}
	return ids, nil
}

// nextSpecial finds the first special token of a text, the longest of several there.
func (c *Template) nextSpecial(text string) (at int, name string) {
	at = len(text)
	for _, s := range c.special {
		i := strings.Index(text, s)
		if i >= 0 && (i < at || i == at && len(s) > len(name)) {
			at, name = i, s
		}
	}
	return at, name
}
