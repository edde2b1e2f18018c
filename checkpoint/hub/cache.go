// The cache: its layout, and how files and references are written to it.
//
//	models--org--name/blobs/<etag>                 the bytes of a file
//	models--org--name/refs/<revision>              the commit of a revision
//	models--org--name/snapshots/<commit>/<file>    a link to ../../blobs/<etag>
//	models--org--name/.no_exist/<commit>/<file>    empty: the commit has no such file
//	.locks/models--org--name/<etag>.lock           locked by the process that downloads the blob
//	CACHEDIR.TAG                                   tells backup programs to leave the cache out
//
// The locks are huggingface_hub's, so that two processes do not download the same file at the same
// time. Without a lock both download it, and the second one replaces the first one's by an equal
// one; what an earlier download has left is used with a lock only.
//
// What an unfinished download has left is in <etag>.<8 hex>.incomplete, or in <etag>.incomplete of
// Python's tools of before 2026. Whoever has the etag's lock is the only one that uses them.

package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"picogpt/internal/folder"
	"picogpt/internal/outfile"
)

// A store is the folder of one repository in the cache. Names below are paths with slashes in it.
// All writes go through an os.Root, so that no link in the cache leads out of the folder.
type store struct {
	cache   string // the cache's folder
	name    string // models--org--name
	noLinks bool
	root    *os.Root // nil until something is written
}

func newStore(n Name, o Options) *store {
	return &store{cache: o.Cache, name: n.folder(), noLinks: o.NoSymlinks}
}

func (s *store) dir() string                { return filepath.Join(s.cache, s.name) }
func (s *store) path(name string) string    { return filepath.Join(s.dir(), native(name)) }
func (s *store) snapshot(c string) string   { return s.path(path.Join("snapshots", c)) }
func (s *store) close()                     { closeRoot(s.root) }
func blob(etag string) string               { return path.Join("blobs", etag) }
func pointer(commit, file string) string    { return path.Join("snapshots", commit, file) }
func absentMark(commit, file string) string { return path.Join(".no_exist", commit, file) }

// native returns a path in the form of this system.
func native(name string) string { return filepath.FromSlash(name) }

func closeRoot(r *os.Root) {
	if r != nil {
		r.Close()
	}
}

// has reports whether a file exists; a link counts only if its target exists.
func (s *store) has(name string) bool {
	_, err := os.Stat(s.path(name))
	return err == nil
}

// ref returns the commit that the cache has for a revision, or "" if it has none.
func (s *store) ref(revision string) string {
	const most = longestFolder + 2 // with the end of a line
	b, err := folder.Read(folder.Dir(s.path("refs")), native(revision), most)
	if commit := strings.TrimSpace(string(b)); err == nil && isSnapshot(commit) {
		return commit
	}
	return ""
}

// longestFolder bounds the name of a snapshot's folder.
const longestFolder = 128

// isSnapshot reports whether a name can be that of a snapshot's folder: a commit or, in a cache that
// somebody has made by hand, any other.
func isSnapshot(name string) bool {
	return len(name) <= longestFolder && checkRevision(name) == nil && !strings.Contains(name, "/")
}

// commitOf returns the commit of a revision, or "" if the cache does not know it. As in
// huggingface_hub, it may be a folder that has the revision's own name.
func (s *store) commitOf(revision string) string {
	if isCommit(revision) {
		return revision
	}
	if commit := s.ref(revision); commit != "" {
		return commit
	}
	if isSnapshot(revision) && isDir(s.snapshot(revision)) {
		return revision
	}
	return ""
}

// open creates the repository's folder, and the cache with its tag, if they do not exist.
func (s *store) open() error {
	if s.root != nil {
		return nil
	}
	err := os.MkdirAll(s.dir(), 0o777)
	if err == nil {
		err = writeTag(s.cache)
	}
	if err == nil {
		s.root, err = os.OpenRoot(s.dir())
	}
	return s.failed(s.dir(), err)
}

// tag is the content of CACHEDIR.TAG: the signature, and a sentence for readers.
const tag = `Signature: 8a477f597d28d172789f06886806bc55
# This folder is the cache of the Hugging Face hub. What is in it can be downloaded again.
# On files like this one: https://bford.info/cachedir/
`

// writeTag writes CACHEDIR.TAG into the cache if it has none.
func writeTag(cache string) error {
	f, err := os.OpenFile(filepath.Join(cache, "CACHEDIR.TAG"), os.O_WRONLY|os.O_CREATE|os.O_EXCL,
		0o666)
	switch {
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrPermission):
		return nil // the cache may belong to others and still have a folder for this user
	case err != nil:
		return err
	}
	_, err = f.WriteString(tag)
	return errors.Join(err, f.Close())
}

// failed returns an error that names a file of the cache and the reason, nil if there is none.
func (s *store) failed(name string, err error) error {
	if err == nil {
		return nil
	}
	if !filepath.IsAbs(name) && !strings.HasPrefix(name, s.cache) {
		name = s.path(name)
	}
	return fmt.Errorf("%s: %w", name, folder.Cause(err))
}

