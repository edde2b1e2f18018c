// Package surprise draws a text by how surprising each token of it is: in a terminal (Terminal), as
// lines of numbers (Table), or as a page for a browser (Page).
package surprise

import (
	"fmt"
	"math"

	"picogpt/eval"
	"picogpt/internal/webparts"
)

// A Picture is a scored text and how to draw it.
type Picture struct {
	Model string // its name, for the heading
	Score eval.Scored
	By    Scale
}

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

// Level returns the level of a token, −1 for one that nothing precedes.
func (s Scale) Level(t *eval.Token) int {
	x := float64(t.Rank)
	if s == BySurprisal {
		x = bits(t.LogProb)
	}
	if t.Rank < 0 {
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

func bits(logprob float64) float64 { return -logprob / math.Ln2 }

// pieces cuts the text at its tokens.
func pieces(s *eval.Scored) []webparts.Piece {
	spans := make([]webparts.Span, len(s.Tokens))
	for i, t := range s.Tokens {
		spans[i] = webparts.Span{Start: t.Start, End: t.End}
	}
	return webparts.Pieces(s.Text, spans)
}

// summary returns a line that says how surprising the whole text is.
func summary(s *eval.Scored) string {
	if s.Count == 0 {
		return "nothing to score: a single token has nothing before it"
	}
	first, ten := 0, 0
	for _, t := range s.Tokens {
		if t.Rank == 0 {
			first++
		}
		if t.Rank >= 0 && t.Rank < 10 {
			ten++
		}
	}
	return fmt.Sprintf("%d tokens scored, %.2f bits each, %.0f %% of them the first choice, %.0f %% among the first ten",
		s.Count, bits(s.Mean), 100*float64(first)/float64(s.Count),
		100*float64(ten)/float64(s.Count))
}
