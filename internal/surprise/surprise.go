// Package surprise draws a text by how surprising each token of it is: in a terminal (Terminal), as
// lines of numbers (Table), or as a page for a browser (Page).
package surprise

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"picogpt/eval"
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

// A piece is one or more tokens: tokens that share a character are drawn as one.
type piece struct {
	text        string
	first, last int // tokens
}

// pieces cuts the text at the tokens that begin with a character. Text that belongs to no token,
// because the vocabulary drops it, is drawn with the token after it, and at the end with the last.
func pieces(s *eval.Scored) []piece {
	var all []piece
	begin, end := 0, 0 // of the newest piece
	for i, t := range s.Tokens {
		if n := len(all); n > 0 && t.Start > 0 && inside(s.Text, t.Start) {
			all[n-1].last = i
			all[n-1].text = s.Text[begin:t.End]
		} else {
			begin = min(end, t.Start)
			all = append(all, piece{s.Text[begin:t.End], i, i})
		}
		end = max(end, t.End)
	}
	if n := len(all); n > 0 {
		all[n-1].text = s.Text[begin:]
	}
	return all
}

// inside reports whether byte i of s is within a character.
func inside(s string, i int) bool {
	if i >= len(s) || utf8.RuneStart(s[i]) {
		return false
	}
	for b := max(0, i-utf8.UTFMax+1); b < i; b++ {
		if r, n := utf8.DecodeRuneInString(s[b:]); r != utf8.RuneError && b+n > i {
			return true
		}
	}
	return false
}

// visible replaces control characters: those that move a terminal's cursor or change its state,
// those that a page may not hold, and those that reverse the direction of text. It leaves those of
// keep.
func visible(s, keep string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(keep, r):
			return r
		case r < ' ':
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		case r >= 0x80 && r < 0xa0,
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // change the direction of text
			return utf8.RuneError
		}
		return r
	}, s)
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
