//go:build (purego || !(amd64 || arm64)) && !(js && simd128)

package kernels

func archVariants() []*variant { return nil }

// breathe does nothing: only in a browser do events wait for it.
func breathe() {}
