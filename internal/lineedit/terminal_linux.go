package lineedit

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	getMode    = unix.TCGETS
	setModeNow = unix.TCSETS
	disabled   = 0 // as a control character: no key has it
)

// stop stops the process group, as the terminal does for Ctrl-Z, and returns when it continues. It
// returns at once if nobody could continue the process and the system ignores the signal. It stops
// the other processes first: a signal to the group would reach another thread of this process, some
// time later, but a signal to the sending thread has arrived when the call returns.
func stop() {
	own, group := unix.Getpid(), unix.Getpgrp()
	processes, _ := os.ReadDir("/proc")
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || pid == own {
			continue
		}
		if of, err := unix.Getpgid(pid); err == nil && of == group {
			unix.Kill(pid, unix.SIGTSTP)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Tgkill(own, unix.Gettid(), unix.SIGTSTP)
}
