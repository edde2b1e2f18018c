// Package mapped opens the files of a checkpoint as bytes. They are mapped if the system can, else
// read; files in memory are used in place.
package mapped

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"

	"picogpt/internal/folder"
)

// A File is the bytes of an open file. They are read-only, and valid until Close. Nobody may
// truncate the file while it is open: touching a page that no longer exists ends the process
// (SIGBUS).
type File struct {
	Bytes   []byte
	release func() error // nil if there is nothing to unmap
}

// Open opens a regular file of fsys. If it cannot be mapped, memory for it is allocated only after
// check has returned; check may be nil. Errors do not name the file.
func Open(fsys fs.FS, name string, check func(r io.ReaderAt, size int64) error) (File, error) {
	file, size, err := folder.Open(fsys, name)
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	if check == nil {
		check = func(io.ReaderAt, int64) error { return nil }
	}
	onDisk, ok := file.(*os.File)
	if !ok {
		b, err := contents(file)
		if err != nil {
			return File{}, err
		}
		return File{Bytes: b}, check(bytes.NewReader(b), int64(len(b)))
	}
	if err := check(onDisk, size); err != nil {
		return File{}, err
	}
	if size == 0 {
		return File{}, nil // empty files cannot be mapped
	}
	if size != int64(int(size)) {
		return File{}, fmt.Errorf("%d bytes are more than this machine can address", size)
	}
	f, err := mapFile(onDisk, int(size))
	if err != nil {
		return File{}, fmt.Errorf("cannot map the file: %w", err)
	}
	return f, nil
}

// Close unmaps the file.
func (f File) Close() error {
	if f.release == nil {
		return nil
	}
	return f.release()
}

// contents returns the bytes of a file that is not on disk: in place if it is in memory.
func contents(file fs.File) ([]byte, error) {
	if m, ok := file.(*folder.MemoryFile); ok {
		return m.Bytes, nil
	}
	b, err := io.ReadAll(file)
	if err != nil {
		return nil, folder.Cause(err)
	}
	return b, nil
}

// Forget tells the system that part, of the file's bytes, is not needed soon: its pages no longer
// count as this process's memory. They can still be read.
func (f File) Forget(part []byte) {
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
