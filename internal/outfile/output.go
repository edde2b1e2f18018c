// Files: an Output is for results that are written one by one, WriteFile for a file that is
// complete or does not exist.

package outfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"

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
func (w *Output) named(err error) error { return named(w.path, err) }

// named is an error about a path, without the system's own words about it; nil for nil.
func named(path string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", path, folder.Cause(err))
	}
	return nil
}

// Bytes writes a file that holds b.
func Bytes(b []byte) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// WriteFile writes what write writes to the file at path. The bytes go to a temporary file in the
// same folder, which is renamed when it is completely on the disk: a reader sees the old file or
// the new one. After an error, also of a full disk or a cancelled context, the old file is
// unchanged and no new file remains. A new file has the usual permissions; one that replaces
// another has that file's. With Options.Private only the owner has any.
//
// A device or a pipe is written to directly. The writer of any other file is an io.WriterAt too.
func WriteFile(ctx context.Context, path string, o Options, write func(w io.Writer) error) error {
	t, err := o.find(path)
	if err != nil {
		return err
	}
	if o.Temps == nil {
		o.Temps = &Temps{}
	}
	if t.open {
		err = o.writeOpen(ctx, t, write)
	} else {
		err = o.replace(ctx, t, write)
	}
	return named(path, err)
}

// writeOpen writes to a target that is never replaced or truncated.
func (o Options) writeOpen(ctx context.Context, t target, write func(w io.Writer) error) error {
	f, err := t.openExisting()
	if err != nil {
		return err
	}
	to, flush := o.writer(f)
	return errors.Join(write(Cancellable(ctx, to)), flush(), f.Close())
}

// replace writes a temporary file beside the target and renames it.
func (o Options) replace(ctx context.Context, t target, write func(w io.Writer) error) error {
	temp, err := o.writeTemp(ctx, folderOf(t.path), t.info, write)
	if err != nil {
		return err
	}
	defer o.Temps.Remove(temp)
	if err := ctx.Err(); err != nil {
		return err
	}
	return o.Temps.hold(func() error {
		if err := o.move(temp, t.path); err != nil {
			return err
		}
		syncFolder(folderOf(t.path))
		return nil
	})
}

// move renames a file: with Force it may replace a file, otherwise it must not.
func (o Options) move(from, to string) error {
	if o.Force {
		return os.Rename(from, to)
	}
	err := os.Link(from, to) // unlike a rename it never replaces a file
	switch {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	}
	if _, err := os.Lstat(to); err == nil { // a system without hard links
		return ErrExists
	}
	return os.Rename(from, to)
}

// writeTemp writes a temporary file in dir, syncs it and returns its path. like is the file that it
// will replace, or nil.
func (o Options) writeTemp(
	ctx context.Context, dir string, like fs.FileInfo, write func(w io.Writer) error,
) (string, error) {
	var f *os.File
	mode := fs.FileMode(0o666)
	if o.Private {
		mode, like = 0o600, nil
	}
	path, err := o.Temps.create(dir, beside, func(path string) (err error) {
		f.Close() // a file that another process swept; does nothing for nil
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	if err != nil {
		return "", err
	}
	if err = fill(ctx, f, like, write); err != nil {
		o.Temps.Remove(path)
	}
	return path, err
}

// fill writes f, syncs it and closes it.
func fill(ctx context.Context, f *os.File, like fs.FileInfo, write func(w io.Writer) error) error {
	defer f.Close() // a second Close if all went well
	if like != nil {
		if err := f.Chmod(like.Mode().Perm()); err != nil && runtime.GOOS != "windows" {
			return err
		}
	}
	if err := write(Cancellable(ctx, f)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // a system without fsync
		return err
	}
	return f.Close()
}

// syncFolder syncs the names in a folder to the disk, if the system can.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		f.Sync()
		f.Close()
	}
}

// WriteAt is for a header that is known at the end; w is a file.
func (c cancelWriter) WriteAt(b []byte, at int64) (int, error) {
	return c.w.(io.WriterAt).WriteAt(b, at)
}

// Cancellable returns a writer that writes to w, some bytes at a time, until ctx is cancelled.
func Cancellable(ctx context.Context, w io.Writer) io.Writer { return cancelWriter{ctx, w} }

type cancelWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c cancelWriter) Write(b []byte) (n int, err error) {
	const atOnce = 1 << 20
	for {
		if err := c.ctx.Err(); err != nil {
			return n, err
		}
		m, err := c.w.Write(b[:min(len(b), atOnce)])
		n, b = n+m, b[m:]
		if err != nil || len(b) == 0 {
			return n, err
		}
	}
}
