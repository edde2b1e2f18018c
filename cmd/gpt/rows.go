package main

// Files of many texts or prompts: what gpt score, embed, classify, steer and --prompts read.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/records"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/rows"
	"picogpt/model"
	"picogpt/tokenizer"
)

// What gpt score, gpt embed and gpt classify read: requests from the rows of their input.

// A textSource is a file of texts, or one text. verb says what is done with them: "score".
type textSource struct {
	verb string

	File      *string
	Text      *string
	Input     string
	TextField *string
}

// arg is the file.
func (c *textSource) arg() cli.Arg {
	return cli.OptionalWord(&c.File, "file",
		`the texts: lines, JSON objects on lines, or a table; - is stdin; default: what
		comes through a pipe`)
}

// flags adds the flags.
func (c *textSource) flags(f *cli.Flags) {
	f.Add(&c.Text, "--text TEXT", c.verb+" TEXT, in place of a file")
	f.Add(&c.Input, "--input, --input-format FORM [auto]",
		`what the input is: lines (texts, of any bytes), jsonl (an object on each line),
		csv, tsv (tables) or auto (by the end of the file's name, else jsonl if it begins
		with {, else lines of UTF-8, and neither binary nor one JSON array)`).
		OneOf("auto", "lines", "jsonl", "csv", "tsv")
	f.Add(&c.TextField, "--text-field NAME",
		"the field or column that holds the text; default: text")
}

// A textInput reads requests from rows.
type textInput struct {
	records.Input
	lines lines.RequestReader
}

