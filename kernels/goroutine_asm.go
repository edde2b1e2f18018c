//go:build !purego && (amd64 || arm64)

package kernels

// goroutine returns where the runtime keeps the goroutine: no other is there at this time.
func goroutine() uintptr

func (t *Team) goroutine() uintptr { return goroutine() }
