package main

// Templates of chats: what the model is given for a line.

import (
	"errors"
	"os"
	"strings"
	"text/template"

	"picogpt/tokenizer"
)

// templateTurn is what a template knows of a line.
type templateTurn struct {
	Text  string
	Turn  int
	Ended bool
}

// The templates that need no file. Without --template it is plain.
const (
	plainTemplate    = `{{if and .Turn (not .Ended)}}{{"\n"}}{{end}}{{.Text}}`
	dialogptTemplate = `{{if and .Turn (not .Ended)}}<|endoftext|>{{end}}{{.Text}}<|endoftext|>`
)

// A chatTemplate makes ids of lines.
type chatTemplate struct {
	source    string
	template  *template.Template
	tokenizer *tokenizer.Tokenizer
	special   []string // texts of special tokens
}

// readChatTemplate returns the template that --template names.
func readChatTemplate(name *string, t *tokenizer.Tokenizer) (*chatTemplate, error) {
	source := plainTemplate
	switch {
	case name == nil:
	case *name == "":
		return nil, usagef("--template: want dialogpt or a file, found nothing")
	case *name == "dialogpt":
		source = dialogptTemplate
	default:
		b, err := os.ReadFile(*name)
		if err != nil {
			return nil, hinted{fileError(*name, err), "--template takes dialogpt or a file"}
		}
		source = withoutMark(strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"))
	}
	made, err := newChatTemplate(source, t)
	if err != nil {
		return nil, usagef("--template %s: %w", *name, err)
	}
	return made, nil
}

// newChatTemplate reads a template, and tries it.
func newChatTemplate(source string, t *tokenizer.Tokenizer) (*chatTemplate, error) {
	parsed, err := template.New("line").Parse(source)
	if err != nil {
		return nil, templateError(err)
	}
	made := &chatTemplate{source: source, template: parsed, tokenizer: t}
	for _, id := range t.Special() {
		if text, err := t.Text(id); err == nil && text != "" {
			made.special = append(made.special, text)
		}
	}
	const probe = "a line that nobody writes"
	text, err := made.execute(templateTurn{Text: probe})
	if err == nil && !strings.Contains(text, probe) {
		err = errors.New("want {{.Text}} in it, which is the line")
	}
	return made, err
}

// templateError is an error of text/template that begins with the place: line 1:2. It names no type
// of Go's for what a template is given.
func templateError(err error) error {
	own := strings.NewReplacer("template: line:", "line ", " in type main.templateTurn", "",
		"main.templateTurn", "a line")
	return hinted{errors.New(own.Replace(err.Error())),
		"the fields are .Text, .Turn and .Ended; the syntax is that of Go's text/template"}
}

func (c *chatTemplate) execute(t templateTurn) (string, error) {
	var b strings.Builder
	if err := c.template.Execute(&b, t); err != nil {
		return "", templateError(err)
	}
	return b.String(), nil
}

// encode returns the ids of a line. Special tokens of the template are single ids; those in the
// line are ordinary text: marks tear them apart until the others are found.
func (c *chatTemplate) encode(t templateTurn) ([]int, error) {
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
	if err != nil || !torn {
		ids, failed := c.tokenizer.WithSpecial().Encode(text)
		return ids, joinErrors(err, failed)
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
func (c *chatTemplate) nextSpecial(text string) (at int, name string) {
	at = len(text)
	for _, s := range c.special {
		i := strings.Index(text, s)
		if i >= 0 && (i < at || i == at && len(s) > len(name)) {
			at, name = i, s
		}
	}
	return at, name
}