// create creates a file for the bytes of a blob that is being downloaded. No other process has a
// file of its name.
func (s *store) create(etag string) (f *os.File, name string, err error) {
	if err = s.open(); err != nil {
		return nil, "", err
	}
	if err = s.root.MkdirAll("blobs", 0o777); err != nil {
		return nil, "", s.failed("blobs", err)
	}
	for range 100 {
		name = fmt.Sprintf("%s.%08x.incomplete", blob(etag), rand.Uint32())
		f, err = s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, name, s.failed("blobs", err)
}

// publish renames a complete file to the name of its blob.
func (s *store) publish(incomplete, etag string) error {
	return s.failed(blob(etag), s.root.Rename(incomplete, blob(etag)))
}

// link makes a blob a file of a snapshot, as a relative link. Where the system has no links, it
// moves a blob that is new, and copies one that other snapshots may use.
func (s *store) link(commit, file, etag string, isNew bool) error {
	if err := s.open(); err != nil {
		return err
	}
	to := pointer(commit, file)
	if s.has(to) {
		return nil
	}
	if err := s.root.MkdirAll(path.Dir(to), 0o777); err != nil {
		return s.failed(path.Dir(to), err)
	}
	if _, err := s.root.Lstat(to); err == nil { // a link whose target does not exist
		if err := s.root.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.failed(to, err)
		}
	}
	if !s.noLinks {
		up := strings.Repeat("../", strings.Count(to, "/"))
		target := native(up + blob(etag))
		err := s.root.Symlink(target, to)
		if err == nil || errors.Is(err, fs.ErrExist) { // another process was faster
			return nil
		}
	}
	return s.insert(to, etag, isNew)
}

// insert makes a blob a file of a snapshot without a link.
func (s *store) insert(to, etag string, isNew bool) error {
	if isNew {
		return s.failed(to, s.root.Rename(blob(etag), to))
	}
	from, err := s.root.Open(blob(etag))
	if err != nil {
		return s.failed(blob(etag), err)
	}
	defer from.Close()
	return s.write(etag, to, from)
}

// write creates a file atomically: other processes see all of it or nothing. It is first written
// under another name among the blobs.
func (s *store) write(temp, to string, from io.Reader) error {
	f, name, err := s.create(temp)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.root.MkdirAll(path.Dir(to), 0o777)
	}
	if err == nil {
		err = s.root.Rename(name, to)
	}
	if err != nil {
		s.root.Remove(name)
	}
	return s.failed(to, err)
}

// setRef records the commit of a revision, unless that is known. A commit needs no record.
func (s *store) setRef(revision, commit string) error {
	if revision == commit || s.ref(revision) == commit {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	return s.write(commit, path.Join("refs", revision), strings.NewReader(commit))
}

// markAbsent records that a commit has no such file. Errors are ignored: a missing record costs
// only a request.
func (s *store) markAbsent(commit, file string) {
	name := absentMark(commit, file)
	if s.has(name) || s.open() != nil || s.root.MkdirAll(path.Dir(name), 0o777) != nil {
		return
	}
	if f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666); err == nil {
		f.Close()
	}
}

// lock takes the lock of a blob and returns the function that releases it, and whether it is taken.
// It calls wait once if another process has the lock. On a system without locks it takes none.
func (s *store) lock(
	ctx context.Context, etag string, wait func(),
) (unlock func(), held bool, err error) {
	const often = 100 * time.Millisecond
	none := func() {}
	cache, err := os.OpenRoot(s.cache)
	if err != nil {
		return none, false, nil
	}
	defer cache.Close()
	dir := path.Join(".locks", s.name)
	if cache.MkdirAll(dir, 0o777) != nil {
		return none, false, nil
	}
	for ; ; wait = none {
		name := path.Join(dir, etag+".lock")
		f, err := cache.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return none, false, nil
		}
		taken, err := outfile.TryLock(f)
		switch {
		case err != nil: // the system has no locks
			f.Close()
			return none, false, nil
		case !taken && isFile(cache, name, f):
			return func() { f.Close() }, true, nil
		}
		f.Close()
		if !taken {
			continue // the process that had the lock has removed its file
		}
		wait()
		select {
		case <-ctx.Done():
			return none, false, ctx.Err()
		case <-time.After(often):
		}
	}
}

// isFile reports whether the open file is still the one of that name.
func isFile(dir *os.Root, name string, f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := dir.Stat(name)
	return err == nil && os.SameFile(open, named)
}

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
	if err == nil && failed == nil && named.Mode().IsRegular() && os.SameFile(named, open) &&
		open.Size() == left.size {
		if _, err := f.Seek(0, io.SeekEnd); err == nil {
			return f
		}
	}
	f.Close()
	return nil
}
