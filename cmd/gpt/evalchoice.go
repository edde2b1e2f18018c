package main

// gpt eval choice: how often the right one of several answers is the likeliest.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
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
		q, err := c.parse(o)
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
	}, func() any {
		return struct {
			taskJSON
			Sum        *float64 `json:"accuracy_sum"`
			SumStdErr  *float64 `json:"accuracy_sum_stderr"`
			Mean       *float64 `json:"accuracy_mean"`
			MeanStdErr *float64 `json:"accuracy_mean_stderr"`
			Byte       *float64 `json:"accuracy_bytes"`
			ByteStdErr *float64 `json:"accuracy_bytes_stderr"`
		}{run.common("choice", r.Examples, r.Partial), strictjson.Number(r.BySum.Value),
			strictjson.Number(r.BySum.StdErr), strictjson.Number(r.ByMean.Value),
			strictjson.Number(r.ByMean.StdErr), strictjson.Number(r.ByByte.Value),
			strictjson.Number(r.ByByte.StdErr)}
	}, func() string {
		return fmt.Sprintf("%v%-12s %s\n%-12s %s\n%-12s %s\n",
			run.common("choice", r.Examples, r.Partial),
			"by sum", percent(r.BySum), "by mean", percent(r.ByMean), "by bytes", percent(r.ByByte))
	})
}

// parse reads one question.
func (c *choiceCommand) parse(o rows.Object) (eval.Question, error) {
	before, errBefore := o.Text("context")
	choices, errChoices := rows.List[string](o, "choices", "strings")
	answer := o.Get("answer")
	if err := fault.First(errBefore, errChoices); err != nil {
		return eval.Question{}, err
	}
	if before == nil || len(choices) == 0 || answer == nil || string(answer) == "null" {
		return eval.Question{}, errors.New("want context, choices and answer")
	}
	q := eval.Question{Context: *before, Answer: -1}
	var text string
	if json.Unmarshal(answer, &text) != nil {
		if err := json.Unmarshal(answer, &q.Answer); err != nil {
			return q, fmt.Errorf("answer: want a number or one of the choices, found %s",
				quoteShort(string(answer)))
		}
		if q.Answer < 0 || q.Answer >= len(choices) {
			return q, fmt.Errorf("answer: %d, want 0 to %d", q.Answer, len(choices)-1)
		}
	}
	for i, choice := range choices {
		if choice == "" {
			return q, fmt.Errorf("choice %d: empty", i)
		}
		if q.Answer < 0 && choice == text {
			q.Answer = i
		}
		q.Bytes = append(q.Bytes, len(choice))
		q.Choices = append(q.Choices, c.delimiter(q.Context, choice)+choice)
	}
	if q.Answer < 0 {
		return q, fmt.Errorf("answer: %s, want a number or one of the choices", quoteShort(text))
	}
	return q, nil
}

// delimiter is what goes between a context and a choice.
func (c *choiceCommand) delimiter(context, choice string) string {
	if c.Delimiter != nil {
		return *c.Delimiter
	}
	last, _ := utf8.DecodeLastRuneInString(context)
	first, _ := utf8.DecodeRuneInString(choice)
	if context == "" || unicode.IsSpace(last) || unicode.IsSpace(first) {
		return ""
	}
	return " "
}
