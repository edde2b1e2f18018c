// Package webparts is what pages share: colours, styles and scripts, a text that is cut at its tokens,
// with nothing in it that a page may not hold, and how surprising a token is.
package webparts

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

//go:embed palette.css
var palette string

//go:embed parts.css
var style string

//go:embed sheet.css
var sheet string

//go:embed parts.js
var script string

// Files returns the files that a server gives out, by name: palette.css, the colours, light and
// dark; parts.css and parts.js, a module, which draw what models do inside.
func Files() map[string]string {
	return map[string]string{"palette.css": palette, "parts.css": style, "parts.js": script}
}

// A Span is where a token stands in a text, in bytes.
type Span struct{ Start, End int }

// A Piece is one or more tokens: tokens that share a character are drawn as one.
type Piece struct {
	Text        string
	First, Last int // tokens
}

// Pieces cuts a text at the tokens that begin with a character. Text that belongs to no token,
// because the vocabulary drops it, is drawn with the token after it, and at the end with the last.
func Pieces(text string, tokens []Span) []Piece {
	var all []Piece
	begin, end := 0, 0 // of the newest piece
	for i, t := range tokens {
		if n := len(all); n > 0 && t.Start > 0 && inside(text, t.Start) {
			all[n-1].Last = i
			all[n-1].Text = text[begin:t.End]
		} else {
			begin = min(end, t.Start)
			all = append(all, Piece{text[begin:t.End], i, i})
		}
		end = max(end, t.End)
	}
	if n := len(all); n > 0 {
		all[n-1].Text = text[begin:]
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

// Shown returns a piece's text as a page shows it, with its spaces and line ends.
func Shown(text string) string { return Visible(strings.ToValidUTF8(text, "\uFFFD"), "\n\t") }

// Visible replaces control characters: those that move a terminal's cursor or change its state,
// those that a page may not hold, and those that reverse the direction of text. It leaves those of
// keep.
func Visible(s, keep string) string {
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

// Quoted shows a token's spaces, and its bytes that are not text.
func Quoted(s string) string {
	if !utf8.ValidString(s) {
		return fmt.Sprintf("bytes % x", s)
	}
	return strings.NewReplacer(" ", "␣", "\n", "↵").Replace(Visible(s, "\n"))
}

// Excerpt returns the beginning of a text, for a title.
func Excerpt(s string) string {
	const most = 60
	s = Visible(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), "")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// How surprising a token is, as one of a few colours.

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
