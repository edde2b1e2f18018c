// Large pages, and memory outside of Go's heap, on Linux.

package folder

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePages implements LargePages for the whole pages of b.
func largePages(b []byte) {
	page := uintptr(os.Getpagesize())
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	skip := int(-begin & (page - 1))
	if whole := (len(b) - skip) &^ int(page-1); skip < len(b) && whole > 0 {
		_ = unix.Madvise(b[skip:skip+whole], unix.MADV_HUGEPAGE) // only a request
	}
}

// outside returns n bytes of 0 outside of Go's heap, or nil.
func outside(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	return b
}
