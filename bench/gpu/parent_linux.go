package main

import (
	"runtime"
	"syscall"
)

// endsWithParent: what a kit has begun ends with it, also where the kit is killed.
var endsWithParent = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}

// A parent in the system's eyes is a thread: the first, which lives as long as the process.
func init() { runtime.LockOSThread() }
