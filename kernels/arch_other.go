//go:build purego || !(amd64 || arm64)

package kernels

// Machines without assembly of ours.

import (
	"bytes"
	"runtime"
)

func archVariants() []*variant { return nil }

func pause() {}

// goroutine returns a number that no other goroutine has at this time: the one that the runtime prints.
func goroutine() uintptr {
	var buf [40]byte
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
