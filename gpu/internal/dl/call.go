//go:build (linux || darwin || windows) && (amd64 || arm64)

package dl

import (
	"errors"

	"github.com/ebitengine/purego"
)

// Open loads the first library that is there. The error has a line for each that is not.
func Open(names ...string) (Library, error) {
	var missing []error
	for _, name := range names {
		handle, err := open(name)
		if err == nil {
			return Library{handle}, nil
		}
		missing = append(missing, err)
	}
	return Library{}, errors.Join(missing...)
}

// Function returns the address of a function.
func (l Library) Function(name string) (uintptr, error) { return symbol(l.handle, name) }

// Call calls a function with integers and pointers, and returns what it returns. What a pointer
// points to stays where it is if the conversion to uintptr is written in the call itself.
//
//go:uintptrescapes
func Call(function uintptr, args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(function, args...)
	return result
}
