package main

// gpt check: a second opinion on a checkpoint.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"picogpt/check"
	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
)

type compareCommand struct {
	Files     []string
	Text      *string
	Tokens    *string
	N         *int
	Published bool
	JSON      bool
}

func newCheck(a *app) *cli.Command {
	c := &compareCommand{}
	return &cli.Command{
		Name: "check", Group: "measure",
		Short: "compare with a second program, and with published results",
		Args: []cli.Arg{
			cli.Words(&c.Files, "file", "the text; - is stdin; default: a passage of its own"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Text, "--text TEXT", "compare on TEXT")
			f.Add(&c.Tokens, "--tokens IDS", "compare on token ids: 1,2,3 or [1,2,3]")
			f.Add(&c.N, "-n, --max-tokens N", `how many tokens are compared, with those that follow
				greedily; default: tokens times weights are at most 2·10¹⁰, within the context`)
			f.Add(&c.Published, "--published",
				"measure what others have published of this model, on the texts that FILEs hold")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *compareCommand) Run(a *app) error {
	if c.Published {
		return c.published(a)
	}
	o, err := c.options(a)
	if err != nil {
		return err
	}
	if err := a.chooseDevice(); err != nil { // before seconds of reading
		return err
	}
	ck, err := a.open()
	if err != nil {
		return err
	}
	tok, err := a.openTokenizer()
	if errors.Is(err, checkpoint.ErrNoTokenizer) && o.Text == nil {
		tok, err = nil, nil
	}
	if err == nil {
		err = o.Fits(ck.Config, tok)
	}
	if tooLong := (*check.LengthError)(nil); errors.As(err, &tooLong) {
		err = fault.Hint(err, "-n N compares the first N tokens")
	}
	if err != nil {
		return err
	}
	m, note, err := a.readReference(ck, 1e9,
		"the reference takes %s of memory, 8 bytes for each weight")
	if err != nil {
		return err
	}
	p := check.Pair{Tensors: ck.Tensors, Options: a.modelOptions(), Reference: m, Tokenizer: tok}
	if p.Model, err = a.openModel(); err != nil {
		return err
	}
	bar := terminal.NewShareBar("checking " + a.modelName())
	ctx, release := a.Graceful()
	defer release()
	end := a.ShowBar(bar)
	o.Progress = bar.SetShare
	r, err := p.Compare(ctx, o)
	end()
	if err != nil {
		return err
	}
	if r.Model = a.modelName(); note != "" {
		r.Notes = append([]string{note}, r.Notes...)
	}
	return c.print(a, r)
}

// options are what the flags say, with the text.
func (c *compareCommand) options(a *app) (o check.Options, err error) {
	given := len(c.Files)
	for _, s := range []*string{c.Text, c.Tokens} {
		if s != nil {
			given++
		}
	}
	if given > 1 {
		return o, usagef("one FILE, --text or --tokens: want one of them, found %d", given)
	}
	if c.N != nil {
		if o.N = *c.N; o.N < 1 {
			return o, usagef("-n %d: want 1 or more", o.N)
		}
	}
	if !slices.Contains(c.Files, "-") {
		a.files.LeaveStdin()
	}
	switch {
	case c.Tokens != nil:
		if o.IDs, err = textio.ParseIDs(*c.Tokens); err != nil {
			err = usagef("--tokens: %w", err)
		} else if len(o.IDs) == 0 {
			err = usagef("--tokens: want at least one id, found none")
		}
	case c.Text != nil:
		o.Text = c.Text
	case len(c.Files) > 0:
		var text string
		text, err = a.files.Text(c.Files[0], "")
		o.Text = &text
	}
	return o, err
}

func (c *compareCommand) print(a *app, r *check.Report) error {
	return fault.First(a.print(c.JSON, r, r.Text(a.columns())), r.Err())
}

// published measures what was published of the model.
func (c *compareCommand) published(a *app) error {
	if c.Text != nil || c.Tokens != nil || c.N != nil {
		return usagef("--published: want no --text, --tokens or -n beside it")
	}
	ck, err := a.open()
	if err != nil {
		return err
	}
	p := check.Find(check.Publications(), ck.Config)
	if p == nil {
		return fault.Hint(fmt.Errorf("%s: nothing is known that was published of a model of %d "+
			"layers of width %d", a.modelName(), ck.Config.Layer, ck.Config.Embd),
			"without --published, gpt check compares any model with the reference")
	}
	files, err := c.texts(a, p)
	if err != nil {
		return err
	}
	tok, err := a.openTokenizer()
	if err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewShareBar("measuring " + a.modelName())
	end := a.ShowBar(bar)
	r, err := p.Compare(ctx, m, tok, files, bar.SetShare)
	end()
	if len(r.Rows) == 0 && err != nil {
		return err
	}
	if r.Model = a.modelName(); err != nil {
		r.Notes = append(r.Notes, "ended before the rest was measured")
	}
	return fault.First(err, c.print(a, r))
}

// texts reads the files, which must be texts of the publication.
func (c *compareCommand) texts(a *app, p *check.Publication) (files []string, err error) {
	for _, name := range c.Files {
		file, err := a.files.Text(name, "")
		if err != nil {
			return nil, err
		}
		if _, ok := p.Known(file); !ok {
			var want []string
			for _, t := range p.Texts() {
				want = append(want, t.Name+" (SHA-256 "+t.SHA256[:8]+"…)")
			}
			return nil, fmt.Errorf("%s: want %s, by its SHA-256", name, strings.Join(want, " or "))
		}
		files = append(files, file)
	}
	return files, nil
}
