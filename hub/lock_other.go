//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package hub

import (
	"errors"
	"os"
)

// openLock says that there are no locks here.
func openLock(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// tryLock is not called.
func tryLock(*os.File) (taken bool, err error) { return false, errors.ErrUnsupported }
