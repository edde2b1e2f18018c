//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package resume

import (
	"errors"
	"os"
	"syscall"
)

// lock reports whether another process has locked the file; else it is locked now, until it is
// closed. A file system without locks has none.
func lock(f *os.File) (taken bool) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK)
}
