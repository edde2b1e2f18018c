//go:build purego || !(amd64 || arm64)

package kernels

// Machines without assembly of ours.

func archVariants() []*variant { return nil }

func pause() {}
