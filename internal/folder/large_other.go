// Systems where no program can ask for large pages, or where it was not measured.

//go:build !linux

package folder

func largePages([]byte) {}

func outside(int) []byte { return nil }
