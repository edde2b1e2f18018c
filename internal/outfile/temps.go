// Temporary files and folders: those that exist, removing those that killed processes have left,
// and the locks that tell them apart.

package outfile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
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

// A temporary file or folder is locked as long as its process lives: one that is not locked is left
// over. Windows cannot rename open files, so there nothing is locked or swept, nor is it if the
// file system has no locks.
const locks = runtime.GOOS != "windows"

// The beginnings of the names of temporary files and folders.
const (
	beside = ".picogpt-"  // beside the wanted file or folder
	alone  = "gpt-bench-" // in the system's folder for temporary files
)

// tempName returns a name that users do not choose: its second number is a checksum of the first
// one. Earlier versions used names without it and locked nothing: such files stay.
func tempName(begin string, n uint64) string {
	first := fmt.Sprintf("%016x", n)
	return fmt.Sprintf("%s%s-%08x.tmp", begin, first, crc32.ChecksumIEEE([]byte(first)))
}

// isTempName reports whether tempName made a name. The name of a backup has a ~ at its end.
func isTempName(begin, name string) bool {
	name = strings.TrimSuffix(name, "~")
	digits, ok := strings.CutPrefix(name, begin)
	if !ok || len(digits) < 16 {
		return false
	}
	n, err := strconv.ParseUint(digits[:16], 16, 64)
	return err == nil && name == tempName(begin, n)
}

// sweep removes the temporary files and folders in dir that are not locked.
func sweep(dir, begin string) {
	if !locks {
		return
	}
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	for {
		list, err := d.ReadDir(256)
		for _, e := range list {
			if isTempName(begin, e.Name()) && (e.IsDir() || e.Type().IsRegular()) {
				removeUnlocked(join(dir, e.Name()))
			}
		}
		if err != nil || len(list) == 0 {
			return
		}
	}
}

// removeUnlocked removes a file or a folder, unless a process has locked it.
func removeUnlocked(path string) {
	if lock, swept := lockTemp(path); lock != nil && !swept {
		os.RemoveAll(path)
		lock.Close()
	}
}

// lockTemp locks a file or a folder. On a system without locks, lock is nil. If another process has
// locked it, that process is sweeping it; then, or if the path names another file by now, swept is
// true.
func lockTemp(path string) (lock *os.File, swept bool) {
	if !locks {
		return nil, false
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, os.IsNotExist(err)
	}
	taken, err := TryLock(f)
	if err != nil {
		f.Close()
		return nil, false
	}
	if open, err := f.Stat(); taken || err != nil || !isAt(open, path) {
		f.Close()
		return nil, true
	}
	return f, false
}

// isAt reports whether a path still names a file.
func isAt(info os.FileInfo, path string) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(info, now)
}

// TryLock locks an open file. taken is true if another process has locked the file, or this process
// through another handle. It returns an error if the system or the file system has no locks.
// Closing the file, or the end of the process, releases a lock.
//
// On Unix the lock is flock's, which does not keep others from reading or writing. On Windows it is
// on the first byte of the file, as in Python's msvcrt.locking, and no other handle can read or
// write that byte.
func TryLock(f *os.File) (taken bool, err error) { return try(f, true) }

// TryLockShared is TryLock for a shared lock: several handles may have one at the same time.
func TryLockShared(f *os.File) (taken bool, err error) { return try(f, false) }
