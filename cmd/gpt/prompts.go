package main

// gpt generate --prompts: many prompts, a text or several for each, written side by side.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/internal/amount"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/internal/promptlines"
	"picogpt/internal/resume"
	"picogpt/internal/rows"
	"picogpt/internal/terminal"
	"picogpt/internal/textio"
	"picogpt/model"
)

// A promptsSource is a file of prompts and where their texts go.
type promptsSource struct {
	Prompts *string
	Target  recordsTarget
}

func (s *promptsSource) flags(f *cli.Flags) {
	f.Add(&s.Prompts, "--prompts FILE", "JSON objects on lines, each with a prompt; - is stdin")
	s.Target.flags(f)
}

// checkPrompts refuses what --prompts does not go with.
func (c *generateCommand) checkPrompts() error {
	t, one := &c.Many.Target, &c.Prompt
	switch {
	case c.Many.Prompts == nil && c.Receipt.Receipt != nil && t.Out == nil && !t.Resume:
		return nil // --force is about the receipt
	case c.Many.Prompts == nil && (t.Out != nil || t.Resume || t.Force):
		return fault.Hint(usagef("--out, --resume and --force: want --prompts FILE"),
			"without it the shell can write the output to a file: gpt ... > FILE")

	case c.Many.Prompts == nil:
		return nil
	case len(one.Text.Words) > 0 || one.Text.File != nil || one.Prompt != nil || one.Tokens != nil:
		return usagef("--prompts and another prompt: want one of them")
	case c.Search.asked() != "":
		return usagef("--prompts and %s: want one of them", c.Search.asked())
	case c.Output != "auto" && c.Output != "json":
		return usagef("--prompts and --output %s: want --output json, which is the default here",
			c.Output)
	}
	return nil
}

// runPrompts answers a file of prompts.
func (c *generateCommand) runPrompts(a *app, o decode.Options, seeded bool) error {
	if *c.Many.Prompts != "-" {
		a.files.LeaveStdin()
	}
	source, err := a.files.Rows(*c.Many.Prompts, "")
	if err != nil {
		return err
	}
	defer source.Close()
	lines := rows.NewReader(source, "jsonl")
	if err := cmp.Or(lines.Check(), c.Many.Target.check(a)); err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	run := prompting{app: a, command: c, options: o, model: m, bar: terminal.NewBar("lines")}
	run.in = &promptInput{Reader: lines}
	run.in.prompts.Special = c.Prompt.Special
	if err := run.openTokenizer(); err != nil {
		return err
	}
	if err := c.openTexts(a, m, run.in.prompts.Tokenizer, &run.options); err != nil {
		return err
	}
	if c.Heal {
		if run.healer, err = a.newHealer(m); err != nil {
			return err
		}
	}
	form, err := c.Form.settings(a)
	if err != nil {
		return err
	}
	settings := append(c.settings(), form...)
	seed := []resume.Setting{{Name: "--seed", Value: decimal(o.Seed)}}
	if seeded {
		settings, seed = append(settings, seed...), nil
	}
	run.out, err = c.Many.Target.open(a, m, "gpt generate", settings, seed)
	if err != nil {
		return err
	}
	if err = run.begin(); err == nil {
		err = run.run()
	}
	err = run.out.close(err)
	if err == nil {
		err = run.bad()
	}
	return err
}

// bad tells of the lines that could not be continued.
func (r *prompting) bad() error {
	n := r.state.Errors
	if n == 0 {
		return nil
	}
	err := fmt.Errorf("%d of %s could not be continued", n, amount.Count(r.state.Lines, "prompt"))
	if r.lines > 0 && !r.objects {
		err = fault.Hint(err, `a line is an object such as {"prompt":"Once upon a time"}`)
	}
	return err
}

func decimal(x uint64) string { return strconv.FormatUint(x, 10) }

// settings returns the options that the output depends on, without the seed.
func (c *generateCommand) settings() (all []resume.Setting) {
	for _, o := range c.table() {
		value, first := o.String(), o.First(true)
		if list, ok := o.Value.(*[]string); ok {
			value, first = fmt.Sprintf("%q", *list), "[]"
		}
		if o.Flag.Name == "" || o.Flag.Name == "seed" || o.Flag.Group == option.Guessing ||
			value == "" && first == "" {
			continue
		}
		all = append(all, resume.Setting{Name: "--" + o.Flag.Name, Value: value, Default: first})
	}
	return append(all, resume.Setting{Name: "--heal", Value: strconv.FormatBool(c.Heal)},
		resume.Setting{Name: "--special", Value: strconv.FormatBool(c.Prompt.Special)})
}

// A prompting is a run of gpt generate --prompts.
type prompting struct {
	*app
	command *generateCommand
	options decode.Options
	model   *model.Model
	form    promptlines.Form
	in      *promptInput
	healer  *textio.Healer // nil: without --heal
	out     *records
	bar     *terminal.Bar
	state   promptingState
	lines   int // answered now
	tokens  int // made now

	objects bool // some lines were
}

// A promptingState is what a later run needs to continue this one.
type promptingState struct {
	Lines  int `json:"lines"`
	Errors int `json:"errors"`
}

// openTokenizer finds the tokenizer. Where there is none, ids can still be given.
func (r *prompting) openTokenizer() error {
	t, err := r.app.openTokenizer()
	switch {
	case err == nil:
		r.in.prompts.Tokenizer, r.options.Vocabulary = t, t
	case !errors.Is(err, checkpoint.ErrNoTokenizer) || len(r.options.Stop) > 0:
		return err
	}
	r.in.prompts.Missing = err
	r.form = promptlines.Form{Text: t != nil, Top: r.command.Top > 0}
	return nil
}

// begin takes up what an earlier run has done.
func (r *prompting) begin() (err error) {
	if r.out.file != nil {
		if seed := r.out.file.Setting("--seed"); seed != "" { // none in a device
			r.options.Seed, err = strconv.ParseUint(seed, 10, 64)
		}
	}
	last := r.out.last()
	if r.in.from = last; last.State != nil && err == nil {
		err = json.Unmarshal(last.State, &r.state)
	}
	return err
}
