//go:build linux || darwin || freebsd

package hub

import "golang.org/x/sys/unix"

// freeSpace returns how many bytes may still be written below a folder. ok is false if the system
// does not say it.
func freeSpace(dir string) (n int64, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	free := float64(s.Bavail) * float64(s.Bsize)
	return int64(min(free, 1<<62)), true
}
