// Output: a file for results that come one by one.

package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"picogpt/internal/folder"
)

// An Output is a file that is opened when the first result exists: until then
// nothing on the disk changes. It is for one goroutine.
type Output struct {
	path    string
	options Options
	file    *os.File // nil until it is opened
}

// NewOutput checks that path may be written, and opens nothing.
func NewOutput(path string, o Options) (*Output, error) {
	if err := Check(path, o); err != nil {
		return nil, err
	}
	return &Output{path: path, options: o}, nil
}

// Open opens the file, empty, if it is not open yet. Write calls it; it is also
// for the end of work that had no result, where an empty file is wanted.
func (w *Output) Open() error {
	if w.file != nil {
		return nil
	}
	t, err := w.options.find(w.path)
	if err != nil {
		return err
	}
	if t.open {
		w.file, err = t.openExisting()
	} else {
		w.file, err = w.options.openEmpty(t)
	}
	return w.named(err)
}

// openEmpty makes a new file, or cuts the one that is there. What was opened is
// looked at once more before it is cut: the path may name another file by now.
func (o Options) openEmpty(t target) (*os.File, error) {
	flag := os.O_WRONLY | os.O_CREATE
	if !o.Force {
		flag |= os.O_EXCL
	}
	f, err := os.OpenFile(t.path, flag, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrExists
	} else if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case o.isInput(info):
		err = ErrInput
	case info.Mode().IsRegular():
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Write passes b on at once. It opens the file if that is not done yet.
func (w *Output) Write(b []byte) (int, error) {
	if err := w.Open(); err != nil {
		return 0, err
	}
	n, err := w.file.Write(b)
	return n, w.named(err)
}

// Close closes the file, if it was opened. A second Close does nothing.
func (w *Output) Close() error {
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	return w.named(f.Close())
}

// named puts the path before an error of the system.
func (w *Output) named(err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", w.path, folder.Cause(err))
	}
	return nil
}
