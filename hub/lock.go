// Locks, so that two processes do not download the same file side by side. They are those that
// huggingface_hub takes. Nothing depends on them: without one, both download, and the second one's
// file takes the first one's place, which is the same.

package hub

import (
	"context"
	"os"
	"path"
	"time"

	"picogpt/internal/filelock"
)

// lock takes the lock of a blob and returns what gives it back. wait is called once if another
// process has it. Where locks cannot be had, none is taken.
func (s *store) lock(ctx context.Context, etag string, wait func()) (unlock func(), err error) {
	const often = 100 * time.Millisecond
	none := func() {}
	cache, err := os.OpenRoot(s.cache)
	if err != nil {
		return none, nil
	}
	defer cache.Close()
	dir := path.Join(".locks", s.name)
	if cache.MkdirAll(dir, 0o777) != nil {
		return none, nil
	}
	for ; ; wait = none {
		name := path.Join(dir, etag+".lock")
		f, err := cache.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return none, nil
		}
		taken, err := filelock.Try(f)
		switch {
		case err != nil: // no locks here
			f.Close()
			return none, nil
		case !taken && isFile(cache, name, f):
			return func() { f.Close() }, nil
		}
		f.Close()
		if !taken {
			continue // who had the lock has removed its file
		}
		wait()
		select {
		case <-ctx.Done():
			return none, ctx.Err()
		case <-time.After(often):
		}
	}
}

// isFile reports whether the open file is still the one that its name leads to.
func isFile(dir *os.Root, name string, f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := dir.Stat(name)
	return err == nil && os.SameFile(open, named)
}
