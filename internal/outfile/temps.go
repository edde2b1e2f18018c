// Temps: the existing temporary files and folders.

package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
)

// Temps records temporary files and folders, so that a process that has to end at once can remove
// them. The zero value can be used.
type Temps struct {
	mu      sync.Mutex
	locks   map[string]*os.File // by path; nil if there are no locks
	parents []string            // folders that were created to hold a new one, the outer ones first
}

// RemoveAll removes everything recorded. It waits for a rename that is running, and no other rename
// can begin after it: the process must end then.
func (t *Temps) RemoveAll() {
	t.mu.Lock()
	for path := range t.locks {
		os.RemoveAll(path)
	}
	removeEmpty(t.parents)
}

// removeEmpty removes folders, the last one first, unless they contain something.
func removeEmpty(folders []string) {
	for _, dir := range slices.Backward(folders) {
		os.Remove(dir) // fails where something is in it
	}
}

// hold runs f while RemoveAll waits.
func (t *Temps) hold(f func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return f()
}

// MkdirTemp creates a folder for this user only, in the system's folder for temporary files, and
// records it. The caller must call Remove.
func (t *Temps) MkdirTemp() (path string, err error) {
	return t.create(os.TempDir(), alone, func(path string) error { return os.Mkdir(path, 0o700) })
}

// create creates a temporary file or folder in dir with make, and records it. No reader takes its
// name for a checkpoint, because it ends in .tmp. First it removes what killed processes have left
// there.
func (t *Temps) create(
	dir, begin string, create func(path string) error,
) (path string, err error) {
	err = t.hold(func() error {
		sweep(dir, begin)
		for range 1000 {
			path = join(dir, tempName(begin, rand.Uint64()))
			if err := create(path); errors.Is(err, fs.ErrExist) {
				continue
			} else if err != nil {
				return err
			}
			lock, swept := lockTemp(path)
			if swept {
				continue // by another process, before it was locked
			}
			if t.locks == nil {
				t.locks = map[string]*os.File{}
			}
			t.locks[path] = lock
			return nil
		}
		return fmt.Errorf("directory %s: found no free name for a temporary file", dir)
	})
	return path, err
}

// forget removes a path from the records and releases its lock. It is called within hold.
func (t *Temps) forget(path string) {
	t.locks[path].Close() // does nothing for nil
	delete(t.locks, path)
}

// Remove removes a temporary file or folder, if it still exists, and its record.
func (t *Temps) Remove(path string) {
	t.hold(func() error {
		err := os.RemoveAll(path)
		t.forget(path)
		return err
	})
}

// setParents records the folders that were created to hold a new one.
func (t *Temps) setParents(folders []string) { t.parents = folders }
