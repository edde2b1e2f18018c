// Locks, so that two processes do not download the same file at the same time. huggingface_hub
// takes the same ones. Without a lock both processes download the file, and the second one replaces
// the first one's by an equal one; what an earlier download has left is used with a lock only.

package hub

import (
	"context"
	"os"
	"path"
	"time"

	"picogpt/internal/outfile"
)

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
