// Large pages on Linux.

package mapped

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
