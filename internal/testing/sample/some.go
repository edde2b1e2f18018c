//go:build !long

package sample

// Long reports whether a test does all of its cases.
const Long = false
