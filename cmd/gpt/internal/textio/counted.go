package textio

// Texts that end early, counted.

import (
	"iter"

	"picogpt/decode"
)

// Counted counts the texts that end before they are of their form.
func Counted(
	tokens iter.Seq2[decode.Token, error], incomplete *int,
) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		for t, err := range tokens {
			if t.Incomplete {
				*incomplete++
			}
			if !yield(t, err) {
				return
			}
		}
	}
}
