//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package filelock

import (
	"errors"
	"os"
)

func try(*os.File, bool) (taken bool, err error) { return false, errors.ErrUnsupported }
