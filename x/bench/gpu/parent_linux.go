package main

import (
	"runtime"
	"syscall"
)

// endsWithParent makes a process end when the kit ends, even if the kit is killed.
var endsWithParent = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}

// For the system, the parent is a thread: this one, the first, lives as long as the process.
func init() { runtime.LockOSThread() }
