// The files of a checkpoint as bytes. They are mapped if the system can, else read; files in memory
// are used in place, and of files on another machine parts are read.

package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A Mapped is the bytes of an open file. They are read-only, and valid until Close. Nobody may
// truncate the file while it is open: touching a page that no longer exists ends the process
// (SIGBUS).
type Mapped struct {
	Bytes   []byte       // nil for a file on another machine
	far     io.ReaderAt  // such a file
	size    int64        // of it
	release func() error // nil if there is nothing to unmap
}

// ErrFar is the error of Map for files on another machine.
var ErrFar = errors.New("on another machine, and a file of this kind is not read in parts")

// mostHeader bounds each part of a file on another machine that is read, in bytes.
const mostHeader = 64 << 20

// Map opens a regular file of fsys. If it cannot be mapped, memory for it is allocated only after
// check has returned; check may be nil. Errors do not name the file.
func Map(fsys fs.FS, name string, check func(r io.ReaderAt, size int64) error) (Mapped, error) {
	file, size, err := Open(fsys, name)
	if err != nil {
		return Mapped{}, err
	}
	defer file.Close()
	if check == nil {
		check = func(io.ReaderAt, int64) error { return nil }
	}
	if _, ok := file.(*FarFile); ok {
		return Mapped{}, ErrFar
	}
	onDisk, ok := file.(*os.File)
	if !ok {
		b, err := contents(file)
		if err != nil {
			return Mapped{}, err
		}
		return Mapped{Bytes: b}, check(bytes.NewReader(b), int64(len(b)))
	}
	if err := check(onDisk, size); err != nil {
		return Mapped{}, err
	}
	if size == 0 {
		return Mapped{}, nil // empty files cannot be mapped
	}
	if size != int64(int(size)) {
		return Mapped{}, fmt.Errorf("%d bytes are more than this machine can address", size)
	}
	f, err := mapFile(onDisk, int(size))
	if err != nil {
		return Mapped{}, fmt.Errorf("cannot map the file: %w", err)
	}
	return f, nil
}

// MapParts is Map for readers that use Part and Size and, if IsFar, no elements of tensors: of
// files on another machine nothing is read.
func MapParts(
	fsys fs.FS, name string, check func(r io.ReaderAt, size int64) error,
) (Mapped, error) {
	file, size, err := Open(fsys, name)
	if err != nil {
		return Mapped{}, err
	}
	far, ok := file.(*FarFile)
	if !ok {
		file.Close()
		return Map(fsys, name, check)
	}
	f := Mapped{far: far, size: size}
	if check != nil {
		err = check(far, size)
	}
	return f, err
}

// IsFar reports whether the file is on another machine, so that it has no Bytes.
func (f Mapped) IsFar() bool { return f.far != nil }

// Size returns the number of bytes of the file.
func (f Mapped) Size() int64 {
	if f.far != nil {
		return f.size
	}
	return int64(len(f.Bytes))
}

// Part returns n bytes from byte `from` on, which must be within the file. They are a part of
// Bytes, or read from the other machine.
func (f Mapped) Part(from, n int64) ([]byte, error) {
	if f.far == nil {
		return f.Bytes[from : from+n : from+n], nil
	}
	if n > mostHeader {
		return nil, fmt.Errorf("%d bytes of headers, want at most %d", n, mostHeader)
	}
	b := make([]byte, n)
	if got, err := f.far.ReadAt(b, from); int64(got) < n {
		return nil, err
	}
	return b, nil
}

// Close unmaps the file.
func (f Mapped) Close() error {
	if f.release == nil {
		return nil
	}
	return f.release()
}

// contents returns the bytes of a file that is not on disk: in place if it is in memory.
func contents(file fs.File) ([]byte, error) {
	if m, ok := file.(*MemoryFile); ok {
		return m.Bytes, nil
	}
	b, err := io.ReadAll(file)
	if err != nil {
		return nil, Cause(err)
	}
	return b, nil
}

// Forget tells the system that part, of the file's bytes, is not needed soon: its pages no longer
// count as this process's memory. They can still be read.
func (f Mapped) Forget(part []byte) {
	if f.release != nil {
		forget(f.Bytes, part)
	}
}

// LargePages asks the system to use large pages for b, which was just allocated and is not touched
// yet. With small pages the page faults cost more than the writes.
func LargePages(b []byte) {
	if len(b) >= 1<<20 {
		largePages(b)
	}
}

// Kept returns n bytes of 0 that the process keeps to its end, where possible on large pages and
// outside of Go's heap: megabytes in the heap start the collector, in the middle of a start.
func Kept(n int) []byte {
	b := outside(n)
	if b == nil {
		b = make([]byte, n)
	}
	LargePages(b)
	return b
}

// A FarFile is an open file of which each part that is read has a cost, because it is on another
// machine. Whoever needs all bytes of a file refuses it.
type FarFile struct {
	*io.SectionReader
	opened
}

// NewFarFile returns a file of that name and size.
func NewFarFile(r io.ReaderAt, name string, size int64) *FarFile {
	return &FarFile{io.NewSectionReader(r, 0, size), opened{name, size}}
}