// open opens the file, stdin, or the one text.
func (c *textSource) open(a *app) (*textInput, error) {
	var s *rows.Source
	var err error
	switch {
	case c.Text != nil && c.File != nil:
		return nil, usagef("--text and a file: want one of them")
	case c.Text != nil:
		textio.HintAtFile(a.Notef, *c.Text, "gpt "+c.verb)
	case c.File == nil && !textio.Readable(a.files.Stdin):
		return nil, fault.Hint(usagef("nothing to %s", c.verb),
			"give a file of texts, --text TEXT, or texts through a pipe")

	case c.File == nil:
		s, err = a.files.Rows("-", "")
	default:
		if s, err = a.files.Rows(*c.File, ""); errors.Is(err, fs.ErrNotExist) {
			err = fault.Hint(err, fmt.Sprintf("to %s a text itself: gpt %[1]s --text TEXT", c.verb))
		}
	}
	if err != nil {
		return nil, err
	}
	in := &textInput{}
	if c.Text != nil {
		in.Reader = rows.Only("--text", *c.Text)
	} else {
		in.Reader = rows.NewReader(s, c.Input)
	}
	if err := in.settle(c); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// settle reads the header, if there is one, and finds the text in it.
func (in *textInput) settle(c *textSource) error {
	in.lines.Texts = in.Form == "text" || in.Form == "lines"
	if c.TextField != nil {
		if in.lines.TextField = *c.TextField; *c.TextField == "" {
			return usagef("--text-field: want a name, found nothing")
		}
		if in.lines.Texts {
			return fault.Hint(usagef("--text-field: %s has no fields, its lines are texts",
				in.Name), "--input says what they are: csv, tsv, jsonl")
		}
	}
	if err := in.Check(); err != nil {
		return c.notText(err)
	}
	if err := in.ReadHeader(); err != nil || in.Header == nil {
		return err
	}
	in.lines.Table = true
	o := make(rows.Object, len(in.Header))
	for i, name := range in.Header {
		o[i] = rows.Member{Key: name, Value: json.RawMessage(`""`)}
	}
	if _, err := in.lines.Object(o); err != nil {
		return fault.Hint(fmt.Errorf("%s: %w; its first line names %s", in.Name, err,
			quoteShort(strings.Join(in.Header, ", "))),
			"--text-field NAME says in which column the text is")
	}
	return nil
}

// settings are what the output depends on.
func (in *textInput) settings() []records.Setting {
	form := in.Form
	if in.Raw {
		form += ", as they stand"
	}
	return []records.Setting{setting("--input", form),
		setting("--text-field", strconv.Quote(in.lines.TextField))}
}

// notText says what may be done with an input whose lines are no texts.
func (c *textSource) notText(err error) error {
	verbs := c.verb + "s"
	if c.verb == "classify" {
		verbs = "classifies"
	}
	hint := fmt.Sprintf("--input lines %s its lines as they stand", verbs)
	if array, ok := errors.AsType[*rows.ArrayError](err); ok {
		file := "FILE"
		if c.File != nil && plainWord().MatchString(*c.File) {
			file = *c.File
		}
		hint = fmt.Sprintf("jq -c '%s' %s | gpt %s; %s", array.Filter, file, c.verb, hint)
	}
	return fault.Hint(err, hint)
}

// plainWord is a file's name that no shell changes.
var plainWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./-]*$`)
})

// A textsCommand is what commands have in common that write a record for each of many texts.
type textsCommand struct {
	From    textSource
	Fields  []string
	Keep    bool
	Special bool
	Target  records.Target

	known []string // the fields that records can have; nil: without --fields
}

// fields adds the flags of which fields are written. example is of --fields.
func (c *textsCommand) fields(f *cli.Flags, example string) {
	if c.known != nil {
		f.Add(cli.Commas(&c.Fields), "--fields LIST",
			"write only these fields, for example "+example+"; default: all")
	}
	f.Add(&c.Keep, "--keep", "write the fields of the input too")
}

// addBatch adds --batch.
func addBatch(f *cli.Flags, p *int, what, unchanged string) {
	f.Add(p, "--batch N", "how many "+what+" run together, which changes no "+unchanged+
		"; default: chosen for speed")
}

// checkFields refuses names that no record has.
func (c *textsCommand) checkFields() (err error) {
	if c.Fields == nil {
		return nil
	}
	if c.Fields, err = lines.ParseFields(c.Fields, c.known); err == nil && len(c.Fields) == 0 {
		err = errors.New("want names, found nothing")
	}
	if err != nil {
		err = fault.Hint(usagef("--fields: %w", err), "the fields are "+strings.Join(c.known, ", "))
	}
	return err
}

// A textRun is a run of such a command: its input, and what answers it.
type textRun struct {
	*textInput
	records.Texts
	tokenizer eval.Tokenizer
	model     *model.Model
}

// open opens the input, and what answers it if it is ready, which checks the target too.
func (c *textsCommand) open(a *app, ready func() error) (*textRun, error) {
	in, err := c.From.open(a)
	if err != nil {
		return nil, err
	}
	r := &textRun{textInput: in}
	if err = ready(); err == nil {
		r.tokenizer, err = a.idTokenizer(in, c.Special)
	}
	if err == nil {
		r.model, err = a.openModel()
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	r.Texts = records.Texts{Console: &a.Console, Signals: &a.Signals, Logf: a.logf,
		Bar: c.Target.Out != nil || !a.stdout.Terminal, Input: &in.Input, Requests: in.lines}
	return r, nil
}

// writeRecords writes the records of a command's answers. settings are its options that they
// depend on.
func writeRecords[A any](
	a *app, c *textsCommand, r *textRun, l *records.Lines, settings []records.Setting,
	answers records.Answers[A], record func(*A) (*lines.Row, any, int, error),
) (err error) {
	settings = slices.Concat(r.settings(), settings,
		[]records.Setting{setting("--special", c.Special)})
	if c.known != nil {
		settings = append(settings, setting("--fields", strconv.Quote(strings.Join(c.Fields, ","))))
	}
	settings = append(settings, setting("--keep", c.Keep))
	l.Out, err = a.openRecords(&c.Target, r.model, "gpt "+c.From.verb, settings, nil)
	if err != nil {
		return err
	}
	l.Output.Fields, l.Output.Keep = c.Fields, c.Keep
	return l.Out.Close(records.Write(&r.Texts, l, answers, record))
}

// setting is an option that records depend on.
func setting(name string, value any) records.Setting {
	return records.Setting{Name: name, Value: fmt.Sprint(value)}
}

// prompts is a tokenizer for texts that are evaluated as prompts are.
func prompts(t eval.Tokenizer) eval.Tokenizer {
	if full, ok := t.(*tokenizer.Tokenizer); ok {
		return full.ForPrompts()
	}
	return t
}

// idTokenizer is the checkpoint's tokenizer; where there is none, ids of objects will do.
func (a *app) idTokenizer(in *textInput, special bool) (eval.Tokenizer, error) {
	t, err := a.openTokenizer()
	switch {
	case in.Form == "jsonl" && errors.Is(err, checkpoint.ErrNoTokenizer):
		return lines.IDs{Missing: err}, nil
	case err == nil && special:
		return t.WithSpecial(), nil
	}
	return t, err
}

// Files of prompts, in the forms that gpt score reads: for gpt generate --prompts and gpt steer.

// A promptForm says what files of prompts are.
type promptForm struct {
	Input     string
	TextField *string
}

// flags adds the flags. names are those of the form, such as "--input-format".
func (c *promptForm) flags(f *cli.Flags, names string) {
	f.Add(&c.Input, names+" FORM [auto]",
		`what the prompts' file is: lines (a prompt each), jsonl (objects with prompt, or tokens),
		csv, tsv (tables) or auto (by the end of the file's name, else jsonl if it begins with {,
		else lines)`).OneOf("auto", "lines", "jsonl", "csv", "tsv")
	f.Add(&c.TextField, "--text-field NAME",
		"the field or column that holds the prompt; default: prompt")
}

// open opens a file of prompts, plain or compressed, and finds the prompts in it.
func (c *promptForm) open(a *app, flag, name string) (*rows.Reader, lines.PromptReader, error) {
	var in lines.PromptReader
	if c.TextField != nil {
		if in.TextField = *c.TextField; in.TextField == "" {
			return nil, in, usagef("--text-field: want a name, found nothing")
		}
	}
	if name != "-" {
		a.files.LeaveStdin()
	}
	s, err := a.files.Rows(name, flag)
	if err != nil {
		return nil, in, err
	}
	r := rows.NewReader(s, c.Input)
	if err = r.Check(); err == nil {
		err = r.ReadHeader()
	}
	if err == nil {
		err = c.check(r, &in)
	}
	if err != nil {
		r.Close()
		return nil, in, err
	}
	return r, in, nil
}

// check refuses a file that has not the field of the prompts.
func (c *promptForm) check(r *rows.Reader, in *lines.PromptReader) error {
	if r.Header == nil {
		return nil
	}
	in.Table = true
	o := make(rows.Object, len(r.Header))
	for i, name := range r.Header {
		if name != "seed" { // each row has its own
			o[i] = rows.Member{Key: name, Value: json.RawMessage(`""`)}
		}
	}
	if _, err := in.Object(o); err != nil {
		return fault.Hint(fmt.Errorf("%s: %w; its first line names %s", r.Name, err,
			quoteShort(strings.Join(r.Header, ", "))),
			"--text-field NAME says in which column the prompt is")
	}
	return nil
}

// settings are what the output depends on. Earlier versions read jsonl alone.
func (c *promptForm) settings(r *rows.Reader) []records.Setting {
	form, field := r.Form, "prompt"
	if r.Raw {
		form += ", as they stand"
	}
	if c.TextField != nil {
		field = *c.TextField
	}
	return []records.Setting{{Name: "--input-format", Value: form, Default: "jsonl"},
		{Name: "--text-field", Value: strconv.Quote(field), Default: `"prompt"`}}
}
