package main

// Files of prompts, in the forms that gpt score reads: for gpt generate --prompts and gpt steer.

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"picogpt/cmd/gpt/internal/records"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/rows"
)

// A promptForm says what files of prompts are.
type promptForm struct {
	Input     string
	TextField *string
}

// flags adds the flags. names are those of the form, such as "--input-format".
func (c *promptForm) flags(f *cli.Flags, names string) {
	f.Add(&c.Input, names+" FORM [auto]",
		`what the prompts' file is: lines (a prompt each), jsonl (objects with prompt, or tokens), csv,
		tsv (tables) or auto (by the end of the file's name, else jsonl if it begins with {, else
		lines)`).OneOf("auto", "lines", "jsonl", "csv", "tsv")
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
