// Downloads that were not finished: the files <etag>.<8 hex>.incomplete, and <etag>.incomplete of
// Python's tools of before 2026. Whoever has the etag's lock is the only one that uses them.

package hub

import (
	"cmp"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const unfinished = ".incomplete"

// begin opens a file for the bytes of a blob: with the lock, the longest that an earlier download
// has left, which has the first have bytes, while the others are removed; else a new one.
func (s *store) begin(m *meta, held bool) (f *os.File, name string, have int64, err error) {
	if err := s.open(); err != nil {
		return nil, "", 0, err
	}
	if held {
		for _, left := range s.unfinished(m.etag) {
			if f == nil && left.size > 0 && left.size <= m.size {
				if f = s.reopen(left); f != nil {
					name, have = left.name, left.size
					continue
				}
			}
			s.root.Remove(left.name)
		}
	}
	if f != nil {
		return f, name, have, nil
	}
	f, name, err = s.create(m.etag)
	return f, name, 0, err
}

// Unfinished returns how many bytes of files that are not complete the cache has of the repository.
func (s *Snapshot) Unfinished() (n int64) {
	dir := filepath.Join(s.Dir, "..", "..")
	for _, left := range (&store{cache: filepath.Dir(dir), name: filepath.Base(dir)}).unfinished("") {
		n += left.size
	}
	return n
}

// A leftover is the file of a download that was not finished.
type leftover struct {
	name string // in the repository's folder
	size int64
}

// unfinished returns what downloads have left of a blob, or of any if etag is "": the longest first.
func (s *store) unfinished(etag string) (all []leftover) {
	entries, err := os.ReadDir(s.path("blobs"))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		of, _, _ := strings.Cut(e.Name(), ".")
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(e.Name(), unfinished) ||
			checkEtag(of) != nil || etag != "" && of != etag {
			continue
		}
		all = append(all, leftover{path.Join("blobs", e.Name()), info.Size()})
	}
	slices.SortStableFunc(all, func(a, b leftover) int { return cmp.Compare(b.size, a.size) })
	return all
}

// left returns how many bytes of a file an earlier download has left.
func (s *store) left(m *meta) int64 {
	for _, left := range s.unfinished(m.etag) {
		if left.size <= m.size {
			return left.size
		}
	}
	return 0
}

// reopen opens a leftover for writing after its end. It returns nil if that is not possible, or if
// the name is a link by now.
func (s *store) reopen(left leftover) *os.File {
	f, err := s.root.OpenFile(left.name, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	named, err := s.root.Lstat(left.name)
	open, failed := f.Stat()
	if err != nil || failed != nil || !named.Mode().IsRegular() || !os.SameFile(named, open) ||
		open.Size() != left.size {
		f.Close()
		return nil
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		f.Close()
		return nil
	}
	return f
}
