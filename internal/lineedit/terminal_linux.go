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
	disabled   = 0 // of a control character: no key is it
)

// stop stops the process group, as the terminal does at Ctrl-Z, and returns when it goes on, or at
// once where nobody could make it go on and the system ignores it. The others come first: a signal
// to the group would come to another thread of this process, at some time later, while one to the
// thread that sends it has come when the call returns.
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
