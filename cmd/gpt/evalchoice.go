package main

// gpt eval choice: how often the right one of several answers is the likeliest.

import (
	"context"
	"slices"

	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/rows"
	"picogpt/internal/scorelines"
	"picogpt/internal/show"
)

type choiceCommand struct {
	Source    taskSource
	Delimiter *string
}

func newChoice(a *app) *cli.Command {
	c := &choiceCommand{}
	return &cli.Command{
		Name:  "choice",
		Short: "how often the right one of several answers is the likeliest",
		Args:  []cli.Arg{c.Source.arg()},
		Flags: func(f *cli.Flags) {
			c.Source.flags(f)
			f.Add(&c.Delimiter, "--delimiter STRING",
				`what stands between context and choice; default: a space, unless one of them has
				white space there`)
			a.flags(f, evaluates)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
		Long: `
Each line of FILE is an object with context, choices (an array of texts) and answer (the
number of the right choice, from 0, or its text). Each choice is scored as the continuation of the
context, as gpt score does it. There are three accuracies, for three ways to compare choices: by the
log-likelihood of the choice (sum), divided by the number of its tokens (mean), or divided by the
number of its bytes in FILE (bytes).

A broken line is reported, the others count, and the exit status is 1.

Examples:

  gpt eval choice questions.jsonl --json`,
	}
}

func (c *choiceCommand) Run(a *app) error {
	var questions []eval.Question
	run, err := c.Source.start(a, func(o rows.Object) error {
		q, err := scorelines.Question(o, c.Delimiter)
		if err == nil {
			questions = append(questions, q)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer run.model.Close()
	var r eval.ChoiceResult
	return run.run(func(ctx context.Context) (err error) {
		r, err = eval.Choice(ctx, run.model, run.tok, slices.Values(questions), run.options())
		return err
	}, func() (any, string) {
		return show.Choice(run.common("choice", r.Examples, r.Partial), r)
	})
}
