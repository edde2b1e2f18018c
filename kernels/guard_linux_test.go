package kernels

import (
	"syscall"
	"testing"
)

// roomMemory returns size bytes that end at a page which may not be touched: a read past the end
// stops the program.
func roomMemory(t testing.TB, size int) []byte {
	page := syscall.Getpagesize()
	size = (size + page - 1) / page * page
	b, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mprotect(b[size:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(b) })
	return b[:size:size]
}
