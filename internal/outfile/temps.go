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
// at once can remove them. The zero value is ready; nil remembers nothing.
type Temps struct {
	mu      sync.Mutex
	paths   map[string]bool
	parents []string // folders that were made to hold a new one, the outer ones first
}

// RemoveAll removes all that is there. It waits for a rename that is under way,
// and lets none begin afterwards: only the end of the process may follow.
func (t *Temps) RemoveAll() {
	t.mu.Lock()
	for path := range t.paths {
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
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
	}
	return f()
}

// MkdirTemp makes a folder in the system's place for temporary files, as os.MkdirTemp
// does, and remembers it. Call Remove at the end.
func (t *Temps) MkdirTemp(pattern string) (path string, err error) {
	err = t.hold(func() error {
		path, err = os.MkdirTemp("", pattern)
		if err == nil {
			t.add(path)
		}
		return err
	})
	return path, err
}

// create makes a temporary name in dir with the function given, and remembers it.
// No reader takes the name for a checkpoint: it begins with a dot and ends in .tmp.
func (t *Temps) create(dir string, create func(path string) error) (path string, err error) {
	err = t.hold(func() error {
		for range 1000 {
			path = join(dir, fmt.Sprintf(".picogpt-%016x.tmp", rand.Uint64()))
			if err := create(path); !errors.Is(err, fs.ErrExist) {
				if err == nil {
					t.add(path)
				}
				return err
			}
		}
		return fmt.Errorf("directory %s: found no free name for a temporary file", dir)
	})
	return path, err
}

// add remembers a path. It is called within hold.
func (t *Temps) add(path string) {
	if t == nil {
		return
	}
	if t.paths == nil {
		t.paths = map[string]bool{}
	}
	t.paths[path] = true
}

// forget forgets a path. It is called within hold.
func (t *Temps) forget(path string) {
	if t != nil {
		delete(t.paths, path)
	}
}

// Remove removes a temporary file or folder, if it is still there, and forgets it.
func (t *Temps) Remove(path string) {
	t.hold(func() error {
		t.forget(path)
		return os.RemoveAll(path)
	})
}

// setParents remembers the folders that were made to hold a new one.
func (t *Temps) setParents(folders []string) {
	if t != nil {
		t.parents = folders
	}
}
