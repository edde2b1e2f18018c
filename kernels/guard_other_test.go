//go:build !linux

package kernels

import "testing"

// roomMemory returns size bytes. Only on Linux is what lies behind them closed.
func roomMemory(t testing.TB, size int) []byte { return make([]byte, size) }
