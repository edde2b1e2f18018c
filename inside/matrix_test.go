package inside

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func random(r *rand.Rand, rows, cols int) [][]float64 {
	x := make([][]float64, rows)
	for i := range x {
		for range cols {
			x[i] = append(x[i], r.NormFloat64())
		}
	}
	return x
}

// gonum is a matrix of gonum with so many columns.
func gonum(x [][]float64, cols int) *mat.Dense {
	return mat.NewDense(len(x), cols, slices.Concat(x...))
}

func TestSingularValuesAreGonums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for _, c := range []struct{ rank, rows, cols int }{{1, 1, 1}, {1, 5, 3}, {3, 7, 5}, {8, 8, 20},
		{64, 96, 80}} {
		x, y := random(r, c.rank, c.rows), random(r, c.rank, c.cols)
		if c.rank == 8 { // less than it may be
			x[3], y[5] = slices.Clone(x[2]), make([]float64, c.cols)
		}
		var product mat.Dense
		product.Mul(gonum(x, c.rows).T(), gonum(y, c.cols))
		var svd mat.SVD
		if !svd.Factorize(&product, mat.SVDThin) {
			t.Fatal("gonum finds none")
		}
		want := svd.Values(nil)
		values := singular(x, y)
		for i, v := range values {
			if math.Abs(v-want[i]) > 1e-13*want[0] {
				t.Errorf("%v: value %d: %v, want %v", c, i, v, want[i])
			}
			scale(x[i], v)
		}
		var again, off mat.Dense // the sum of the values times both vectors
		again.Mul(gonum(x, c.rows).T(), gonum(y, c.cols))
		off.Sub(&again, &product)
		if n := mat.Norm(&off, 2); n > 1e-13*want[0] {
			t.Errorf("%v: the decomposition is %v away", c, n)
		}
		for i := range values { // orthonormal, where a value is not 0
			scale(x[i], 1/values[i])
			for j := range i + 1 {
				for side, rows := range [][][]float64{x, y} {
					wanted := 0.0
					if i == j && values[i] > 1e-10*values[0] {
						wanted = 1
					}
					if d := inner(rows[i], rows[j]); values[i] > 1e-10*values[0] &&
						math.Abs(d-wanted) > 1e-10 {
						t.Errorf("%v: side %d: vectors %d and %d: product %v", c, side, i, j, d)
					}
				}
			}
		}
	}
}

func squares(x [][]float64) (sum float64) {
	for _, row := range x {
		sum += inner(row, row)
	}
	return sum
}

func TestEigenvaluesAreGonums(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	for _, n := range []int{1, 2, 3, 7, 16, 64} {
		for i := range 8 {
			x := random(r, n, n)
			for k := range x { // of many sizes, far from normal
				if i%2 == 1 {
					scale(x[k], math.Exp(2*r.NormFloat64()))
				}
			}
			largest := math.Sqrt(squares(x))
			var eigen mat.Eigen
			if !eigen.Factorize(gonum(x, n), mat.EigenNone) {
				t.Fatal("gonum finds none")
			}
			want := eigen.Values(nil)
			got := eigenvalues(x)
			for _, v := range got { // each is one of gonum's
				at, best := 0, math.Inf(1)
				for i, w := range want {
					if d := cmplx.Abs(v - w); d < best {
						at, best = i, d
					}
				}
				if !(best <= 1e-12*largest) {
					t.Fatalf("%d: eigenvalue %v, the nearest of gonum's is %v away", n, v, best)
				}
				want = slices.Delete(want, at, at+1)
			}
		}
	}
	for name, c := range map[string]struct {
		of   [][]float64
		want []complex128
	}{
		"nilpotent":   {[][]float64{{0, 0}, {1, 0}}, []complex128{0, 0}},
		"a circle":    {[][]float64{{0, 0, 1}, {1, 0, 0}, {0, 1, 0}}, []complex128{1, complex(-.5, math.Sqrt(.75)), complex(-.5, -math.Sqrt(.75))}},
		"zero":        {[][]float64{{0, 0}, {0, 0}}, []complex128{0, 0}},
		"a turn":      {[][]float64{{0, -2}, {2, 0}}, []complex128{2i, -2i}},
		"a triangle":  {[][]float64{{1, 5, 9}, {0, 3, 7}, {0, 0, 2}}, []complex128{3, 2, 1}},
		"great parts": {[][]float64{{1e200, 0}, {0, -1e-200}}, []complex128{1e200, -1e-200}},
	} {
		for i, v := range eigenvalues(c.of) {
			if !(cmplx.Abs(v-c.want[i]) <= 1e-7*(1+cmplx.Abs(c.want[i]))) &&
				!(cmplx.Abs(v-cmplx.Conj(c.want[i])) <= 1e-7*(1+cmplx.Abs(c.want[i]))) {
				t.Errorf("%s: eigenvalue %d: %v, want %v", name, i, v, c.want[i])
			}
		}
	}
}
