package process

// Stdout as an io.Writer whose errors say what they mean, and bytes that wait on stdin.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/quote"
)

// ErrClosedPipe says that the reader of the output has closed it.
var ErrClosedPipe = errors.New("stdout is closed")

// An Output is stdout, or what takes its place. Each Write is passed on at once: unchanged, but that a
// terminal gets control characters spelt out, as quote.Shown says.
type Output struct {
	File     *os.File // nil if it is not stdout
	Terminal bool     // it is one
	Seen     bool     // a terminal, or a pipe, whose reader may write to one, as fold does
	Raw      bool     // a terminal gets what others get
	shown    *quote.Shown
	closed   bool // by the caller, before the program began
	other    io.Writer
}

// NewOutput returns the Output of a standard stream.
func NewOutput(f *os.File) *Output {
	o := &Output{File: f, Terminal: terminal.Is(f), closed: wasClosed(f)}
	info, err := f.Stat()
	o.Seen = o.Terminal || err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0
	o.shown = quote.NewShown(writer(o.write))
	return o
}

// OutputTo returns what takes stdout's place, such as a file.
func OutputTo(w io.Writer) *Output { return &Output{other: w} }

// writer is a function as an io.Writer.
type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// Write implements io.Writer. If the reader has closed the output, the error is ErrClosedPipe.
func (o *Output) Write(b []byte) (int, error) {
	if o.Terminal && !o.Raw {
		return o.shown.Write(b)
	}
	return o.write(b)
}

// JSON is where JSON goes, which stays the same value on a terminal.
func (o *Output) JSON() io.Writer {
	if o.Terminal && !o.Raw {
		return quote.NewShownJSON(writer(o.write))
	}
	return o
}

// Painted is where text goes that has colours, and no other control character.
func (o *Output) Painted() io.Writer { return writer(o.write) }

// Flush writes the beginning of a character whose rest did not come.
func (o *Output) Flush() error {
	if o.shown == nil {
		return nil
	}
	return o.shown.Flush()
}

// write writes b as it is.
func (o *Output) write(b []byte) (int, error) {
	if o.other != nil {
		return o.other.Write(b)
	}
	if o.closed {
		return 0, errors.New("writing to stdout: it is closed")
	}
	n, err := o.File.Write(b)
	switch {
	case err == nil:
		return n, nil
	case ClosedPipe(err):
		return n, ErrClosedPipe
	}
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	}
	return n, fmt.Errorf("writing to stdout: %w", err)
}

// WriteString is io.StringWriter's.
func (o *Output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// ClosedPipe reports whether an error of Write says that the reader has closed the output.
func ClosedPipe(err error) bool {
	const brokenPipe, noData = syscall.Errno(109), syscall.Errno(232) // Windows' words for it
	return errors.Is(err, syscall.EPIPE) ||
		runtime.GOOS == "windows" && (errors.Is(err, brokenPipe) || errors.Is(err, noData))
}

// Bytes that wait on stdin. They are never read to find out, and nothing waits for them.

// BytesWait reports whether a pipe, a socket or a regular file has bytes to be read; false where
// the system does not tell.
func BytesWait(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		at, err := f.Seek(0, io.SeekCurrent)
		return err == nil && at < info.Size()
	case mode&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
		return bufferedBytes(f) > 0
	}
	return false
}
