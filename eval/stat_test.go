package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"picogpt/kernels"
)

// exactEntropy is −Σ p·ln p by package math.
func exactEntropy(logits []float32) float64 {
	most := math.Inf(-1)
	for _, x := range logits {
		most = max(most, float64(x))
	}
	z, s := 0.0, 0.0
	for _, x := range logits {
		d := most - float64(x)
		z += math.Exp(-d)
		s += d * math.Exp(-d)
	}
	return math.Log(z) + s/z
}

func TestEntropy(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	normal := func(n int, scale, shift float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(scale*rng.NormFloat64() + shift)
		}
		return x
	}
	cases := map[string][]float32{
		"one": {3}, "equal": {1, 1, 1, 1, 1, 1, 1}, "certain": {0, 1000, -1000},
		"huge": {1e30, -1e30, 0}, "large": {5000, -1e30, 0, 5000},
		"far":                    {0, -699.9, -700.1, -1e5},
		"near the table's edges": {0, -0.00135, -0.0027, -0.693, -0.694, -1.386},
		"vocabulary":             normal(50257, 3, -80), "flat": normal(50257, 0.01, 5),
		"sharp": normal(50257, 30, 0),
	}
	for n := range 20 {
		cases[fmt.Sprint("length ", n+1)] = normal(n+1, 4, 0)
	}
	table := newDecay()
	for name, x := range cases {
		got, want := table.entropy(x, kernels.Leaves{}.LogSumExp(x)), exactEntropy(x)
		if !(math.Abs(got-want) <= 1e-11*want+1e-12) || got < 0 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestRankWithTies(t *testing.T) {
	x := []float32{1, 5, 2, 5, 2, 2, 0}
	for id, want := range []int{5, 0, 2, 0, 2, 2, 6} {
		n, greedy := rank(x, id)
		if n != want || greedy != (id == 1) {
			t.Errorf("id %d: rank %d, greedy %t, want %d", id, n, greedy, want)
		}
	}
}
