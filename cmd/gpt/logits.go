package main

// gpt logits: what the model makes of some tokens, as JSON.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/scorelines"
	"picogpt/internal/strictjson"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
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
		Args:  []cli.Arg{c.Prompt.Text.arg()},
		Flags: func(f *cli.Flags) {
			c.Prompt.flags(f)
			f.Add(&c.Positions, "--positions WHICH [last]",
				"last: the logits after the last token; all: an array with those after each token").
				OneOf("last", "all")
			f.Add(&c.Top, "--top K",
				"print the K likeliest next tokens; default: the logits of all ids")
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
		Long: `
Prints one object, {"tokens":[…],"logits":[…]}: the ids of the text, and for each id of the
vocabulary its logit as the next token. Each number is the shortest decimal that gives the same
float32 back, so the output is the model's arithmetic to the last bit.

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
	w := logitsWriter{top: c.Top, before: `,"logits":`}
	if c.Top > 0 {
		w.before = `,"top":`
	}
	if p.asText || c.Top > 0 {
		if w.tok, err = c.Prompt.tokenizer(a, &p, scorelines.IDs{}); err != nil {
			return err
		}
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := context.Background() // Ctrl-C ends the process
	w.leaves = m.Leaves()
	s := m.NewSession()
	if c.Positions == "all" {
		return a.printAllLogits(ctx, s, p.ids, w)
	}
	if err := a.eval(ctx, s, p.ids); err != nil {
		return err
	}
	b, err := w.append(w.begin(p.ids), s.Logits())
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(append(b, "}\n"...))
	return err
}

// A logitsWriter writes what is printed of the logits after one token.
type logitsWriter struct {
	before string // the name of it
	top    int
	tok    eval.Tokenizer // for top
	leaves kernels.Leaves // the model's, for top
}

// begin is the object up to the logits.
func (w *logitsWriter) begin(ids []int) []byte {
	return append(strictjson.AppendIDs([]byte(`{"tokens":`), ids), w.before...)
}

// append appends all logits [vocab_size], or the likeliest as objects.
func (w *logitsWriter) append(b []byte, logits []float32) ([]byte, error) {
	if w.top == 0 {
		return strictjson.AppendFloats(b, logits), nil
	}
	type likely struct {
		ID      int     `json:"id"`
		Text    string  `json:"text"`
		Logit   float32 `json:"logit"`
		LogProb float64 `json:"logprob"`
	}
	ids := sample.Likeliest(logits, w.top)
	top, sum := make([]likely, len(ids)), w.leaves.LogSumExp(logits)
	for i, id := range ids {
		text, _ := w.tok.Text(id) // a row beyond the vocabulary has no text
		top[i] = likely{id, text, logits[id], float64(logits[id]) - sum}
	}
	line, err := strictjson.Line(top)
	return append(b, bytes.TrimSuffix(line, []byte("\n"))...), err
}

// eval appends ids to s, with progress.
func (a *app) eval(ctx context.Context, s *model.Session, ids []int) error {
	defer a.ShowProgress(func() string { return fmt.Sprintf("reading %d tokens", len(ids)) })()
	return evalOne(ctx, model.Input{Session: s, Tokens: ids})
}

// evalOne is Eval of one input, whose errors need not say which one they are about.
func evalOne(ctx context.Context, in model.Input) error {
	err := in.Session.Model().Eval(ctx, in)
	var refused *model.InputError
	if errors.As(err, &refused) {
		return refused.Err
	}
	return err
}

// printAllLogits evaluates a few tokens at a time, which changes no bit, so that memory does not
// grow with their number.
func (a *app) printAllLogits(
	ctx context.Context, s *model.Session, ids []int, w logitsWriter,
) error {
	const few = 32
	// Each Eval sees only its own tokens, and nothing is to be printed of what another refuses.
	if err := checkTokens(s.Model().Config(), ids); err != nil {
		return err
	}
	var printed atomic.Int64
	if !a.stdout.Terminal {
		defer a.ShowProgress(func() string {
			return fmt.Sprintf("%d of %d tokens", printed.Load(), len(ids))
		})()
	}
	b := append(w.begin(ids), '[')
	rows := make([][]float32, few) // [few, vocab_size]
	for from := 0; from < len(ids); from += few {
		part := ids[from:min(from+few, len(ids))]
		visit := func(r model.Row) { rows[r.Index] = append(rows[r.Index][:0], r.Logits...) }
		err := evalOne(ctx, model.Input{Session: s, Tokens: part, Visit: visit})
		for i := 0; i < len(part) && err == nil; i++ {
			if from+i > 0 {
				b = append(b, ',')
			}
			b, err = w.append(b, rows[i])
		}
		if err == nil {
			_, err = a.stdout.Write(b)
		}
		if err != nil {
			return err
		}
		b = b[:0]
		printed.Add(int64(len(part)))
	}
	_, err := a.stdout.WriteString("]}\n")
	return err
}

// checkTokens says what Eval would say of all ids at once.
func checkTokens(c model.Config, ids []int) error {
	for i, id := range ids {
		if id < 0 || id >= c.VocabSize {
			return fmt.Errorf("token %d: id %d, want 0 to %d", i, id, c.VocabSize-1)
		}
	}
	if len(ids) > c.Positions {
		return &model.ContextError{Added: len(ids), Positions: c.Positions}
	}
	return nil
}
