package main

// The flags of the form of a text, and what they mean for a model.

import (
	"fmt"
	"slices"

	"picogpt/cmd/gpt/internal/form"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/model"
	"picogpt/tokenizer"
)

// formFlags adds the flags of a form.
func formFlags(f *cli.Flags, c *form.Form) {
	f.Group("A form for the text:")
	f.Add(&c.Choice, "--choice STRING",
		"the new text is this string, or one of several; the flag may be repeated")
	f.Add(&c.Choices, "--choices A,B,C", `the new text is one of these strings; \, is a comma in one`)
	f.Add(&c.Regex, "--regex RE",
		`the new text matches this regular expression from beginning to end: RE2's syntax, and Python's
		lookaheads, {,n}, \uXXXX and \Z; \d, \w and \b know ASCII only`)
	f.Add(&c.JSONSchema, "--json-schema FILE",
		`the new text is JSON that this JSON Schema accepts; FILE, or the schema itself: {} is any
		JSON; - is stdin`)
	f.Add(&c.JSONOpen, "--json-open",
		`objects may have other properties than those that the schema names; else they have none, unless
		it has additionalProperties or its like`)
	f.Add(&c.JSONClosed, "--json-closed", "what is done without --json-open")
	f.Add(&c.JSONStrict, "--json-strict",
		`refuse a schema of which something restricts nothing, such as a format that is not known; else
		that is told`)
	f.Add(&c.JSONSpace, "--json-space HOW",
		`white space in the JSON: one (after each colon and comma, or none; the default), none, or a
		number: up to so many spaces, tabs and newlines wherever JSON allows them`)
	f.Add(&c.Grammar, "--grammar FILE",
		`the new text is what rule root of this grammar describes (GBNF, as llama.cpp reads it); - is
		stdin`)
}

// openForm makes o constrain the text. t is the tokenizer, if one is open.
func (a *app) openForm(
	f *form.Form, m *model.Model, t *tokenizer.Tokenizer, o *decode.Options,
) (err error) {
	if f.Asked() == "" {
		return nil
	}
	if t == nil {
		if t, err = a.openTokenizer(); err != nil {
			return fmt.Errorf("%s: %w", f.Asked(), err)
		}
	}
	ends := o.EndOfText
	if ends == nil {
		ends = m.Config().EndTokens()
	}
	v, err := constrain.VocabularyOf(t, ends)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Asked(), err)
	}
	c, err := f.Compile(v, a.optionFile, a.rules)
	if err != nil {
		return err
	}
	for _, note := range c.Notes() { // each once: a conversation makes the form again for each line
		if !slices.Contains(a.formNotes, note) {
			a.formNotes = append(a.formNotes, note)
			a.Notef("%s: %s", f.Asked(), note)
		}
	}
	text, err := c.Start()
	if err != nil {
		return fault.Usage{Err: err}
	}
	o.Constraint = text
	return nil
}
