//go:build purego || !(amd64 || arm64)

package kernels

// Machines without assembly in this package.

import (
	"bytes"
	"runtime"
)

func pause() {}

// goroutine returns a number that no other goroutine has at this time: the one that the runtime
// prints. The runtime's text goes to memory of the team, so that it is not allocated each time.
func (t *Team) goroutine() uintptr {
	buf, ok := t.heads.Get().(*[40]byte)
	if !ok {
		buf = new([40]byte)
	}
	defer t.heads.Put(buf)
	n := runtime.Stack(buf[:], false)
	id := uintptr(0)
	for _, c := range bytes.TrimPrefix(buf[:n], []byte("goroutine ")) {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + uintptr(c-'0')
	}
	return id
}
