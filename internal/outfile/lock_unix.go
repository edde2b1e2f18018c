//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package outfile

import (
	"errors"
	"os"
	"syscall"
)

func try(f *os.File, alone bool) (taken bool, err error) {
	how := syscall.LOCK_SH | syscall.LOCK_NB
	if alone {
		how = syscall.LOCK_EX | syscall.LOCK_NB
	}
	return tryWith(func() error { return syscall.Flock(int(f.Fd()), how) })
}

// tryWith is try with the function that locks. It calls the function again if a signal interrupts
// it.
func tryWith(lock func() error) (taken bool, err error) {
	for err = lock(); errors.Is(err, syscall.EINTR); {
		err = lock()
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
