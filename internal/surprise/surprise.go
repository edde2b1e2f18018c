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

// A Scale is what colours stand for.
type Scale string

const (
	ByRank      Scale = "rank"      // how many tokens the model preferred
	BySurprisal Scale = "surprisal" // −log₂ of the probability, in bits
)

// Levels is the number of colours.
const Levels = 5

// Limits are where a scale's levels end: a token below limit i and no other is of level i.
func (s Scale) Limits() [Levels - 1]float64 {
	if s == BySurprisal {
		return [...]float64{1, 3, 6, 10}
	}
	return [...]float64{1, 10, 100, 1000}
}

// Names describe a scale's levels.
func (s Scale) Names() [Levels]string {
	if s == BySurprisal {
		return [...]string{"under 1 bit", "under 3", "under 6", "under 10", "10 bits and more"}
	}
	return [...]string{"rank 0: the first choice", "1 to 9", "10 to 99", "100 to 999",
		"1000 and more"}
}

// Level is the level of a token, −1 for one with nothing before it.
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

// A piece is one token or more: tokens that share a character are drawn as one.
type piece struct {
	text        string
	first, last int // tokens
}

// pieces cuts the text at tokens that begin with a character.
func pieces(s *eval.Scored) []piece {
	var all []piece
	for i, t := range s.Tokens {
		if n := len(all); n > 0 && t.Start > 0 && inside(s.Text, t.Start) {
			all[n-1].last = i
			all[n-1].text = s.Text[s.Tokens[all[n-1].first].Start:t.End]
			continue
		}
		all = append(all, piece{s.Text[t.Start:t.End], i, i})
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

// visible replaces control characters: what would move a terminal's cursor or change its state,
// what a page may not hold, and what would turn the rest of the text around. Those of keep stay.
func visible(s, keep string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(keep, r):
			return r
		case r < ' ':
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		case r >= 0x80 && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // the latter turn the direction of what follows
			return utf8.RuneError
		}
		return r
	}, s)
}

// summary says in a line how surprising the whole is.
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
