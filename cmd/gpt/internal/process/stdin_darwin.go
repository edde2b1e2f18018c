package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// bufferedBytes returns how many bytes the system holds of a pipe or a socket, 0 if it does not
// say.
func bufferedBytes(f *os.File) int {
	const fionread = 0x4004667f // of <sys/filio.h>; package unix lacks it
	n, _ := unix.IoctlGetInt(int(f.Fd()), fionread)
	return n
}
