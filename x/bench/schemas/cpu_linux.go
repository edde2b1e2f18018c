package main

// The processor time of this thread, which does not include other programs.

import (
	"syscall"
	"time"
	"unsafe"
)

const threadTime = 3 // CLOCK_THREAD_CPUTIME_ID

func processorTime() time.Duration {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadTime, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}
