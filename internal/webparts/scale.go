package webparts

// How surprising a token is, as one of a few colours.

import "math"

// A Scale is the quantity that colours show.
type Scale string

const (
	ByRank      Scale = "rank"      // how many tokens the model preferred
	BySurprisal Scale = "surprisal" // −log₂ of the probability, in bits
)

// Levels is the number of colours.
const Levels = 5

// Limits returns where a scale's levels end: a token below limit i and at or above limit i-1 has
// level i.
func (s Scale) Limits() [Levels - 1]float64 {
	if s == BySurprisal {
		return [...]float64{1, 3, 6, 10}
	}
	return [...]float64{1, 10, 100, 1000}
}

// Names returns descriptions of a scale's levels.
func (s Scale) Names() [Levels]string {
	if s == BySurprisal {
		return [...]string{"under 1 bit", "under 3", "under 6", "under 10", "10 bits and more"}
	}
	return [...]string{"rank 0: the first choice", "1 to 9", "10 to 99", "100 to 999",
		"1000 and more"}
}

// Level returns the level of a token, −1 for one that nothing precedes, whose rank is −1.
func (s Scale) Level(rank int, logprob float64) int {
	x := float64(rank)
	if s == BySurprisal {
		x = -logprob / math.Ln2
	}
	if rank < 0 {
		return -1
	}
	level := 0
	for _, limit := range s.Limits() {
		if x >= limit {
			level++
		}
	}
	return level
}
