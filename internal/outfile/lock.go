package outfile

// Locks of open files against other processes. Closing the file, or the end of the
// process, releases a lock.
//
// On Unix it uses flock, which does not keep others from reading or writing. On Windows the lock is
// on the first byte of the file, as in Python's msvcrt.locking, and no other handle can read or
// write that byte.

import "os"

// TryLock locks an open file. taken is true if another process has locked the file, or this process
// through another handle. It returns an error if the system or the file system has no locks.
func TryLock(f *os.File) (taken bool, err error) { return try(f, true) }

// TryLockShared is TryLock for a shared lock: several handles may have one at the same time.
func TryLockShared(f *os.File) (taken bool, err error) { return try(f, false) }
