package storage

// Locks: who is at work in a folder.

import (
	"errors"
	"os"

	"picogpt/internal/filelock"
)

// lockName is the file of a folder that is locked, and removed with the lock.
const lockName = ".lock"

// ErrTaken says that others are at work in a folder.
var ErrTaken = errors.New("another run is at work there")

// Lock locks a folder, which it makes, until release is called or the process ends: for one process
// alone, or for one of several that share it. Stores and file systems without locks have none.
func Lock(folder string, shared bool) (release func(), err error) {
	if !local(folder) {
		return func() {}, nil
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	try, name := filelock.Try, Join(folder, lockName)
	if shared {
		try = filelock.TryShared
	}
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if taken, _ := try(f); taken {
			f.Close()
			return nil, ErrTaken
		}
		if !there(f, name) { // whoever had it has removed it in between
			f.Close()
			continue
		}
		return func() {
			if !shared {
				os.Remove(name)
			}
			f.Close()
		}, nil
	}
}

// there reports whether a file still has its name.
func there(f *os.File, name string) bool {
	ours, err := f.Stat()
	if err != nil {
		return true
	}
	now, err := os.Stat(name)
	return err == nil && os.SameFile(ours, now)
}
