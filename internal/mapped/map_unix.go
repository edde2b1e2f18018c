// Mapping files on Unix.

//go:build unix

package mapped

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a whole file of the given size, which is not 0, read-only.
// Pages are read on first use and belong to the page cache. Asking for them
// ahead (MADV_POPULATE_READ) took as long as the faults it saved.
func mapFile(f *os.File, size int) (File, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return File{}, err
	}
	return File{Bytes: b, release: func() error { return unix.Munmap(b) }}, nil
}
