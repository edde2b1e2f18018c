// A folder of files in memory.

package folder

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// Memory is a folder of files in memory, by name. They are used in place and must not change.
type Memory map[string][]byte

// Open implements fs.FS. A file is a *MemoryFile.
func (m Memory) Open(name string) (fs.File, error) {
	fail := func(err error) (fs.File, error) {
		return nil,
			&fs.PathError{Op: "open", Path: name, Err: err}
	}
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	if b, ok := m[name]; ok {
		return &MemoryFile{bytes.NewReader(b), b, opened{name, int64(len(b))}}, nil
	}
	if name != "." {
		return fail(fs.ErrNotExist)
	}
	list := &memoryList{opened: opened{".", -1}}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list.rest = append(list.rest, fs.FileInfoToDirEntry(memoryInfo{name, int64(len(m[name]))}))
	}
	return list, nil
}

// A MemoryFile is an open file of a Memory.
type MemoryFile struct {
	*bytes.Reader
	Bytes []byte // the bytes themselves, not a copy
	opened
}

// opened is what Stat returns of an open file; Close does nothing.
type opened memoryInfo

func (o opened) Stat() (fs.FileInfo, error) { return memoryInfo(o), nil }
func (opened) Close() error                 { return nil }

// A memoryList is the open folder.
type memoryList struct {
	opened
	rest []fs.DirEntry
}

func (l *memoryList) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (l *memoryList) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(l.rest)
	} else if len(l.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(l.rest))
	part := l.rest[:n]
	l.rest = l.rest[n:]
	return part, nil
}

// memoryInfo describes a file or, with size -1, the folder.
type memoryInfo struct {
	name string
	size int64
}

func (i memoryInfo) Name() string       { return i.name }
func (i memoryInfo) Size() int64        { return max(0, i.size) }
func (i memoryInfo) IsDir() bool        { return i.size < 0 }
func (i memoryInfo) ModTime() time.Time { return time.Time{} }
func (i memoryInfo) Sys() any           { return nil }

func (i memoryInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
