package main

// gpt logits: what the model makes of some tokens, as JSON.

import (
	"context"
	"fmt"
	"sync/atomic"

	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/scorelines"
	"picogpt/internal/show"
)

type logitsCommand struct {
	Prompt    promptSource
	Positions string
	Top       int
}

func newLogits(a *app) *cli.Command {
	c := &logitsCommand{}
	return &cli.Command{
		Name: "logits", Group: "look",
		Short: "print the logits of the next token, as JSON",
		Args:  []cli.Arg{wordsArg(&c.Prompt.Text)},
		Flags: func(f *cli.Flags) {
			c.Prompt.flags(f)
			f.Add(&c.Positions, "--positions WHICH [last]",
				"last: the logits after the last token; all: an array with those after each token").
				OneOf("last", "all")
			f.Add(&c.Top, "--top K",
				"print the K likeliest next tokens; default: the logits of all ids")
			a.flags(f, evaluates|edited|engineFlag|cjkSpaces)
		},
		Run: func(f *cli.Flags) error {
			if !a.asReference() {
				return c.Run(a)
			}
			err := onlyReference(f.Given(), "file", "tokens", "special", "positions", "top", "model",
				"adapter", "gelu", "verbose")
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

The text is TEXT, the text of a file (-f FILE; -f - is stdin), or what comes through a pipe.

Examples:

  gpt logits --top 5 "The cat sat on the"
  gpt logits --tokens 7454,2402,257,640
  gpt logits --positions all -f story.txt > logits.json`,
	}
}

func (c *logitsCommand) Run(a *app) error {
	if err := fault.NotNegative("--top", c.Top); err != nil {
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
		if w.Tokenizer, err = c.Prompt.tokenizer(a, &p, scorelines.IDs{}); err != nil {
			return err
		}
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := context.Background() // Ctrl-C ends the process
	var written atomic.Int64
	label := func() string { return fmt.Sprintf("reading %d tokens", len(p.ids)) }
	if c.Positions == "all" {
		label = func() string { return fmt.Sprintf("%d of %d tokens", written.Load(), len(p.ids)) }
	}
	if c.Positions != "all" || !a.stdout.Terminal {
		defer a.ShowProgress(label)()
	}
	if c.Positions == "all" {
		return w.WriteAll(ctx, a.stdout, m.NewSession(), p.ids, &written)
	}
	return w.WriteLast(ctx, a.stdout, m.NewSession(), p.ids)
}
