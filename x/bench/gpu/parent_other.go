//go:build !linux

package main

import "syscall"

// endsWithParent does nothing here: the kit is made for Linux.
var endsWithParent *syscall.SysProcAttr
