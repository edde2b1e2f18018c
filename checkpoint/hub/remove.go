// Removing what the cache has of a repository.

package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"picogpt/internal/folder"
)

// ErrBusy is the error of Remove while another process downloads a file of the repository.
var ErrBusy = errors.New("another process downloads a file of it")

// Remove removes a repository from the cache, with what is unfinished, or one revision of it if the
// name has one: then only the files that no other revision has. It returns the number of bytes that
// are free again, and finds GPT-2 under its other names as Find does. While another process
// downloads a file of the repository the error is ErrBusy, and if the cache does not have the name,
// ErrAbsent.
func Remove(name Name, o Options) (removed Name, freed int64, err error) {
	s, removed, err := storeOf(name, o)
	if err != nil {
		return removed, 0, err
	}
	if freed, err = s.remove(removed.Revision); err != nil {
		err = fmt.Errorf("%s: %w", removed, err)
	}
	return removed, freed, err
}

// CheckRemove returns the error that Remove would give for a name now, but for ErrBusy, and removes
// nothing.
func CheckRemove(name Name, o Options) error {
	_, _, err := storeOf(name, o)
	return err
}

// storeOf returns the place of a name in the cache, and the name that it has there.
func storeOf(name Name, o Options) (*store, Name, error) {
	if err := name.check(); err != nil {
		return nil, name, err
	}
	if o.Cache == "" {
		return nil, name, ErrNoCache
	}
	for _, n := range append([]Name{name}, name.sameRepo()...) {
		if s := newStore(n, o); isDir(s.dir()) && (n.Revision == "" || find(n, o) != nil) {
			return s, n, nil
		}
	}
	return nil, name, fmt.Errorf("%s: %w", name, ErrAbsent)
}

// remove removes a revision, or all if it is "". References go first and blobs last, so that what
// is left when it is interrupted is no snapshot without its files.
func (s *store) remove(revision string) (freed int64, err error) {
	if s.root, err = os.OpenRoot(s.dir()); err != nil {
		return 0, folder.Cause(err)
	}
	defer s.close()
	unlock, err := s.lockUnfinished()
	if err != nil {
		return 0, err
	}
	defer unlock()
	before := s.size()
	if revision != "" {
		err = s.removeCommit(s.commitOf(revision))
		return before - s.size(), err
	}
	for _, name := range []string{"refs", "snapshots", ".no_exist", "blobs"} {
		err = errors.Join(err, s.root.RemoveAll(name))
	}
	freed = before - s.size()
	cache, failed := os.OpenRoot(s.cache)
	if err = errors.Join(err, failed); err == nil {
		defer cache.Close()
		err = errors.Join(cache.RemoveAll(s.name), cache.RemoveAll(path.Join(".locks", s.name)))
	}
	return freed, err
}

// lockUnfinished takes the locks of all downloads that are not finished.
func (s *store) lockUnfinished() (unlock func(), err error) {
	var held []func()
	unlock = func() {
		for _, u := range held {
			u()
		}
	}
	for _, left := range s.unfinished("") {
		etag, _, _ := strings.Cut(path.Base(left.name), ".")
		ctx, cancel := context.WithCancel(context.Background())
		u, _, err := s.lock(ctx, etag, cancel)
		cancel()
		if err != nil {
			unlock()
			return nil, ErrBusy
		}
		held = append(held, u)
	}
	return unlock, nil
}

// removeCommit removes a commit's snapshot, its references, and the blobs that it alone has.
func (s *store) removeCommit(commit string) error {
	mine := s.links(commit)
	var err error
	for _, revision := range s.refs()[commit] {
		err = errors.Join(err, s.root.Remove(path.Join("refs", revision)))
	}
	for _, dir := range []string{"snapshots", ".no_exist"} {
		err = errors.Join(err, s.root.RemoveAll(path.Join(dir, commit)))
	}
	entries, failed := os.ReadDir(s.path("snapshots"))
	err = errors.Join(err, failed)
	for _, e := range entries {
		for etag := range s.links(e.Name()) {
			delete(mine, etag)
		}
	}
	if err != nil {
		return err
	}
	for etag := range mine {
		if failed := s.root.Remove(blob(etag)); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// links returns the names of the blobs that the files of a commit's snapshot are.
func (s *store) links(commit string) map[string]bool {
	all := map[string]bool{}
	names, _ := walk(s.snapshot(commit))
	for _, name := range names {
		to, err := os.Readlink(s.path(pointer(commit, name)))
		if etag := filepath.Base(to); err == nil && checkEtag(etag) == nil {
			all[etag] = true
		}
	}
	return all
}

// size returns the number of bytes of the repository's files. A link is none of them.
func (s *store) size() (n int64) {
	names, _ := walk(s.dir())
	for _, name := range names {
		if info, err := os.Lstat(s.path(name)); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n
}
