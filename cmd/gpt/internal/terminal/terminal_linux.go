package terminal

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
// returns at once if nobody could continue the process and the system ignores the signal.
//
// A signal to the whole group would reach another thread of this process, some time after the call;
// so stop sends one to its own thread. That signal has to wait until the other processes have
// theirs: from then on a shell may continue the group, and a signal that waits is cancelled by it,
// but one that is sent later would stop this process for ever.
func stop() {
	own, others := unix.Getpid(), othersOfGroup()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var stops, before unix.Sigset_t
	stops.Val[0] = 1 << (unix.SIGTSTP - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &stops, &before); err != nil {
		return
	}
	unix.Tgkill(own, unix.Gettid(), unix.SIGTSTP)
	for _, pid := range others {
		unix.Kill(pid, unix.SIGTSTP)
	}
	unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
}

// othersOfGroup returns the numbers of the other processes of this process's group.
func othersOfGroup() (pids []int) {
	own, group := unix.Getpid(), unix.Getpgrp()
	processes, _ := os.ReadDir("/proc")
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || pid == own {
			continue
		}
		if of, err := unix.Getpgid(pid); err == nil && of == group {
			pids = append(pids, pid)
		}
	}
	return pids
}
