package records

// Texts: rows that are answered together, and written in their order.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"sync/atomic"
	"time"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/eval"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/quote"
	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
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

// Answers are those to requests, in their order.
type Answers[A any] = func(context.Context, iter.Seq[eval.Request]) iter.Seq2[A, error]

// Answer answers the texts. take gets each answer, and returns how many tokens it is of; fail gets
// the row of a text that has none, and why, after the user was told.
func Answer[A any](
	t *Texts, answers Answers[A],
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
	t.Logf("%d tokens in %s, %.0f tokens/s", tokens, quote.Duration(took), quote.Rate(tokens, took))
	return t.Input.Err
}

// Lines writes answers as objects on lines, to stdout or a file that a later run can continue.
type Lines struct {
	Output lines.Output
	Out    *Records
	Silent bool               // write none: the total is what is wanted
	Total  interface{ Err() } // of an earlier run too; Err counts a row that has no answer
}

// Write answers the texts, and writes a record for each. record returns that of an answer, with the
// row and the number of tokens that the answer is of.
func Write[A any](
	t *Texts, l *Lines, answers Answers[A],
	record func(*A) (row *lines.Row, record any, tokens int, err error),
) error {
	if err := l.Out.Continue(t.Input, l.Total); err != nil {
		return err
	}
	return Answer(t, answers, func(a *A) (int, error) {
		row, record, tokens, err := record(a)
		if err != nil {
			return 0, err
		}
		return tokens, l.write(row, record)
	}, func(row *lines.Row, err error) error {
		l.Total.Err()
		return l.write(row, l.Output.Error(row, err))
	})
}

// write writes the record of a row.
func (l *Lines) write(row *lines.Row, record any) error {
	if l.Silent {
		return nil
	}
	b, err := l.Output.Line(row, record)
	if err != nil {
		return err
	}
	return l.Out.Put(b, &row.Row, l.Total)
}

// Counts count rows: it is the least that a later run needs.
type Counts struct {
	Lines  int `json:"lines"`
	Errors int `json:"errors"`
}

// Err counts a row that has no answer.
func (c *Counts) Err() {
	c.Lines++
	c.Errors++
}

// Failed returns an error if some rows have no answer: they could not be what done says.
func (c Counts) Failed(done string) error {
	if c.Errors == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d lines could not be %s", c.Errors, c.Lines, done)
}

// Summary returns the sums of all scores as an object. The perplexity has so many digits, or all
// where digits is below 0. partial says that rows are missing.
func Summary(total eval.Summary, digits int, partial bool) ([]byte, error) {
	b, err := strictjson.Line(total)
	if p := total.Perplexity(); err == nil && digits >= 0 && p-p == 0 { // a number
		var o rows.Object
		if o, err = rows.ParseObject(b); err != nil {
			return nil, err
		}
		for i := range o {
			if o[i].Key == "perplexity" {
				o[i].Value = json.RawMessage(strconv.FormatFloat(p, 'g', digits, 64))
			}
		}
		b, err = o.Line()
	}
	if err == nil && partial {
		b = append(bytes.TrimSuffix(b, []byte("}\n")), ",\"partial\":true}\n"...)
	}
	return b, err
}

// Rows whose answers are records.

// An Input is rows, of which the first may have their records already.
type Input struct {
	*rows.Reader
	From  Mark         // rows up to here have them
	Err   error        // of reading, after the last row
	known atomic.Int64 // bytes of the file up to there
}

// Rows yields the rows that follow From.
func (in *Input) Rows(yield func(rows.Row) bool) {
	if in.Err = skip(in.Reader, in.From); in.Err != nil {
		return
	}
	in.known.Store(in.Read.Load())
	for {
		row, err := in.Next()
		if err == io.EOF {
			return
		} else if err != nil {
			in.Err = err
			return
		}
		if !yield(row) {
			return
		}
	}
}

// show shows on a bar how many rows have their records now.
func (in *Input) show(b *terminal.Bar, done int) {
	b.Set(done, 0, "")
	if known := in.known.Load(); in.Size > 0 {
		b.SetInput(in.Read.Load()-known, in.Size-known)
	}
}

// skip reads the rows that have results, up to a mark.
func skip(in *rows.Reader, from Mark) error {
	err := in.Skip(from.Line, from.Input)
	if _, ok := errors.AsType[*rows.ChangedError](err); ok {
		return fault.Hint(err, "--force in place of --resume begins anew")
	}
	return err
}
