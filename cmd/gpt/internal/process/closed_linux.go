package process

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
// to all of them, what was handed down is the parent's as well, and Python and Node are known.
func wasClosed(f *os.File) bool {
	info, err := f.Stat()
	null, e := os.Stat(os.DevNull)
	if err != nil || e != nil || !os.SameFile(info, null) || !readsAndWrites(f) {
		return false
	}
	for _, process := range []int{os.Getpid(), os.Getppid()} {
		for fd := range 3 {
			own := process == os.Getpid() && fd == int(f.Fd())
			if !own && sharesOpening(f, fmt.Sprintf("/proc/%d/fdinfo/%d", process, fd)) {
				return false
			}
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

// sharesOpening reports whether a descriptor, of which fdinfo tells, is of the same opening of
// /dev/null as f: they have their flags in common then. Appending means nothing there.
func sharesOpening(f *os.File, fdinfo string) bool {
	before, err := flagsIn(fdinfo)
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
	after, err := flagsIn(fdinfo)
	unix.FcntlInt(f.Fd(), unix.F_SETFL, own)
	return err == nil && after != before
}

// flagsIn returns the line of flags of a descriptor.
func flagsIn(fdinfo string) (string, error) {
	text, err := os.ReadFile(fdinfo)
	_, flags, _ := strings.Cut(string(text), "flags:")
	flags, _, _ = strings.Cut(flags, "\n")
	return flags, err
}
