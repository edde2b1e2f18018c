package reference

// A lesson that leads from package attention (x/attention) to this one. It runs as a test.

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// The first lesson of package attention by this package's function: the same vectors, the same
// results. With the causal mask the first vector sees itself alone.
func Example_attention() {
	x := NewMatrix(3, 2, []float64{1, 0, 0, 1, 1, 1}) // [n_seq, d]: queries, keys and values
	none := NewMatrix(3, 3, nil)                      // [n_seq, n_seq]: hides nothing
	for _, mask := range []*Matrix{none, causalMask(3)} {
		y := attention(x, x, x, mask, 1/math.Sqrt2) // [n_seq, d]
		fmt.Printf("%.4f\n", mat.Formatted(mat.NewDense(3, 2, y.Data)))
	}
	// Output:
	// ⎡0.8022  0.5989⎤
	// ⎢0.5989  0.8022⎥
	// ⎣0.7517  0.7517⎦
	// ⎡1.0000  0.0000⎤
	// ⎢0.3302  0.6698⎥
	// ⎣0.7517  0.7517⎦
}
