// Mapping files on Windows.

package folder

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapFile maps a whole file of the given size, which is not 0, read-only.
func mapFile(f *os.File, size int) (Mapped, error) {
	m, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY, 0, 0,
		nil)
	if err != nil {
		return Mapped{}, err
	}
	defer windows.CloseHandle(m) // the view keeps the mapping alive
	addr, err := windows.MapViewOfFile(m, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		return Mapped{}, err
	}
	// The address is outside Go's heap, so the garbage collector need not know it. It is converted
	// through a pointer because vet cannot know that.
	b := unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size)
	return Mapped{Bytes: b, release: func() error { return windows.UnmapViewOfFile(addr) }}, nil
}

// forget does nothing: the system takes pages back by itself.
func forget(_, _ []byte) {}
