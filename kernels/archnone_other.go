//go:build (purego || !(amd64 || arm64)) && !(js && simd128)

package kernels

func archVariants() []*variant { return nil }
