package main

// Records, one a line, on stdout or in a file that a later run can continue.

import (
	"errors"
	"os"

	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/process"
	"picogpt/internal/receipt"
	"picogpt/internal/resume"
	"picogpt/internal/rows"
	"picogpt/model"
)

// A recordsTarget is where a command writes its records.
type recordsTarget struct {
	Out    *string
	Resume bool
	Force  bool
}

func (t *recordsTarget) flags(f *cli.Flags) {
	f.Add(&t.Out, "-o, --out FILE", "write to FILE, not to stdout")
	f.Add(&t.Resume, "--resume", "continue the file of --out where an earlier run was stopped")
	f.Add(&t.Force, "--force", "write over the file that is to be written, if it is there")
}

// check refuses what cannot be written, before anything is loaded.
func (t *recordsTarget) check(a *app) error {
	if t.Out != nil && *t.Out == "-" {
		t.Out = nil
	}
	switch {
	case t.Out == nil && t.Resume:
		return usagef("--resume: want --out FILE, the file to continue")
	case t.Resume && t.Force:
		return usagef("--resume and --force: want one of them: " +
			"to continue the file, or to write over it")
	case t.Out == nil:
		return stdoutIsNot(a.writing(false).Inputs)
	}
	o := a.writing(t.Force || t.Resume) // what is continued stays
	return t.hinted(outfile.Check(*t.Out, o))
}

// stdoutIsNot refuses stdout where it is a file that is read.
func stdoutIsNot(inputs *outfile.Inputs) error {
	out, err := os.Stdout.Stat()
	if err != nil || !out.Mode().IsRegular() {
		return nil
	}
	if err := inputs.Refuse(out); err != nil {
		return usagef("stdout: %w", err)
	}
	return nil
}

// open opens the file for the program that is named and its options, or stdout. Nothing is written
// yet. free are options that were chosen and not asked for.
func (t *recordsTarget) open(
	a *app, m *model.Model, program string, options, free []resume.Setting,
) (*records, error) {
	if t.Out == nil {
		return &records{stdout: a.stdout}, nil
	}
	o := resume.Options{
		Options: a.writing(t.Force), Resume: t.Resume, Program: program, Free: free,
	}
	if !outfile.IsStream(*t.Out) {
		checkpoint, err := a.checkpointSettings(m)
		if err != nil {
			return nil, err
		}
		o.Settings = append(checkpoint, options...)
	}
	f, err := resume.Open(*t.Out, o)
	if err != nil {
		return nil, t.hinted(err)
	}
	if f.Unsealed() {
		a.Notef(receipt.NoDigest, *t.Out+".resume")
	}
	if t.Resume {
		a.logf("%s: continuing after line %d", *t.Out, f.Last().Line)
	}
	return &records{file: f}, nil
}

// checkpointSettings are what records depend on in the checkpoint.
func (a *app) checkpointSettings(m *model.Model) ([]resume.Setting, error) {
	defer a.ShowProgress(func() string { return "reading " + a.modelName() })()
	c, err := a.open()
	if err != nil {
		return nil, err
	}
	weights, err := c.Digest()
	if err != nil {
		return nil, err
	}
	tokenizer, err := c.TokenizerDigest()
	settings := []resume.Setting{
		{Name: "model", Value: weights}, {Name: "--dtype", Value: m.Format()},
		{Name: "tokenizer", Value: tokenizer},
	}
	if m.CacheFormat() != "f32" { // journals were written before there was another
		settings = append(settings,
			resume.Setting{Name: "--cache-dtype", Value: m.CacheFormat()})
	}
	return settings, err
}

// hinted adds what can be done about a file that is there.
func (t *recordsTarget) hinted(err error) error {
	var mismatch *resume.MismatchError
	switch {
	case errors.As(err, &mismatch):
		return fault.Hint(err, "--force in place of --resume begins anew")
	case errors.Is(err, resume.ErrForeign):
		return fault.Hint(err, "give --out another name, or move that file away; --force writes over it")
	case errors.Is(err, outfile.ErrExists):
		return fault.Hint(err, "--resume continues it, --force writes over it")
	}
	return outfile.FlagError("--out", err)
}

// records are written one by one, each at once.
type records struct {
	stdout *process.Output
	file   *resume.File // in place of stdout, if not nil
}

// last is the mark that is continued from.
func (r *records) last() resume.Mark {
	if r.file == nil {
		return resume.Mark{}
	}
	return r.file.Last()
}

// write writes one record, a line with its end.
func (r *records) write(record []byte, m resume.Mark) error {
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

// close closes the file. Where all went well it is there, even without a record.
func (r *records) close(err error) error {
	if r.file == nil {
		return err
	}
	if err == nil {
		err = r.file.Start()
	}
	return fault.First(err, r.file.Close())
}

// skip reads the rows that have results, up to a mark.
func skip(in *rows.Reader, from resume.Mark) error {
	err := in.Skip(from.Line, from.Input)
	var changed *rows.ChangedError
	if errors.As(err, &changed) {
		return fault.Hint(err, "--force in place of --resume begins anew")
	}
	return err
}
