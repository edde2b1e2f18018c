package main

// gpt tokenize: text to ids, and back.

import (
	"io"

	"picogpt/cmd/gpt/internal/textio"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
)

type tokenizeCommand struct {
	Text    textio.Source
	Decode  bool
	Special bool
	JSON    bool
}

func newTokenize(a *app) *cli.Command {
	c := &tokenizeCommand{}
	return &cli.Command{
		Name: "tokenize", Group: "look",
		Short: "turn a text into token ids, or ids into text",
		Args:  []cli.Arg{wordsArg(&c.Text)},
		Flags: func(f *cli.Flags) {
			fileFlag(f, &c.Text)
			f.Add(&c.Decode, "--decode", "read ids, and print the text that they stand for")
			addSpecial(f, &c.Special)
			f.Add(&c.JSON, "--json",
				"with --decode: print the text as a JSON string; ids are JSON already")
			a.addRawControls(f)
			a.flags(f, modelFlag|adapterFlag|engineFlag|cjkSpaces|verbose)
		},
		Run: func(f *cli.Flags) error { return c.Run(a, f) },
	}
}

func (c *tokenizeCommand) Run(a *app, f *cli.Flags) error {
	if err := a.checkEngine("tokenize", f.Given()); err != nil {
		return err
	}
	text, err := c.Text.Open(&a.files, !c.Decode)
	if err != nil {
		return err
	}
	if text == nil {
		return fault.Hint(usagef("nothing to tokenize"), textHint)
	}
	defer text.Close()
	return a.backend().tokenize(c, text)
}

func (a fastEngine) tokenize(c *tokenizeCommand, text io.Reader) error {
	t, err := a.openOnlyTokenizer()
	if err != nil {
		return err
	}
	if a.CJKSpaces != nil && !*a.CJKSpaces {
		t = t.JoinCJK()
	}
	switch {
	case c.Decode:
		return c.decode(a.app, t, text)
	case c.Special:
		t = t.WithSpecial()
	}
	return textio.WriteIDs(a.stdout, a.noteMissing(t), text)
}

// decode prints the text of ids.
func (c *tokenizeCommand) decode(a *app, t decoder, list io.Reader) error {
	written, err := textio.Whole(list)
	if err != nil {
		return err
	}
	ids, err := textio.ParseIDs(written)
	if err != nil {
		return err
	}
	text, err := t.Decode(ids)
	if err != nil {
		return err
	}
	end := ""
	if a.stdout.Terminal {
		end = "\n"
	}
	return a.print(c.JSON, text, text+end)
}
