package main

// gpt logits: what the model makes of some tokens, as JSON or as an array.

import (
	"context"
	"fmt"
	"sync/atomic"

	"picogpt/cmd/gpt/internal/sessionfile"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/model"
)

type logitsCommand struct {
	Prompt    promptSource
	Positions string
	Top       int
	To        arrayOutput
}

func newLogits(a *app) *cli.Command {
	c := &logitsCommand{}
	return &cli.Command{
		Name: "logits", Group: "look",
		Short: "print the logits of the next token, as JSON or for NumPy",
		Args:  []cli.Arg{wordsArg(&c.Prompt.Text)},
		Flags: func(f *cli.Flags) {
			c.Prompt.flags(f)
			f.Add(&c.Positions, "--positions WHICH [last]",
				"last: the logits after the last token; all: an array with those after each token").
				OneOf("last", "all")
			f.Add(&c.Top, "--top K",
				"print the K likeliest next tokens; default: the logits of all ids")
			c.To.flags(f, `write an array of float32 in place of JSON; FILE ends in .npy or
				.safetensors`)
			jsonAlready(f)
			a.flags(f, evaluates|edited|engineFlag|cjkSpaces)
		},
		Run: func(f *cli.Flags) error {
			if !a.asReference() {
				return c.Run(a)
			}
			err := onlyReference(f.Given(), "file", "tokens", "special", "positions", "top", "json",
				"model", "adapter", "gelu", "verbose")
			if err != nil {
				return err
			}
			return c.runReference(a)
		},
	}
}

func (c *logitsCommand) Run(a *app) error {
	if err := fault.NotNegative("--top", c.Top); err != nil {
		return err
	}
	if c.To.Out != nil && c.Top > 0 {
		return usagef("--out and --top: want one of them, because an array holds all logits")
	}
	c.Prompt.declare(a)
	if err := c.To.check(a); err != nil {
		return err
	}
	p, err := c.Prompt.given(a)
	if err != nil {
		return err
	}
	if len(p.ids) == 0 && !p.asText {
		return usagef("--tokens: want at least one id, found none")
	}
	w := show.Logits{Top: c.Top}
	if p.asText || c.Top > 0 {
		if w.Tokenizer, err = c.Prompt.tokenizer(a, &p, lines.IDs{}); err != nil {
			return err
		}
	}
	if err := a.Edits.within(max(1, len(p.ids))); err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	return c.write(a, m, w, &p)
}

func (c *logitsCommand) write(a *app, m *model.Model, w show.Logits, p *prompt) error {
	ctx := context.Background() // Ctrl-C ends the process
	label := func() string { return fmt.Sprintf("reading %d tokens", len(p.ids)) }
	rows, all := show.LastLogits(ctx, m.NewSession(), p.ids), c.Positions == "all"
	if all {
		var done atomic.Int64
		rows = show.AllLogits(ctx, m.NewSession(), p.ids, &done)
		label = func() string { return fmt.Sprintf("%d of %d tokens", done.Load(), len(p.ids)) }
	}
	if !all || !a.stdout.Terminal || c.To.Out != nil {
		defer a.ShowProgress(label)()
	}
	if c.To.Out == nil {
		return w.Write(a.stdout, m, p.ids, rows, all)
	}
	shape := []int{m.Config().VocabSize}
	if all {
		shape = []int{len(p.ids), m.Config().VocabSize}
	}
	return c.To.write(a, m, p, nil, func(f *sessionfile.Writer) error {
		for row, err := range rows {
			if err == nil {
				err = f.Write(row)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, sessionfile.Array{Name: "logits", Shape: shape})
}
