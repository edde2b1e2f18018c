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
	By    webparts.Scale
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
