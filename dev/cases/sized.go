package cases

import "testing"

// Sized is Of, and a fifth of some under -short, which is for the race detector.
func Sized(some, all int) int {
	if !Long && testing.Short() {
		return max(1, some/5)
	}
	return Of(some, all)
}
