// Package filelock locks open files against other processes. A lock is given back when the file is
// closed, however the process ends.
//
// On Unix it is flock's, which keeps nobody from reading or writing. On Windows it is on the first
// byte of the file, as Python's msvcrt.locking has it, and no other handle can read or write that.
package filelock

import "os"

// Try locks an open file, or reports that another process has it locked, or the same one through
// another opening. An error says that the system or the file system has no locks.
func Try(f *os.File) (taken bool, err error) { return try(f, true) }

// TryShared is Try for one of several that may have the file locked, side by side and all by TryShared.
func TryShared(f *os.File) (taken bool, err error) { return try(f, false) }
