// Large pages on systems where a program cannot ask for them.

//go:build !linux

package mapped

func largePages([]byte) {}
