package lineedit

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	getMode    = unix.TCGETS
	setModeNow = unix.TCSETS
	disabled   = 0 // of a control character: no key is it
)

// stop stops the process group, as the terminal does at Ctrl-Z, and returns when it goes on, or at
// once where nobody could make it go on and the system ignores it.
func stop() {
	if pid := unix.Getpid(); pid == unix.Getpgrp() { // nobody else is to be stopped
		// A signal to the thread that sends it has come when the call returns.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		unix.Tgkill(pid, unix.Gettid(), unix.SIGTSTP)
		return
	}
	unix.Kill(0, unix.SIGTSTP)
	for pending := true; pending; { // until another thread has taken it
		const size = 8 // of a set of signals, from the first on
		var set [2]uintptr
		_, _, err := unix.Syscall(unix.SYS_RT_SIGPENDING, uintptr(unsafe.Pointer(&set)), size, 0)
		pending = err == 0 && set[0]&(1<<(unix.SIGTSTP-1)) != 0
	}
}
