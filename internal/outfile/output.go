// Output: a file for results that are written one by one.

package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"picogpt/internal/folder"
)

// An Output is a file that is opened when the first result exists: until then nothing on the disk
// changes. One goroutine may use it.
type Output struct {
	path    string
	options Options
	again   bool      // the file exists and is continued
	keep    int64     // number of its bytes that stay
	file    *os.File  // nil until it is opened
	to      io.Writer // writes to file
	flush   func() error
}

// NewOutput checks that path may be written, and opens nothing.
func NewOutput(path string, o Options) (*Output, error) {
	if err := Check(path, o); err != nil {
		return nil, err
	}
	return &Output{path: path, options: o}, nil
}

// ContinueOutput is NewOutput for a regular file whose first keep bytes stay; writing continues
// after them. It needs no Options.Force.
func ContinueOutput(path string, keep int64, o Options) (*Output, error) {
	w := &Output{path: path, options: o, again: true, keep: keep}
	w.options.Force = true
	return w, Check(path, w.options)
}

// Open opens the file, empty, if it is not open yet. Write calls it. It is also for work that ends
// without a result, if an empty file is wanted.
func (w *Output) Open() error {
	if w.file != nil {
		return nil
	}
	t, err := w.options.find(w.path)
	if err != nil {
		return err
	}
	switch {
	case t.open:
		w.file, err = t.openExisting()
	case w.again:
		w.file, err = os.OpenFile(t.path, os.O_WRONLY, 0)
	default:
		w.file, err = w.options.create(t)
	}
	if err == nil && !t.open {
		err = w.cut()
	}
	if err == nil {
		w.to, w.flush = w.options.writer(w.file)
	}
	return w.named(err)
}

// create creates a file, or opens the one that exists.
func (o Options) create(t target) (*os.File, error) {
	flag := os.O_WRONLY | os.O_CREATE
	if !o.Force {
		flag |= os.O_EXCL
	}
	f, err := os.OpenFile(t.path, flag, 0o666)
	if errors.Is(err, fs.ErrExist) {
		err = ErrExists
	}
	return f, err
}

// cut truncates the file that was just opened after the bytes that stay. It first checks the file
// again: the path may name another file by now.
func (w *Output) cut() error {
	info, err := w.file.Stat()
	if err == nil {
		err = w.options.Inputs.Refuse(info)
	}
	switch {
	case err != nil:
	case info.Size() < w.keep:
		err = fmt.Errorf("%d bytes, want the %d that were there", info.Size(), w.keep)
	case info.Mode().IsRegular():
		err = w.truncate(w.keep)
	}
	if err != nil {
		w.file.Close()
		w.file = nil
	}
	return err
}

func (w *Output) truncate(size int64) error {
	if err := w.file.Truncate(size); err != nil {
		return err
	}
	_, err := w.file.Seek(size, io.SeekStart)
	return err
}

// Truncate truncates the file, which is open, to its first size bytes.
func (w *Output) Truncate(size int64) error { return w.named(w.truncate(size)) }

// Write writes b at once. It opens the file if it is not open yet.
func (w *Output) Write(b []byte) (int, error) {
	if err := w.Open(); err != nil {
		return 0, err
	}
	n, err := w.to.Write(b)
	return n, w.named(err)
}

// Close closes the file, if it was opened. A second Close does nothing.
func (w *Output) Close() error {
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	return w.named(errors.Join(w.flush(), f.Close()))
}

// named adds the path to an error of the system.
func (w *Output) named(err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", w.path, folder.Cause(err))
	}
	return nil
}
