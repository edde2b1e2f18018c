package main

// The text of gpt perplexity and gpt compare, and the protocol that cuts it into windows.

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"time"

	"picogpt/cmd/gpt/internal/textio"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
)

// A protocolText is what the flags say of a text that a protocol measures.
type protocolText struct {
	Files    []string
	Protocol string
	Window   int
	Stride   int
	WikiText bool
	Tokens   *string
	Special  bool
}

func (c *protocolText) arg() cli.Arg {
	return cli.Words(&c.Files, "file",
		"text files; - is stdin; default: what comes through a pipe")
}

func (c *protocolText) flags(f *cli.Flags) {
	f.Add(&c.Protocol, "--protocol NAME [hf]",
		`how the text is cut and what is counted: hf, lm-eval or llama.cpp, which gpt perplexity
		--help explains`).
		OneOf("hf", "lm-eval", "llama.cpp")
	f.Add(&c.Window, "--window N", "tokens of a window; default: the model's n_positions")
	f.Add(&c.Stride, "--stride N",
		"for hf, how many tokens windows advance; default: the window")
	f.Add(&c.WikiText, "--wikitext",
		"read the files as raw WikiText, as the protocol's publisher does")
	f.Add(&c.Tokens, "--tokens IDS",
		`token ids in place of files: 1,2,3 or [1,2,3], or the name of a file with such ids;
		- is stdin`)
	addSpecial(f, &c.Special)
}

// options are those of the protocol.
func (c *protocolText) options() (eval.Options, error) {
	return eval.Options{Protocol: eval.Protocol(c.Protocol), Window: c.Window, Stride: c.Stride},
		cmp.Or(fault.NotNegative("--window", c.Window), fault.NotNegative("--stride", c.Stride))
}

// read returns the contents of the files, or of what --tokens names. command is what reads them.
func (c *protocolText) read(a *app, command string) ([]string, error) {
	names := c.Files
	if c.Tokens != nil {
		switch {
		case len(names) > 0:
			return nil, usagef("--tokens and files: want one of them")
		case c.WikiText:
			return nil, usagef("--tokens and --wikitext: want one of them")
		}
		if _, err := os.Stat(*c.Tokens); err != nil && *c.Tokens != "-" {
			return []string{*c.Tokens}, nil
		}
		names = []string{*c.Tokens}
	}
	if len(names) == 0 {
		if !textio.Readable(a.files.Stdin) {
			return nil, fault.Hint(usagef("no text"), "give files, or a text through a pipe")
		}
		names = []string{"-"}
	}
	files := make([]string, len(names))
	for i, name := range names {
		text, err := a.files.Text(name, "")
		if errors.Is(err, fs.ErrNotExist) {
			err = fault.Hint(err, "to measure a text itself: printf %s TEXT | "+command)
		}
		if err != nil {
			return nil, err
		}
		files[i] = text
	}
	return files, nil
}

// text encodes the files, or reads them as ids.
func (c *protocolText) text(a *app, files []string) (eval.Text, error) {
	defer a.ShowProgress(func() string { return "tokenizing" })()
	if c.Tokens != nil {
		ids, err := textio.ParseIDs(files[0])
		if err != nil {
			return eval.Text{}, usagef("--tokens: %w", err)
		}
		if t, err := a.openTokenizer(); err == nil {
			return eval.NewTokens(ids, t), nil
		}
		return eval.NewTokens(ids, nil), nil // no tokenizer: words and bytes remain unknown
	}
	t, err := a.openTokenizer()
	if err != nil {
		return eval.Text{}, err
	}
	if c.Special {
		t = t.WithSpecial()
	}
	start := time.Now()
	text := eval.NewText
	if c.WikiText {
		text = eval.NewWikiText
	}
	result, err := text(eval.Protocol(c.Protocol), t, files...)
	a.logf("tokenizing: %s", quote.Duration(time.Since(start)))
	return result, err
}
