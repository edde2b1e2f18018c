package main

// Bytes that wait on stdin while the text comes from elsewhere: the user is told that they are not
// read. They are never read to find out, and nothing waits for them.

import (
	"io"
	"io/fs"
	"os"
)

// leaveStdin says that the command takes its text from elsewhere. If bytes wait on stdin, a line on
// stderr says that they are not read: now, or at the end of the command if they come later.
func (a *app) leaveStdin() {
	if a.stdinTaken {
		return
	}
	a.stdinLeft = true
	a.noteStdinLeft()
}

// noteStdinLeft writes that line, once.
func (a *app) noteStdinLeft() {
	if a.stdinLeft && bytesWait(a.stdin) {
		a.stdinLeft = false
		a.notef("stdin is not read, because the text was given in the arguments; -f - reads stdin")
	}
}

// bytesWait reports whether a pipe, a socket or a regular file has bytes to be read; false where
// the system does not tell.
func bytesWait(f *os.File) bool {
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
