package main

// What flags say of the form of a text: choices, a regex, a JSON Schema, a grammar, a structural tag.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"picogpt/cmd/gpt/internal/records"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/tokenizer"
)

// A textForm is these flags. The zero value asks for no form.
type textForm struct {
	Choice     []string
	Choices    []string
	Regex      *string
	JSONSchema *string
	JSONOpen   bool
	JSONClosed bool // the default, as earlier versions had to be told
	JSONStrict bool
	JSONSpace  *string
	JSONAny    bool
	OpenAPI    bool
	Grammar    *string
	Structural *string
}

// A readFile returns the text of a file that a flag names.
type readFile func(name, flag string) (text string, err error)

// asked is the flag that constrains, "" without one.
func (f *textForm) asked() string {
	for _, flag := range f.given() {
		return flag
	}
	return ""
}

// given are the flags that constrain. --choice and --choices go together, and are one of them.
func (f *textForm) given() (flags []string) {
	for _, flag := range []struct {
		name string
		on   bool
	}{
		{"--choice", f.Choice != nil}, {"--choices", f.Choice == nil && f.Choices != nil},
		{"--regex", f.Regex != nil},
		{"--json-schema", f.JSONSchema != nil}, {"--grammar", f.Grammar != nil},
		{"--structural-tag", f.Structural != nil},
	} {
		if flag.on {
			flags = append(flags, flag.name)
		}
	}
	return flags
}

// check refuses flags that do not go together.
func (f *textForm) check() error {
	if given := f.given(); len(given) > 1 {
		return fault.Usagef("%s and %s: want one of them", given[0], given[1])
	}
	if f.JSONSchema != nil && strings.TrimSpace(*f.JSONSchema) == "" {
		return fault.Hint(fault.Usagef("--json-schema: want a schema or the name of its file, found nothing"),
			"--json-schema '{}' is any JSON")
	}
	for name, flag := range f.files {
		if name == "" {
			return fault.Usagef("%s: want the name of a file, found nothing", flag)
		}
	}
	if f.JSONOpen && f.JSONClosed {
		return fault.Usagef("--json-open and --json-closed: want one of them")
	}
	if _, err := f.choices(); err != nil {
		return err
	}
	return f.space(&constrain.SchemaOptions{})
}

// ofStdin is the flag whose file is stdin, "" without one.
func (f *textForm) ofStdin() string {
	for name, flag := range f.files {
		if name == "-" {
			return flag
		}
	}
	return ""
}

// files yields the files that flags name, with the flags.
func (f *textForm) files(yield func(name, flag string) bool) {
	if f.Grammar != nil && !yield(*f.Grammar, "--grammar") ||
		f.Structural != nil && !yield(*f.Structural, "--structural-tag") {
		return
	}
	if f.JSONSchema != nil && !f.schemaItself() {
		yield(*f.JSONSchema, "--json-schema")
	}
}

// choices are the strings of --choice and --choices.
func (f *textForm) choices() ([]string, error) {
	all := slices.Clone(f.Choice)
	for _, list := range f.Choices {
		items := cli.SplitCommas(list + ",") // which leaves an empty last one out
		if slices.Contains(items, "") {
			return nil, fault.Hint(fault.Usagef("--choices %s: want a string before and after each comma, "+
				"found none", quote.Short(list, 40)), "--choice '' allows an empty text")
		}
		all = append(all, items...)
	}
	return all, nil
}

// space reads --json-space into o.
func (f *textForm) space(o *constrain.SchemaOptions) error {
	if f.JSONSpace == nil || *f.JSONSpace == "one" {
		return nil
	}
	number, indent := strings.CutPrefix(*f.JSONSpace, "indent")
	n, err := strconv.Atoi(number)
	switch {
	case *f.JSONSpace == "none" || *f.JSONSpace == "0":
		o.Space = constrain.NoSpace
	case *f.JSONSpace == "exact":
		o.Comma, o.Colon = ", ", ": "
	case err != nil || n < 0 || n > 64:
		return fault.Usagef("--json-space %s: want one, none, exact, or a number from 0 to 64, or "+
			"indent and a number", *f.JSONSpace)
	case indent:
		o.Comma, o.Colon, o.Indent = ",", ": ", strings.Repeat(" ", n)
	default:
		o.Space = n
	}
	return nil
}

// closed reports whether objects have only the names of their schemas. Before rules 1 of package
// receipt they had them only with --json-closed.
func (f *textForm) closed(rules int) bool { return f.JSONClosed || rules >= 1 && !f.JSONOpen }

// compile makes the constraint, under the rules of a receipt. What is wrong with it is a
// fault.Usage.
func (f *textForm) compile(
	v *constrain.Vocabulary, read readFile, rules int,
) (c *constrain.Constraint, err error) {
	o := constrain.SchemaOptions{Closed: f.closed(rules), AnyOrder: f.JSONAny, OpenAPI: f.OpenAPI,
		Strict: f.JSONStrict, Earlier: rules < 1}
	if err = f.space(&o); err != nil {
		return nil, err
	}
	compiler, ctx, name, text := constrain.Compiler{Vocabulary: v, Schemas: o}, context.Background(), "", ""
	switch {
	case f.Regex != nil:
		c, err = constrain.Regex(v, *f.Regex)
	case f.JSONSchema != nil:
		if text, err = f.schema(read); err != nil {
			return nil, err
		}
		if c, err = constrain.JSONSchema(v, []byte(text), o); !f.schemaItself() {
			name = " " + *f.JSONSchema
		}
	case f.Grammar != nil:
		text, err = read(*f.Grammar, "--grammar")
		if errors.Is(err, fs.ErrNotExist) && strings.Contains(*f.Grammar, "::=") {
			err = fault.Hint(err, "--grammar takes the name of a file, or - for stdin")
		}
		if err != nil {
			return nil, err
		}
		name = " " + *f.Grammar
		c, err = compiler.Grammar(ctx, text)
	case f.Structural != nil:
		if text, err = read(*f.Structural, "--structural-tag"); err != nil {
			return nil, err
		}
		name = " " + *f.Structural
		c, err = compiler.StructuralTag(ctx, []byte(text))
	default:
		var all []string
		if all, err = f.choices(); err == nil {
			c, err = constrain.Choice(v, all...)
		}
	}
	if err != nil {
		return nil, fault.Usagef("%s%s: %w", f.asked(), name, err)
	}
	return c, nil
}

