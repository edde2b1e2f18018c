// Package cases says how many of their cases tests do: a sample, or with go test -tags long all.
package cases

import (
	"maps"
	"slices"
)

// Of returns how many of a number of cases to do.
func Of(some, all int) int {
	if Long {
		return all
	}
	return some
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
