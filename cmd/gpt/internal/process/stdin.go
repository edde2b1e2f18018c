package process

// Bytes that wait on stdin. They are never read to find out, and nothing waits for them.

import (
	"io"
	"io/fs"
	"os"
)

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
