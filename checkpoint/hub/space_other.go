//go:build !(linux || darwin || freebsd)

package hub

// freeSpace returns false: the free space is not known on this system.
func freeSpace(string) (n int64, ok bool) { return 0, false }
