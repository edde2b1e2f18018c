// Package records writes a record for each row of a file, one a line and in order: texts that
// continue prompts, and scores of texts. They go to stdout, or to a file that a later run can
// continue.
package records

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/rows"
)

// A Target is where records go.
type Target struct {
	Out    *string // nil: stdout
	Resume bool    // continue the file
	Force  bool    // write over it
}

// Check refuses what cannot be written under the rules, before anything is loaded. Force in them is
// the target's own.
func (t *Target) Check(rules outfile.Options) error {
	if t.Out != nil && *t.Out == "-" {
		t.Out = nil
	}
	switch {
	case t.Out == nil && t.Resume:
		return fault.Usagef("--resume: want --out FILE, the file to continue")
	case t.Resume && t.Force:
		return fault.Usagef("--resume and --force: want one of them: " +
			"to continue the file, or to write over it")
	case t.Out == nil:
		return stdoutIsNot(rules.Inputs)
	}
	rules.Force = t.Force || t.Resume // what is continued stays
	return hinted(outfile.Check(*t.Out, rules))
}

// stdoutIsNot refuses stdout where it is a file that is read.
func stdoutIsNot(inputs *outfile.Inputs) error {
	out, err := os.Stdout.Stat()
	if err != nil || !out.Mode().IsRegular() {
		return nil
	}
	if err := inputs.Refuse(out); err != nil {
		return fault.Usagef("stdout: %w", err)
	}
	return nil
}

// Open opens the file of the target, or stdout. Nothing is written yet. Force and Resume in o are
// the target's own. settings returns what the records depend on; it is not called for stdout and
// devices. unsealed tells the user that an earlier version wrote the file's journal.
func (t *Target) Open(
	stdout io.Writer, o Options, settings func() ([]Setting, error),
	unsealed func(journal string),
) (r *Records, err error) {
	if t.Out == nil {
		return &Records{stdout: stdout}, nil
	}
	o.Force, o.Resume = t.Force, t.Resume
	if !outfile.IsStream(*t.Out) {
		if o.Settings, err = settings(); err != nil {
			return nil, err
		}
	}
	f, err := Open(*t.Out, o)
	if err != nil {
		return nil, hinted(err)
	}
	if f.Unsealed() {
		unsealed(*t.Out + ".resume")
	}
	return &Records{file: f}, nil
}

// hinted adds what can be done about a file that is there.
func hinted(err error) error {
	var mismatch *MismatchError
	switch {
	case errors.As(err, &mismatch):
		return fault.Hint(err, "--force in place of --resume begins anew")
	case errors.Is(err, ErrForeign):
		return fault.Hint(err,
			"give --out another name, or move that file away; --force writes over it")
	case errors.Is(err, outfile.ErrExists):
		return fault.Hint(err, "--resume continues it, --force writes over it")
	}
	return outfile.FlagError("--out", err)
}

// Records are written one by one, each at once.
type Records struct {
	stdout io.Writer
	file   *File // in place of stdout, if not nil
}

// Last is the mark that is continued from.
func (r *Records) Last() Mark {
	if r.file == nil {
		return Mark{}
	}
	return r.file.Last()
}

// Continue takes up the state that an earlier run has left after its last row.
func (r *Records) Continue(in *Input, state any) error {
	last := r.Last()
	if in.From = last; last.State == nil {
		return nil
	}
	return json.Unmarshal(last.State, state)
}

// Put writes the record of a row, after which a later run continues with the state.
func (r *Records) Put(record []byte, of *rows.Row, state any) error {
	b, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return r.Write(record, Mark{Line: of.Last, Input: of.Digest, State: b})
}

// Write writes one record, a line with its end.
func (r *Records) Write(record []byte, m Mark) error {
	if r.file == nil {
		_, err := r.stdout.Write(record)
		return err
	}
	err := r.file.Write(record, m)
	if process.ClosedPipe(err) { // as of stdout
		return process.ErrClosedPipe
	}
	return err
}

// Close closes the file. Where all went well it is there, even without a record.
func (r *Records) Close(err error) error {
	if r.file == nil {
		return err
	}
	if err == nil {
		err = r.file.Start()
	}
	return fault.First(err, r.file.Close())
}

// Setting returns a setting of the file, "" if it has none.
func (r *Records) Setting(name string) string {
	if r.file == nil {
		return ""
	}
	return r.file.Setting(name)
}
