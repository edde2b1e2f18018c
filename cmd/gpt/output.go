package main

// Writing results: stdout as an io.Writer whose errors say what they mean, and numbers as JSON.

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// An output is stdout. Each Write is passed on at once.
type output struct {
	file     *os.File
	terminal bool
	closed   bool // by the caller, before the program began
}

func newOutput(f *os.File) *output { return &output{f, isTerminal(f), wasClosed(f)} }

func (o *output) Write(b []byte) (int, error) {
	if o.closed {
		return 0, errors.New("writing to stdout: it is closed")
	}
	n, err := o.file.Write(b)
	switch {
	case err == nil:
		return n, nil
	case closedPipe(err):
		return n, errClosedPipe
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return n, fmt.Errorf("writing to stdout: %w", err)
}

func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

func closedPipe(err error) bool {
	const brokenPipe, noData = syscall.Errno(109), syscall.Errno(232) // Windows' words for it
	return errors.Is(err, syscall.EPIPE) ||
		runtime.GOOS == "windows" && (errors.Is(err, brokenPipe) || errors.Is(err, noData))
}

// appendFloats appends a JSON array of numbers, each the shortest decimal that gives the same
// float32 back.
func appendFloats(b []byte, x []float32) []byte {
	b = append(b, '[')
	for i, v := range x {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(v), 'g', -1, 32)
	}
	return append(b, ']')
}

// appendIDs appends a JSON array of ids.
func appendIDs(b []byte, ids []int) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}
