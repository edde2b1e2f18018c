// Bringing mapped pages in ahead of use, on Linux.

package weights

import "golang.org/x/sys/unix"

// populate maps the pages of b, which starts on a page. Kernels before 5.14
// only start the reading.
func populate(b []byte) {
	if unix.Madvise(b, unix.MADV_POPULATE_READ) != nil {
		unix.Madvise(b, unix.MADV_WILLNEED)
	}
}
