package sample_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/sample"
)

func TestLikeliestBreaksTiesByID(t *testing.T) {
	x := []float32{1, 5, 2, 5, 2, 2, 0}
	all := []int{1, 3, 2, 4, 5, 0, 6}
	for k := range 9 {
		if got, want := sample.Likeliest(x, k), all[:min(k, 7)]; !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", k, got, want)
		}
	}
}

func TestLikeliestIsTheBeginningOfTheSortedIDs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, 1000)
	ids := make([]int, len(x))
	for i := range x {
		x[i], ids[i] = float32(r.IntN(300))-150, i
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(x[b], x[a]) })
	for _, k := range []int{1, 2, 10, 500, 999, 1000, 2000} {
		if got, want := sample.Likeliest(x, k), ids[:min(k, len(x))]; !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", k, got, want)
		}
	}
}
