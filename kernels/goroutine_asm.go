//go:build !purego && (amd64 || arm64)

package kernels

// goroutine returns a number that no other goroutine has at this time: where the runtime keeps it.
func goroutine() uintptr
