package inside

// Detectors: how much the heads look as a pattern says.

import (
	"fmt"
	"math"
)

// A Detector compares what heads look at with a pattern, as TransformerLens's detect_head does.
type Detector struct {
	// Pattern [tokens, tokens] says what a token, a row, looks at; what comes after it is 0.
	Pattern [][]float64

	// Measure is "mul" (or ""), the share of all weights that the pattern, of zeros and ones, has;
	// or "abs", 1 less the absolute differences, of a token in the mean: from −1 to 1.
	Measure string

	ExcludeBOS     bool // without the weights of the first token
	ExcludeCurrent bool // and without those of each token itself
}

// NamedPattern returns a pattern that TransformerLens has a name for: "previous", the token before;
// "duplicate", each earlier token that is the same; and "induction", the tokens after those. It is
// nil for another name.
func NamedPattern(name string, tokens []int) [][]float64 {
	after, known := map[string]int{"previous": 0, "duplicate": 0, "induction": 1}[name]
	if !known {
		return nil
	}
	all := make([][]float64, len(tokens))
	for t := range all {
		all[t] = make([]float64, len(tokens))
		for j := range t {
			if name == "previous" && j == t-1 || name != "previous" && tokens[j] == tokens[t] {
				all[t][j+after] = 1
			}
		}
	}
	return all
}

func (d *Detector) check(tokens int) error {
	if len(d.Pattern) != tokens {
		return fmt.Errorf("pattern of %d rows, want %d, one for each token", len(d.Pattern), tokens)
	}
	for t, row := range d.Pattern {
		if len(row) != tokens {
			return fmt.Errorf("pattern: row %d has %d numbers, want %d", t, len(row), tokens)
		}
		for j, x := range row {
			if math.IsNaN(x-x) || j > t && x != 0 {
				return fmt.Errorf("pattern: row %d has %v for token %d, want a number, and 0 for "+
					"later tokens", t, x, j)
			}
		}
	}
	return nil
}

// A match is what a row of weights has to do with a pattern, and the sum of its weights.
type match struct{ sum, weights float64 }

// row compares the weights of the last of some tokens with its row of the pattern.
func (d *Detector) row(weights []float32) (m match) {
	t := len(weights) - 1
	for j, w32 := range weights {
		if d.ExcludeBOS && j == 0 || d.ExcludeCurrent && j == t {
			continue
		}
		w, want := float64(w32), d.Pattern[t][j]
		m.weights += w
		if d.Measure == "abs" {
			m.sum += math.Abs(w - want)
		} else {
			m.sum += float64(w * want)
		}
	}
	return m
}

// score puts together the rows of a head, in their order: every stride-th of all from an index on.
func (d *Detector) score(all []match, from, stride, tokens int) float64 {
	var m match
	for ; from < len(all); from += stride {
		m.sum += all[from].sum
		m.weights += all[from].weights
	}
	switch {
	case d.Measure == "abs":
		return 1 - m.sum/float64(tokens)
	case m.weights == 0: // all are excluded
		return 0
	}
	return m.sum / m.weights
}
