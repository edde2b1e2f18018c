//go:build long

package cases

// Long reports whether a test does all of its cases.
const Long = true
