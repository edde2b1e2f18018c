package main

// gpt logits: what the model makes of some tokens, as JSON.

import (
	"context"
	"fmt"
	"sync/atomic"

	"picogpt/model"
)

type logitsCommand struct {
	Tokens    string `required:"" placeholder:"IDS" help:"token ids, 1,2,3 or [1,2,3]"`
	Positions string `placeholder:"WHICH" default:"last" enum:"last,all" help:"last: one array, after the last token; all: an array for each token"`
}

func (c *logitsCommand) Help() string {
	return `Prints one object, {"tokens":[…],"logits":[…]}. Each number is the shortest decimal that gives the same float32
back, so the output is the model's arithmetic to the last bit.

  gpt logits --tokens 7454,2402,257,640
  gpt logits --tokens "$(gpt tokenize 'Once upon a time')" --positions all`
}

func (c *logitsCommand) Run(a *app) error {
	ids, err := parseIDs(c.Tokens)
	if err != nil {
		return usagef("--tokens: %w", err)
	}
	if len(ids) == 0 {
		return usagef("--tokens: want at least one id, found none")
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := context.Background() // Ctrl-C ends the process
	if c.Positions == "all" {
		return a.printAllLogits(ctx, m.NewSession(), ids)
	}
	s := m.NewSession()
	if err := a.eval(ctx, s, ids); err != nil {
		return err
	}
	b := append(appendIDs([]byte(`{"tokens":`), ids), `,"logits":`...)
	_, err = a.stdout.Write(append(appendFloats(b, s.Logits()), "}\n"...))
	return err
}

// eval appends ids to s, with progress.
func (a *app) eval(ctx context.Context, s *model.Session, ids []int) error {
	defer a.showProgress(func() string { return fmt.Sprintf("reading %d tokens", len(ids)) })()
	return s.Model().Eval(ctx, model.Input{Session: s, Tokens: ids})
}

// printAllLogits evaluates a few tokens at a time, which changes no bit, so that memory does not grow with their number.
func (a *app) printAllLogits(ctx context.Context, s *model.Session, ids []int) error {
	const few = 32
	m := s.Model()
	if err := checkTokens(m.Config(), ids); err != nil { // before anything is printed: each Eval sees only its own
		return err
	}
	var printed atomic.Int64
	if !a.stdout.terminal {
		defer a.showProgress(func() string { return fmt.Sprintf("%d of %d tokens", printed.Load(), len(ids)) })()
	}
	b := append(appendIDs([]byte(`{"tokens":`), ids), `,"logits":[`...)
	rows := make([][]float32, few) // [few, vocab_size]
	for from := 0; from < len(ids); from += few {
		part := ids[from:min(from+few, len(ids))]
		visit := func(r model.Row) { rows[r.Index] = append(rows[r.Index][:0], r.Logits...) }
		if err := m.Eval(ctx, model.Input{Session: s, Tokens: part, Visit: visit}); err != nil {
			return err
		}
		for i := range part {
			if from+i > 0 {
				b = append(b, ',')
			}
			b = appendFloats(b, rows[i])
		}
		if _, err := a.stdout.Write(b); err != nil {
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
