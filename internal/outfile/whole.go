// WriteFile: a file that is complete or does not exist.

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
	if err != nil {
		return fmt.Errorf("%s: %w", path, folder.Cause(err))
	}
	return nil
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
