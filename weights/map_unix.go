// Mapping files on Unix.

//go:build unix

package weights

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a whole file of the given size, which is not 0, read-only.
// Pages are read on first use and belong to the page cache. Asking for them
// ahead (MADV_POPULATE_READ) took as long as the faults it saved.
func mapFile(f *os.File, size int) (region, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return region{}, err
	}
	return region{bytes: b, release: func() error { return unix.Munmap(b) }}, nil
}
