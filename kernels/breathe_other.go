//go:build !js

package kernels

// breathe does nothing: goroutines run beside each other.
func breathe() {}
