package storage

// Locks: one run at a time in a folder.

import (
	"errors"
	"os"

	"picogpt/internal/outfile"
)

// lockName is the locked file in a folder. It is removed with the lock.
const lockName = ".lock"

// ErrTaken says that another run works in a folder.
var ErrTaken = errors.New("another run is at work there")

// Lock creates and locks a folder until release is called or the process ends: for one process, or
// shared by several. Stores and file systems without locks have no locks.
func Lock(folder string, shared bool) (release func(), err error) {
	if !local(folder) {
		return func() {}, nil
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	try, name := outfile.TryLock, Join(folder, lockName)
	if shared {
		try = outfile.TryLockShared
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
		if !there(f, name) { // the process that had the lock has removed the file
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
