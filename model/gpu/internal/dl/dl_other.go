//go:build !((linux || darwin || windows) && (amd64 || arm64))

package dl

import (
	"errors"
	"fmt"
	"runtime"
)

// Open finds nothing on this system.
func Open(names ...string) (Library, error) {
	return Library{}, fmt.Errorf("no libraries are loaded on %s/%s", runtime.GOOS, runtime.GOARCH)
}

// Function finds nothing on this system.
func (l Library) Function(name string) (uintptr, error) { return 0, errors.New("no " + name) }

// Call is not reached: there is no function.
func Call(function uintptr, args ...uintptr) uintptr { panic("dl: no function") }
