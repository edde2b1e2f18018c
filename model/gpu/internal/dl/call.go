//go:build (linux || darwin || windows) && (amd64 || arm64)

package dl

import "github.com/ebitengine/purego"

// Open loads the first library that exists. An error is that of the first name.
func Open(names ...string) (l Library, first error) {
	for _, name := range names {
		handle, err := open(name)
		if err == nil {
			return Library{handle}, nil
		}
		if first == nil {
			first = err
		}
	}
	return Library{}, first
}

// Function returns the address of a function.
func (l Library) Function(name string) (uintptr, error) { return symbol(l.handle, name) }

// Call calls a function with integers and pointers, and returns its result. Memory behind a pointer
// does not move if the conversion to uintptr stands in the call itself.
//
//go:uintptrescapes
func Call(function uintptr, args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(function, args...)
	return result
}
