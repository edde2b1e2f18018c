//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package filelock

import (
	"errors"
	"os"
	"syscall"
)

func try(f *os.File) (taken bool, err error) {
	return tryWith(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) })
}

// tryWith is try with the call that locks. A signal may interrupt it, which says nothing.
func tryWith(lock func() error) (taken bool, err error) {
	for err = lock(); errors.Is(err, syscall.EINTR); {
		err = lock()
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
