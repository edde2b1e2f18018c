// Package dl calls functions of the system's shared libraries, which it loads at run time, without
// cgo. It uses purego; on systems that purego does not support, Open returns an error.
package dl

// A Library is a shared library that stays loaded.
type Library struct{ handle uintptr }
