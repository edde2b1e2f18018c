package talk

// The file that keeps a session from one run of a command to the next: read with doubts, and replaced
// whole or not at all.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"picogpt/internal/fault"
	"picogpt/internal/folder"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/model"
)

// A SessionFile is the file of a session, which may not exist yet.
type SessionFile struct {
	Path     string
	ReadOnly bool
	Force    bool            // a file that holds no session is replaced
	Writing  outfile.Options // the inputs that are not written over, and the temporary files

	tokens []int // that the file holds, all of which were restored
	note   []byte
	saved  bool // tokens and note are in the file
}

// Check returns an error if there can be no session at the path. Call it before anything is loaded.
func (f *SessionFile) Check() error {
	file, _, err := f.open()
	if file != nil {
		file.Close()
	}
	return err
}

// open opens the file, and returns its size. It returns nil if there is none, or if it is going to
// be replaced whatever it holds.
func (f *SessionFile) open() (file *os.File, size int64, err error) {
	if file, size, err = f.find(); err == nil && !f.ReadOnly {
		o := f.Writing
		o.Force = true
		if file != nil { // it holds what is continued, whatever its name
			o.Kind = outfile.Any
		}
		err = outfile.Check(f.Path, o)
	} else if err != nil && f.Path != "" {
		err = fmt.Errorf("%s: %w", f.Path, folder.Cause(err))
	}
	if err == nil && file != nil {
		_, damage := model.ReadSnapshot(file, size)
		switch other := errors.Is(damage, model.ErrNoSnapshot); {
		case other && (f.Force || size == 0) && !f.ReadOnly:
			file.Close()
			return nil, 0, nil
		case other:
			err = fault.Hint(fmt.Errorf("%s: %w", f.Path, damage), "--force replaces it")
		}
	}
	if err != nil && file != nil {
		file.Close()
		file = nil
	}
	return file, size, err
}

// find opens the file, which must be the user's own and no link. It returns nil for one that is not
// there yet.
func (f *SessionFile) find() (*os.File, int64, error) {
	switch f.Path {
	case "":
		return nil, 0, outfile.ErrNoName
	case "-":
		return nil, 0, fault.Usagef("want a file, because it is read and then replaced")
	}
	named, err := os.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !f.ReadOnly:
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case named.Mode()&fs.ModeSymlink != 0:
		return nil, 0, errors.New("want the file of a session itself, found a link")
	case !named.Mode().IsRegular():
		return nil, 0, errors.New("want a file, found a directory, a device or a pipe")
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !os.SameFile(named, info):
		err = errors.New("replaced while it was opened")
	case !owned(info):
		err = errors.New("belongs to another user, who may have put other numbers there")
	default:
		return file, info.Size(), nil
	}
	file.Close()
	return nil, 0, err
}

// Restore returns the session that the file holds and what the file says, or an empty session and
// nil where there is no file or it cannot be read. problem says why the session is not all that the
// file has: see Anew.
func (f *SessionFile) Restore(
	ctx context.Context, m *model.Model,
) (s *model.Session, says *model.Snapshot, problem string, err error) {
	file, size, err := f.open()
	if err != nil || file == nil {
		return m.NewSession(), nil, "", err
	}
	defer file.Close()
	s, err = m.Restore(ctx, file, size)
	var part *model.RestoreError
	switch {
	case errors.As(err, &part):
		problem = fmt.Sprintf("%s: %v", f.Path, err)
	case errors.Is(err, model.ErrCacheFull): // the prompt may have room, which shares less
		s, problem = m.NewSession(), fmt.Sprintf("%s: %v", f.Path, err)
	case err != nil:
		return nil, nil, "", fmt.Errorf("%s: %w", f.Path, folder.Cause(err))
	}
	if says, _ = model.ReadSnapshot(file, size); says != nil {
		f.saved, f.tokens, f.note = problem == "", slices.Clone(s.Tokens()), says.Note
	}
	return s, says, problem, nil
}

// Anew is the line for the user if Restore had a problem.
func Anew(problem string, s *model.Session) string {
	if n := s.Len(); n > 0 {
		return problem + ": computed anew after " + quote.Count(n, "token")
	}
	return problem + ": computed anew"
}

// Save replaces the file, unless it holds the same already or is only read.
func (f *SessionFile) Save(ctx context.Context, s *model.Session, note []byte) error {
	if f.ReadOnly || f.saved && slices.Equal(f.tokens, s.Tokens()) && bytes.Equal(f.note, note) {
		return nil
	}
	if err := f.Check(); err != nil { // it may be another file by now
		return err
	}
	o := f.Writing
	o.Kind, o.Force, o.Private = outfile.Any, true, true // its name was checked
	return outfile.WriteFile(ctx, f.Path, o, func(w io.Writer) error {
		return s.SaveWith(ctx, w, note)
	})
}
