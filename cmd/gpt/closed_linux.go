package main

// A stdout that the caller has closed, as gpt >&- does: what is written there is lost, and nobody
// would know.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// wasClosed reports whether a standard stream was closed when the program began. Go's runtime has
// opened /dev/null in its place by then, for reading and writing, where a shell's > /dev/null is for
// writing alone. Others open it in that way, too: who throws several streams away gives one opening
// to all of them, and Python and Node are known.
func wasClosed(f *os.File) bool {
	info, err := f.Stat()
	null, e := os.Stat(os.DevNull)
	if err != nil || e != nil || !os.SameFile(info, null) || !readsAndWrites(f) {
		return false
	}
	for _, other := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if other.Fd() != f.Fd() && shareOpening(f, other) {
			return false
		}
	}
	parent, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", os.Getppid()))
	return err == nil && !opensNullForBoth(parent)
}

// opensNullForBoth reports whether a program opens /dev/null for reading and writing where a child's
// output is not wanted.
func opensNullForBoth(program string) bool {
	name := filepath.Base(program)
	return strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy") || name == "node"
}

func readsAndWrites(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}

// shareOpening reports whether two descriptors of /dev/null are of one opening: they have their
// flags in common then. Appending means nothing there.
func shareOpening(f, other *os.File) bool {
	before, err := unix.FcntlInt(other.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return false
	}
	own, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return false
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFL, own^unix.O_APPEND); err != nil {
		return false
	}
	after, err := unix.FcntlInt(other.Fd(), unix.F_GETFL, 0)
	unix.FcntlInt(f.Fd(), unix.F_SETFL, own)
	return err == nil && after != before
}
