package main

// The forms that a new text can be made to fit: choices, a regex, a JSON Schema, a grammar.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/cli"

	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/resume"
	"picogpt/model"
	"picogpt/tokenizer"
)

type constraintFlags struct {
	Choice     []string
	Choices    []string
	Regex      *string
	JSONSchema *string
	JSONClosed bool
	JSONSpace  *string
	Grammar    *string
}

func (c *constraintFlags) flags(f *cli.Flags) {
	f.Group("A form for the text:")
	f.Add(&c.Choice, "--choice STRING",
		"the new text is this string, or one of several; the flag may be repeated")
	f.Add(&c.Choices, "--choices A,B,C", `the new text is one of these strings; \, is a comma in one`)
	f.Add(&c.Regex, "--regex RE",
		"the new text matches this regular expression from beginning to end (RE2 syntax)")
	f.Add(&c.JSONSchema, "--json-schema FILE",
		`the new text is JSON that this JSON Schema accepts; FILE, or the schema itself: {} is any
		JSON; - is stdin`)
	f.Add(&c.JSONClosed, "--json-closed",
		"objects with properties have no others, unless the schema has additionalProperties")
	f.Add(&c.JSONSpace, "--json-space HOW",
		`white space in the JSON: one (after each colon and comma, or none; the default), none, or a
		number: up to so many spaces, tabs and newlines wherever JSON allows them`)
	f.Add(&c.Grammar, "--grammar FILE",
		`the new text is what rule root of this grammar describes (GBNF, as llama.cpp reads it); - is
		stdin`)
}

// asked is the flag that constrains, "" without one.
func (f *constraintFlags) asked() string {
	for _, flag := range f.given() {
		return flag
	}
	return ""
}

// given are the flags that constrain. --choice and --choices go together, and are one of them.
func (f *constraintFlags) given() (flags []string) {
	for _, flag := range []struct {
		name string
		on   bool
	}{
		{"--choice", f.Choice != nil}, {"--choices", f.Choice == nil && f.Choices != nil},
		{"--regex", f.Regex != nil},
		{"--json-schema", f.JSONSchema != nil}, {"--grammar", f.Grammar != nil},
	} {
		if flag.on {
			flags = append(flags, flag.name)
		}
	}
	return flags
}

// check refuses flags that do not go together.
func (f *constraintFlags) check() error {
	if given := f.given(); len(given) > 1 {
		return usagef("%s and %s: want one of them", given[0], given[1])
	}
	if f.JSONSchema != nil && strings.TrimSpace(*f.JSONSchema) == "" {
		return fault.Hint(usagef("--json-schema: want a schema or the name of its file, found nothing"),
			"--json-schema '{}' is any JSON")

	}
	if f.Grammar != nil && *f.Grammar == "" {
		return usagef("--grammar: want the name of a file, found nothing")
	}
	if _, err := f.choices(); err != nil {
		return err
	}
	_, err := f.space()
	return err
}

// ofStdin is the flag whose file is stdin, "" without one.
func (f *constraintFlags) ofStdin() string {
	switch {
	case f.JSONSchema != nil && *f.JSONSchema == "-":
		return "--json-schema"
	case f.Grammar != nil && *f.Grammar == "-":
		return "--grammar"
	}
	return ""
}

// declare remembers the file that a flag names.
func (f *constraintFlags) declare(a *app) {
	if f.Grammar != nil {
		a.files.WillRead(*f.Grammar, "--grammar")
	}
	if f.JSONSchema != nil && !f.schemaItself() {
		a.files.WillRead(*f.JSONSchema, "--json-schema")
	}
}

// choices are the strings of --choice and --choices.
func (f *constraintFlags) choices() ([]string, error) {
	all := slices.Clone(f.Choice)
	for _, list := range f.Choices {
		items := cli.SplitCommas(list + ",") // which leaves an empty last one out
		if slices.Contains(items, "") {
			return nil, fault.Hint(usagef("--choices %s: want a string before and after each comma, "+
				"found none", quoteShort(list)), "--choice '' allows an empty text")

		}
		all = append(all, items...)
	}
	return all, nil
}

// space reads --json-space.
func (f *constraintFlags) space() (int, error) {
	if f.JSONSpace == nil || *f.JSONSpace == "one" {
		return 0, nil
	}
	if *f.JSONSpace == "none" {
		return constrain.NoSpace, nil
	}
	n, err := strconv.Atoi(*f.JSONSpace)
	if err != nil || n < 0 || n > 64 {
		return 0, usagef("--json-space %s: want one, none or a number from 0 to 64", *f.JSONSpace)
	}
	if n == 0 {
		return constrain.NoSpace, nil
	}
	return n, nil
}