// schema is the text of the schema: the flag's own if it is JSON, else a file's.
func (f *textForm) schema(read readFile) (string, error) {
	if f.schemaItself() {
		return strings.TrimSpace(*f.JSONSchema), nil
	}
	text, err := read(*f.JSONSchema, "--json-schema")
	if errors.Is(err, fs.ErrNotExist) {
		err = fault.Hint(err, "--json-schema takes a file, or a schema itself, which begins with {")
	}
	return text, err
}

// schemaItself reports whether the flag is a schema, and no file's name.
func (f *textForm) schemaItself() bool {
	text := strings.TrimSpace(*f.JSONSchema)
	return strings.HasPrefix(text, "{") || text == "true" || text == "false"
}

// settings are the flags as a run that continues compares them. Files count by what is in them.
func (f *textForm) settings(read readFile, rules int) (list []records.Setting, err error) {
	add := func(name, value string) { list = append(list, records.Setting{Name: name, Value: value}) }
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
		text, err = read(*f.Grammar, "--grammar")
	case "--structural-tag":
		text, err = read(*f.Structural, "--structural-tag")
	case "--json-schema":
		text, err = f.schema(read)
	}
	if text != "" || f.JSONSchema != nil {
		add(f.asked(), digest(text))
	}
	if f.JSONSchema != nil || f.Structural != nil || strings.Contains(text, "%json") {
		add("--json-closed", strconv.FormatBool(f.closed(rules)))
		var o constrain.SchemaOptions
		if f.space(&o); o.Comma == "" {
			add("--json-space", strconv.Itoa(o.Space))
		} else {
			add("--json-space", *f.JSONSpace)
		}
		if f.JSONAny {
			add("--json-any-order", "true")
		}
		if f.OpenAPI {
			add("--json-openapi", "true")
		}
	}
	return list, err
}

// formFlags adds the flags of a form.
func formFlags(f *cli.Flags, c *textForm) {
	f.Group("A form for the text:")
	f.Add(&c.Choice, "--choice STRING",
		"the new text is this string, or one of several; the flag may be repeated")
	f.Add(&c.Choices, "--choices A,B,C",
		`the new text is one of these strings; \, is a comma in one`)
	f.Add(&c.Regex, "--regex RE",
		`the new text matches this regular expression from beginning to end: RE2's syntax, and
		Python's lookaheads, {,n}, \uXXXX and \Z; \d, \w and \b know ASCII only`)
	f.Add(&c.JSONSchema, "--json-schema FILE", `the new text is JSON that this JSON Schema accepts;
		FILE, or the schema itself: {} is any JSON; - is stdin`)
	f.Add(&c.JSONOpen, "--json-open", `objects may have other properties than those that the schema
		names; else they have none, unless it has additionalProperties or its like`)
	f.Add(&c.JSONClosed, "--json-closed", "what is done without --json-open")
	f.Add(&c.JSONStrict, "--json-strict", `refuse a schema of which something restricts nothing,
		such as a format that is not known; else that is told`)
	f.Add(&c.JSONSpace, "--json-space HOW",
		`white space in the JSON: one (after each colon and comma, or none; the default), none, or a
		number: up to so many spaces, tabs and newlines wherever JSON allows them; exactly one after
		each colon and comma is exact, and indent2 is lines indented by 2`)
	f.Add(&c.JSONAny, "--json-any-order", `the properties of objects may come in any order; else those
		that the schema names come first, in its order`)
	f.Add(&c.OpenAPI, "--json-openapi", `follow what OpenAPI 3.0 adds to a schema: nullable, and
		discriminator`)
	f.Add(&c.Grammar, "--grammar FILE", `the new text is what rule root of this grammar describes
		(GBNF, as llama.cpp reads it, with %json SCHEMA and %regex /RE/); - is stdin`)
	f.Add(&c.Structural, "--structural-tag FILE", `the new text is what this structural tag describes
		(JSON, as xgrammar and vLLM read it): free text with tagged forms; - is stdin`)
}

// openForm makes o constrain the text. t is the tokenizer, if one is open.
func (a *app) openForm(
	f *textForm, m *model.Model, t *tokenizer.Tokenizer, o *decode.Options,
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
	c, err := f.compile(v, a.optionFile, a.rules)
	if err != nil {
		return err
	}
	for _, note := range c.Notes() { // each once: a conversation makes the form again for each line
		if !slices.Contains(a.formNotes, note) {
			a.formNotes = append(a.formNotes, note)
			a.Notef("%s: %s", f.asked(), note)
		}
	}
	text, err := c.Start()
	if err != nil {
		return fault.Usage{Err: err}
	}
	o.Constraint, o.MayCut = text, o.MayCut || a.rules < 2
	return nil
}
