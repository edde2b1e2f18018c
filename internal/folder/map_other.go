// Reading files on systems without mmap.

//go:build !unix && !windows

package folder

import (
	"io"
	"os"
)

// mapFile reads a whole file. Its header was checked against its size.
func mapFile(f *os.File, size int) (Mapped, error) {
	b := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), b)
	return Mapped{Bytes: b}, err
}

// forget does nothing: the bytes were read, not mapped.
func forget(_, _ []byte) {}
