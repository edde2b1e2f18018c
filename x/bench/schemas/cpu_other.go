//go:build !linux

package main

import "time"

// processorTime returns the time of the clock on systems without another one.
func processorTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
