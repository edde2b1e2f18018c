//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package terminal

import "os"

func openTerminal(in, out *os.File) (terminal, error) { return nil, ErrUnsupported }

func (e *Editor) watch() {}