// open makes o constrain the text. t is the tokenizer, if one is open.
func (f *constraintFlags) open(
	a *app, m *model.Model, t *tokenizer.Tokenizer, o *decode.Options,
) (err error) {
	if f.asked() == "" {
		return nil
	}
	if t == nil {
		if t, err = a.openTokenizer(); err != nil {
			return fmt.Errorf("%s: %w", f.asked(), err)
		}
	}
	ends := o.EndOfText
	if ends == nil {
		ends = m.Config().EndTokens()
	}
	v, err := constrain.VocabularyOf(t, ends)
	if err != nil {
		return fmt.Errorf("%s: %w", f.asked(), err)
	}
	c, err := f.compile(a, v)
	if err != nil {
		return err
	}
	text, err := c.Start()
	if err != nil {
		return fault.Usage{Err: err}
	}
	o.Constraint = text
	return nil
}

// compile makes the constraint. What is wrong with it is an error of usage.
func (f *constraintFlags) compile(a *app, v *constrain.Vocabulary) (
	c *constrain.Constraint, err error,
) {
	switch {
	case f.Regex != nil:
		c, err = constrain.Regex(v, *f.Regex)
	case f.JSONSchema != nil:
		o := constrain.SchemaOptions{Closed: f.JSONClosed}
		if o.Space, err = f.space(); err != nil {
			return nil, err
		}
		text, err := f.schema(a)
		if err != nil {
			return nil, err
		}
		if c, err = constrain.JSONSchema(v, []byte(text), o); err != nil {
			if f.schemaItself() {
				return nil, usagef("--json-schema: %w", err)
			}
			return nil, usagef("--json-schema %s: %w", *f.JSONSchema, err)
		}
		return c, nil
	case f.Grammar != nil:
		text, err := a.optionFile(*f.Grammar, "--grammar")
		if errors.Is(err, fs.ErrNotExist) && strings.Contains(*f.Grammar, "::=") {
			err = fault.Hint(err, "--grammar takes the name of a file, or - for stdin")
		}
		if err != nil {
			return nil, err
		}
		if c, err = constrain.Grammar(v, text); err != nil {
			return nil, usagef("--grammar %s: %w", *f.Grammar, err)
		}
		return c, nil
	default:
		var all []string
		if all, err = f.choices(); err == nil {
			c, err = constrain.Choice(v, all...)
		}
	}
	if err != nil {
		return nil, usagef("%s: %w", f.asked(), err)
	}
	return c, nil
}

// schema is the text of the schema: the flag's own if it is JSON, else a file's.
func (f *constraintFlags) schema(a *app) (string, error) {
	if f.schemaItself() {
		return strings.TrimSpace(*f.JSONSchema), nil
	}
	text, err := a.optionFile(*f.JSONSchema, "--json-schema")
	if errors.Is(err, fs.ErrNotExist) {
		err = fault.Hint(err, "--json-schema takes a file, or a schema itself, which begins with {")
	}
	return text, err
}

// schemaItself reports whether the flag is a schema, and no file's name.
func (f *constraintFlags) schemaItself() bool {
	text := strings.TrimSpace(*f.JSONSchema)
	return strings.HasPrefix(text, "{") || text == "true" || text == "false"
}

// counted counts the texts that end before they are of their form.
func counted(
	tokens iter.Seq2[decode.Token, error], incomplete *int,
) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		for t, err := range tokens {
			if t.Incomplete {
				*incomplete++
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// settings are the flags as a run that continues compares them. Files count by what is in them.
func (f *constraintFlags) settings(a *app) (list []resume.Setting, err error) {
	add := func(name, value string) { list = append(list, resume.Setting{Name: name, Value: value}) }
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:8])
	}
	var text string
	switch f.asked() {
	case "--choice", "--choices":
		all, _ := f.choices()        // which are checked
		text, _ := json.Marshal(all) // strings have a JSON
		add("--choice", string(text))
	case "--regex":
		add("--regex", *f.Regex)
	case "--grammar":
		text, err = a.optionFile(*f.Grammar, "--grammar")
		add("--grammar", digest(text))
	case "--json-schema":
		text, err = f.schema(a)
		add("--json-schema", digest(text))
		add("--json-closed", strconv.FormatBool(f.JSONClosed))
		space, _ := f.space()
		add("--json-space", strconv.Itoa(space))
	}
	return list, err
}
