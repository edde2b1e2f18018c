package process

// Stdout as an io.Writer whose errors say what they mean.

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"picogpt/internal/terminal"
)

// ErrClosedPipe says that the reader of the output has closed it.
var ErrClosedPipe = errors.New("stdout is closed")

// An Output is stdout. Each Write is passed on at once.
type Output struct {
	File     *os.File
	Terminal bool // it is one
	closed   bool // by the caller, before the program began
}

// NewOutput returns the Output of a standard stream.
func NewOutput(f *os.File) *Output { return &Output{f, terminal.Is(f), wasClosed(f)} }

// Write implements io.Writer. If the reader has closed the output, the error is ErrClosedPipe.
func (o *Output) Write(b []byte) (int, error) {
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
	var path *os.PathError
	if errors.As(err, &path) {
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
