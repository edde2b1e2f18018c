// Temps: the temporary files and folders that are there now.

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

// Temps remembers temporary files and folders, so that a process that must end
// at once can remove them. The zero value is ready.
type Temps struct {
	mu      sync.Mutex
	locks   map[string]*os.File // by path; nil where there are no locks
	parents []string            // folders that were made to hold a new one, the outer ones first
}

// RemoveAll removes all that is there. It waits for a rename that is under way,
// and lets none begin afterwards: only the end of the process may follow.
func (t *Temps) RemoveAll() {
	t.mu.Lock()
	for path := range t.locks {
		os.RemoveAll(path)
	}
	removeEmpty(t.parents)
}

// removeEmpty removes folders, the last one first, unless somebody uses them.
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

// MkdirTemp makes a folder for this user alone in the system's place for temporary files, and
// remembers it. Call Remove at the end.
func (t *Temps) MkdirTemp() (path string, err error) {
	return t.create(os.TempDir(), alone, func(path string) error { return os.Mkdir(path, 0o700) })
}

// create makes a temporary name in dir with the function given, and remembers it. No reader takes the
// name for a checkpoint: it ends in .tmp. What processes that were killed have left there is removed
// before.
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

// forget forgets a path and gives its lock back. It is called within hold.
func (t *Temps) forget(path string) {
	t.locks[path].Close() // which does nothing to nil
	delete(t.locks, path)
}

// Remove removes a temporary file or folder, if it is still there, and forgets it.
func (t *Temps) Remove(path string) {
	t.hold(func() error {
		err := os.RemoveAll(path)
		t.forget(path)
		return err
	})
}

// setParents remembers the folders that were made to hold a new one.
func (t *Temps) setParents(folders []string) { t.parents = folders }
