// Finding what the cache has, without any request.

package hub

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// walk returns the names of the files and links below a folder, with slashes, and the first error.
func walk(dir string) (names []string, first error) {
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name := ""
		if err == nil && !e.IsDir() {
			name, err = filepath.Rel(dir, path)
		}
		if name != "" && err == nil {
			names = append(names, filepath.ToSlash(name))
		}
		first = cmp.Or(first, err)
		return nil
	})
	return names, first
}

// Files returns the names of the snapshot's files, with slashes. Links whose target does not exist
// are left out.
func (s *Snapshot) Files() []string {
	names, _ := walk(s.Dir)
	return slices.DeleteFunc(names, func(name string) bool { return !s.Has(name) })
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
	revisions, _ := walk(s.path("refs"))
	slices.Sort(revisions)
	for i, revision := range append([]string{"main"}, revisions...) {
		commit := s.ref(revision)
		if commit != "" && checkRevision(revision) == nil && (i == 0 || revision != "main") {
			byCommit[commit] = append(byCommit[commit], revision)
		}
	}
	return byCommit
}
