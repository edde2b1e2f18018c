package records

// Texts: rows that are answered together, and in their order.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"picogpt/cmd/gpt/internal/process"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/eval"
	"picogpt/internal/lines"
	"picogpt/internal/quote"
)

// Texts are the rows of a file that are requests. The fields are set before they are answered.
type Texts struct {
	Console *terminal.Console
	Signals *process.Signals
	Logf    func(format string, args ...any)
	Bar     bool // show how far the run is

	Input    *Input
	Requests lines.RequestReader

	bar *terminal.Bar
}

// requests are the rows; they are read ahead.
func (t *Texts) requests(yield func(eval.Request) bool) {
	for w := range t.Input.Rows {
		if r, ok := t.Requests.Request(w); ok && !yield(r) {
			return
		}
	}
}

// Answer answers the texts. take gets each answer, and returns how many tokens it is of; fail gets
// the row of a text that has none, and why, after the user was told.
func Answer[A any](
	t *Texts, answers func(context.Context, iter.Seq[eval.Request]) iter.Seq2[A, error],
	take func(*A) (tokens int, err error), fail func(*lines.Row, error) error,
) error {
	t.bar = terminal.NewBar("lines")
	ctx, release := t.Signals.Graceful()
	defer release()
	if t.Bar {
		t.Console.ShowBar(t.bar)
	}
	defer t.Console.EndProgress()
	start, done, tokens := time.Now(), 0, 0
	for a, err := range answers(ctx, t.requests) {
		var bad *eval.RequestError
		switch {
		case errors.As(err, &bad):
			row := bad.Tag.(*lines.Row)
			t.Console.NoteDuring(t.bar, "%s: line %d: %s", t.Input.Name, row.First,
				quote.OneLine(bad.Err))
			err = fail(row, bad.Err)
		case err == nil:
			var n int
			n, err = take(&a)
			tokens += n
		}
		if err != nil {
			return err
		}
		done++
		t.Input.show(t.bar, done)
	}
	took := time.Since(start)
	t.Logf("%d tokens in %s, %.0f tokens/s", tokens, quote.Duration(took),
		quote.Rate(tokens, took))
	return t.Input.Err
}

// Lines writes answers as objects on lines, to stdout or a file that a later run can continue.
type Lines struct {
	Output lines.Output
	Out    *Records
	Total  struct { // of an earlier run too
		Lines  int `json:"lines"`
		Errors int `json:"errors"`
	}
}

// Begin takes up what an earlier run has done. Call it before the texts are answered.
func (l *Lines) Begin(t *Texts) error {
	last := l.Out.Last()
	if t.Input.From = last; last.State == nil {
		return nil
	}
	return json.Unmarshal(last.State, &l.Total)
}

// Write writes the record of a row.
func (l *Lines) Write(row *lines.Row, record any) error {
	l.Total.Lines++
	b, err := l.Output.Line(row, record)
	if err != nil {
		return err
	}
	state, err := json.Marshal(l.Total)
	if err != nil {
		return err
	}
	return l.Out.Write(b, Mark{Line: row.Last, Input: row.Digest, State: state})
}

// Failed returns an error if some rows have no answer: they could not be what done says.
func (l *Lines) Failed(done string) error {
	if l.Total.Errors == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d lines could not be %s", l.Total.Errors, l.Total.Lines, done)
}

// Fail writes the record of a row that has no answer.
func (l *Lines) Fail(row *lines.Row, err error) error {
	l.Total.Errors++
	return l.Write(row, l.Output.Error(row, err))
}
