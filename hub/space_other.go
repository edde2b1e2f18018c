//go:build !(linux || darwin || freebsd)

package hub

// freeSpace does not know here.
func freeSpace(string) (n int64, ok bool) { return 0, false }
