// Mapping files on Unix.

//go:build unix

package folder

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapFile maps a whole file of the given size, which is not 0, read-only. Pages are read on first
// use and belong to the page cache. Asking for them ahead (MADV_POPULATE_READ) took as long as the
// faults that it saved.
func mapFile(f *os.File, size int) (Mapped, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return Mapped{}, err
	}
	return Mapped{Bytes: b, release: func() error { return unix.Munmap(b) }}, nil
}

// forget unmaps the pages that lie wholly in part, which is a part of all. The system reads them
// again if they are touched, because they belong to the file.
func forget(all, part []byte) {
	page := os.Getpagesize() // and the map begins at one
	begin := int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) -
		uintptr(unsafe.Pointer(unsafe.SliceData(all))))
	end := (begin + len(part)) / page * page
	begin = (begin + page - 1) / page * page
	if begin < end {
		// The system may ignore the advice; that is no error.
		_ = unix.Madvise(all[begin:end], unix.MADV_DONTNEED)
	}
}
