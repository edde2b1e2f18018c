package cases

import "testing"

// Sized is Of, and a fifth of some under -short, which is for the race detector.
func Sized(some, all int) int {
	if !Long && testing.Short() {
		return max(1, some/5)
	}
	return Of(some, all)
}

// Short reports whether a test does one case of each kind: under -short, but not under the race
// detector, which looks at what only many cases do.
func Short() bool { return testing.Short() && !Long && !race }

// NotShort leaves a test out where one case of each kind is done: quicker tests have its kind.
func NotShort(t testing.TB) {
	if t.Helper(); Short() {
		t.Skip("not with -short: quicker tests are of the same kind")
	}
}
