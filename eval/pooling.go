package eval

// Pooling: from the vectors of a text's tokens to the vector of the text.

import (
	"fmt"
	"math"
)

// A Pooling says how the vectors of a text's tokens become the text's. "" is Mean.
type Pooling string

const (
	Mean     Pooling = "mean"     // of all tokens
	Last     Pooling = "last"     // the last token's
	Weighted Pooling = "weighted" // the mean with weights 1, 2, 3, … (SGPT, arXiv:2202.08904)
)

// Check returns an error unless p is one of the three, or "".
func (p Pooling) Check() error {
	switch p {
	case "", Mean, Last, Weighted:
		return nil
	}
	return fmt.Errorf("pooling %q: want %s, %s or %s", p, Mean, Last, Weighted)
}

// From returns the index of the first token of n whose vector is used.
func (p Pooling) From(n int) int {
	if p == Last {
		return n - 1
	}
	return 0
}

// Vector returns the vector [width] of a text: rows are its tokens' vectors [tokens, width], from
// index From on. The sum is in float64 and in the order of the tokens. With normalize the result
// has length 1, unless it is all zeros.
func (p Pooling) Vector(rows []float32, width int, normalize bool) []float32 {
	sum, of := make([]float64, width), 0.0
	for i := range len(rows) / width {
		weight := 1.0
		if p == Weighted {
			weight = float64(i + 1)
		}
		of += weight
		for k, x := range rows[i*width : (i+1)*width] {
			sum[k] += float64(weight * float64(x))
		}
	}
	if normalize {
		squares := 0.0
		for _, x := range sum {
			squares += float64(x * x)
		}
		of = math.Sqrt(squares)
	}
	to := make([]float32, width)
	for k, x := range sum {
		if of > 0 {
			to[k] = float32(x / of)
		}
	}
	return to
}
