// Package dl calls functions of the system's shared libraries, which are found when the program
// runs, without cgo. It stands on purego; on systems where it is not, no library opens.
package dl

// A Library is a shared library that stays loaded.
type Library struct{ handle uintptr }
