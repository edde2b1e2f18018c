//go:build !purego && (amd64 || arm64)

package kernels

// goroutine returns the address of the runtime's structure for the goroutine: no other goroutine
// has it at this time.
func goroutine() uintptr

func (t *Team) goroutine() uintptr { return goroutine() }

// breathe does nothing: only in a browser do events wait for it.
func breathe() {}
