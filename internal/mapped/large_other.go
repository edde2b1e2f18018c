// Large pages where they cannot be asked for.

//go:build !linux

package mapped

func largePages([]byte) {}
