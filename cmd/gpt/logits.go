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
		Long: `
Prints one object, {"tokens":[…],"logits":[…]}: the ids of the text, and for each id of the
vocabulary its logit as the next token. Each number is the shortest decimal that gives the same
float32 back, so the output is the model's arithmetic to the last bit. Those of --engine reference
are float64s.

With --top K the object has top in place of logits: the K likeliest ids, the likeliest first, each
an object with id, text, logit and logprob, the natural logarithm of its probability.

With -o FILE.npy or FILE.safetensors the logits are an array of float32, [vocab_size], or [tokens,
vocab_size] with --positions all: less than half of the bytes, and the same bits. It is written as
it is computed: memory does not grow with the text. The tensor of safetensors is logits; the
metadata has the model's digest, the tokens, the text and the version.

The text is TEXT, the text of a file (-f FILE; -f - is stdin), or what comes through a pipe.

Examples:

  gpt logits --top 5 "The cat sat on the"
  gpt logits --tokens 7454,2402,257,640
  gpt logits --positions all -f story.txt > logits.json
  gpt logits --positions all -f story.txt -o logits.npy`,
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
