// Finding what the cache has, without any request, and removing it.

package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"picogpt/internal/folder"
)

// A Snapshot is the part of a repository at one commit that the cache has: all of its files, or
// some.
type Snapshot struct {
	Name   Name     // its name in the cache
	Commit string   // 40 hexadecimal digits, or the name of its folder if that has another
	Dir    string   // the folder of its files
	Refs   []string // the revisions that are this commit, as recorded in the cache; set by List
}

// Find returns the snapshot of a name in the cache. It sends no request. It finds GPT-2 under its
// old name and its new one, gpt2 and openai-community/gpt2: Snapshot.Name is the one in the cache.
// If there is no snapshot, the error is ErrAbsent.
func Find(name Name, o Options) (*Snapshot, error) {
	if err := name.check(); err != nil {
		return nil, err
	}
	if o.Cache == "" {
		return nil, ErrNoCache
	}
	var partial *Snapshot
	for _, n := range append([]Name{name}, name.sameRepo()...) {
		s := find(n, o)
		switch {
		case s != nil && s.Has(folder.Config):
			return s, nil
		case s != nil && partial == nil:
			partial = s
		}
	}
	if partial == nil {
		return nil, fmt.Errorf("%s: %w", name, ErrAbsent)
	}
	return partial, nil
}

// find is Find for one name of a repository. It returns nil if the cache has no snapshot.
func find(n Name, o Options) *Snapshot {
	store := newStore(n, o)
	commit := store.commitOf(n.revision())
	if commit == "" || !isDir(store.snapshot(commit)) {
		return nil
	}
	return &Snapshot{Name: n, Commit: commit, Dir: store.snapshot(commit)}
}

// Has reports whether the snapshot has a file and its bytes.
func (s *Snapshot) Has(file string) bool {
	_, err := os.Stat(filepath.Join(s.Dir, native(file)))
	return err == nil
}

// Unknown reports whether the cache does not know if the commit has a file: the file is not in the
// snapshot, and no pull has recorded that there is none.
func (s *Snapshot) Unknown(file string) bool {
	mark := filepath.Join(s.Dir, "..", "..", ".no_exist", s.Commit, native(file))
	_, err := os.Stat(mark)
	return !s.Has(file) && err != nil
}

// Files returns the names of the snapshot's files, with slashes. Links whose target does not exist
// are left out.
func (s *Snapshot) Files() (names []string) {
	filepath.WalkDir(s.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		name, err := filepath.Rel(s.Dir, path)
		if err == nil && s.Has(filepath.ToSlash(name)) {
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	return names
}

// Size returns the number of bytes of the snapshot's files.
func (s *Snapshot) Size() (n int64) {
	for _, name := range s.Files() {
		info, err := os.Stat(filepath.Join(s.Dir, native(name)))
		if err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n
}

// List returns the snapshots of all models in the cache, sorted by name. Name.Revision is the first
// of Refs, "" for main, or the commit if the cache knows no other name. The result is empty if
// there is no cache.
func List(o Options) ([]*Snapshot, error) {
	if o.Cache == "" {
		return nil, ErrNoCache
	}
	entries, err := os.ReadDir(o.Cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Cache, folder.Cause(err))
	}
	var all []*Snapshot
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), folderPrefix)
		repo := strings.Replace(rest, "--", "/", 1)
		if ok && checkRepo(repo) == nil {
			all = append(all, listRepo(Name{Repo: repo}, o)...)
		}
	}
	return all, nil
}

// listRepo returns the snapshots of one repository; that of main comes first.
func listRepo(n Name, o Options) (all []*Snapshot) {
	store := newStore(n, o)
	entries, _ := os.ReadDir(store.path("snapshots"))
	refs := store.refs()
	for _, e := range entries {
		commit := e.Name()
		if !isSnapshot(commit) || !isDir(store.snapshot(commit)) {
			continue
		}
		s := &Snapshot{Name: Name{n.Repo, commit}, Commit: commit, Dir: store.snapshot(commit),
			Refs: refs[commit]}
		if to := store.ref(commit); !isCommit(commit) && to != "" && to != commit {
			continue // its name means another one
		}
		if len(s.Refs) > 0 {
			s.Name.Revision = s.Refs[0]
		}
		if s.Name.Revision == "main" {
			s.Name.Revision = ""
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b *Snapshot) int {
		return strings.Compare(a.Name.Revision, b.Name.Revision)
	})
	return all
}

// refs returns the revisions in the cache by their commits: main first, the others sorted by name.
func (s *store) refs() map[string][]string {
	byCommit := map[string][]string{}
	root := s.path("refs")
	filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		revision, err := filepath.Rel(root, path)
		revision = filepath.ToSlash(revision)
		if err != nil || checkRevision(revision) != nil {
			return nil
		}
		if commit := s.ref(revision); commit != "" {
			byCommit[commit] = append(byCommit[commit], revision)
		}
		return nil
	})
	for _, revisions := range byCommit {
		slices.SortStableFunc(revisions, func(a, b string) int {
			switch {
			case a == "main":
				return -1
			case b == "main":
				return 1
			}
			return strings.Compare(a, b)
		})
	}
	return byCommit
}

// Removing what the cache has of a repository.

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
	dir := s.snapshot(commit)
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type()&fs.ModeSymlink != 0 {
			if to, err := os.Readlink(path); err == nil && checkEtag(filepath.Base(to)) == nil {
				all[filepath.Base(to)] = true
			}
		}
		return nil
	})
	return all
}

// size returns the number of bytes of the repository's files. A link is none of them.
func (s *store) size() (n int64) {
	filepath.WalkDir(s.dir(), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
