package records

// Rows whose answers are records.

import (
	"errors"
	"io"
	"sync/atomic"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/fault"
	"picogpt/internal/rows"
)

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
	var changed *rows.ChangedError
	if errors.As(err, &changed) {
		return fault.Hint(err, "--force in place of --resume begins anew")
	}
	return err
}
