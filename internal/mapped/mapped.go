// Package mapped opens the files of a checkpoint as bytes: mapped where the system can, read where
// it cannot, in place where they are in memory.
package mapped

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"

	"picogpt/internal/folder"
)

// A File is the bytes of an open file. They are read-only, and valid until Close. While it is open
// nobody may truncate the file: touching a page that no longer exists ends the process (SIGBUS).
type File struct {
	Bytes   []byte
	release func() error // nil where there is nothing to unmap
}

// Open opens a regular file of fsys. Where it cannot be mapped, memory is taken for it only after
// check, which may be nil, has read of it what it wants. Errors do not name the file.
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
		return File{}, nil // the system maps no empty file
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

// contents returns the bytes of a file that is not on disk: in place if they are in memory.
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

// LargePages tells the system that b, memory that was just made and is not touched yet, is to be of
// large pages: with small ones a fault for each costs more than what is written into them.
func LargePages(b []byte) {
	if len(b) >= 1<<20 {
		largePages(b)
	}
}
