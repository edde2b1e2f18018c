package main

// The time that this thread has computed: other programs do not count.

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
