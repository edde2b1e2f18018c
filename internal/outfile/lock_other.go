//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package outfile

import (
	"errors"
	"os"
)

func try(*os.File, bool) (taken bool, err error) { return false, errors.ErrUnsupported }
