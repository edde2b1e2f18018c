// Package cases says how many of their cases tests do: a sample, or with go test -tags long all.
package cases

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
)

// Of returns how many of a number of cases to do. In long runs the environment variable CASES, if it is
// set, bounds them: to so many times some.
func Of(some, all int) int {
	if !Long {
		return some
	}
	if n, err := strconv.Atoi(os.Getenv("CASES")); err == nil {
		return min(all, n*some)
	}
	return all
}

// Some returns all of a list, or n that are spread over it. The next turn's begin one later, so that a
// loop whose turns are counted does each somewhere.
func Some[T any](all []T, n, turn int) []T {
	if Long || n >= len(all) {
		return all
	}
	some := make([]T, n)
	for i := range some {
		some[i] = all[(turn+i*len(all)/n)%len(all)]
	}
	return some
}

// Keys returns the keys of a map, all or n of them: see Some.
func Keys[V any](all map[string]V, n, turn int) []string {
	return Some(slices.Sorted(maps.Keys(all)), n, turn)
}

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

// Few is Of, and fewer where one case of each kind is done.
func Few(few, some, all int) int {
	if Short() {
		return few
	}
	return Of(some, all)
}

// NotShort leaves a test out where one case of each kind is done: quicker tests have its kind.
func NotShort(t testing.TB) {
	if t.Helper(); Short() {
		t.Skip("not with -short: quicker tests are of the same kind")
	}
}
