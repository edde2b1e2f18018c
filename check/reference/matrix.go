// The few NumPy operations that picoGPT uses, on gonum's BLAS. Each returns a new matrix, as
// NumPy's do. Gonum's package mat would bring its solvers into every program, 1.8 MB.
package reference

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/floats"
)

// A Matrix is rows of numbers, one after the other in Data, or some columns of another Matrix.
type Matrix struct {
	Rows, Cols int
	Stride     int // from one row to the next in Data: Cols, unless these are some columns
	Data       []float64
}

// NewMatrix returns a matrix of these numbers, [rows, cols], or of zeros if data is nil.
func NewMatrix(rows, cols int, data []float64) *Matrix {
	if data == nil {
		data = make([]float64, rows*cols)
	}
	return &Matrix{rows, cols, cols, data[:rows*cols]}
}

// Row returns row i, [cols], as a view.
func (x *Matrix) Row(i int) []float64 { return x.Data[i*x.Stride:][:x.Cols:x.Cols] }

// Clone returns a copy, [rows, cols].
func (x *Matrix) Clone() *Matrix { return eachRow(x, func([]float64) {}) }

func matmul(a, b *Matrix) *Matrix { // [m, k] @ [k, n] -> [m, n]
	y := NewMatrix(a.Rows, b.Cols, nil)
	gonum.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, a.Rows, b.Cols, a.Cols,
		1, a.Data, a.Stride, b.Data, b.Stride, 0, y.Data, y.Stride)
	return y
}

func matmulT(a, b *Matrix) *Matrix { // [m, k] @ [n, k].T -> [m, n]
	y := NewMatrix(a.Rows, b.Rows, nil)
	gonum.Implementation{}.Dgemm(blas.NoTrans, blas.Trans, a.Rows, b.Rows, a.Cols,
		1, a.Data, a.Stride, b.Data, b.Stride, 0, y.Data, y.Stride)
	return y
}

func add(a, b *Matrix) *Matrix { // [m, n] + [m, n] -> [m, n]
	y := a.Clone()
	for i := range y.Rows {
		floats.Add(y.Row(i), b.Row(i))
	}
	return y
}

func times(c float64, x *Matrix) *Matrix { // [m, n] -> [m, n]
	return eachRow(x, func(row []float64) { floats.Scale(c, row) })
}

func each(x *Matrix, f func(float64) float64) *Matrix { // [m, n] -> [m, n]
	return eachRow(x, func(row []float64) {
		for j, v := range row {
			row[j] = f(v)
		}
	})
}

// [m, n] -> [m, n]; f changes its row in place
func eachRow(x *Matrix, f func(row []float64)) *Matrix {
	rows := make([][]float64, x.Rows)
	for i := range rows {
		rows[i] = x.Row(i)
	}
	y := NewMatrix(x.Rows, x.Cols, slices.Concat(rows...))
	for i := range y.Rows {
		f(y.Row(i))
	}
	return y
}

func split(x *Matrix, n int) []*Matrix { // [m, n*w] -> [n, m, w], views into x
	w := x.Cols / n
	parts := make([]*Matrix, n)
	for i := range parts {
		parts[i] = &Matrix{x.Rows, w, x.Stride, x.Data[i*w : (x.Rows-1)*x.Stride+(i+1)*w]}
	}
	return parts
}

func hstack(parts []*Matrix) *Matrix { // [n, m, w] -> [m, n*w]
	y := NewMatrix(parts[0].Rows, len(parts)*parts[0].Cols, nil)
	for i, part := range split(y, len(parts)) {
		for j := range part.Rows {
			copy(part.Row(j), parts[i].Row(j))
		}
	}
	return y
}

// meanVariance returns the mean and the mean squared distance from it, as np.mean and np.var do.
func meanVariance(row []float64) (mean, variance float64) {
	n := float64(len(row))
	mean = floats.Sum(row) / n
	for _, v := range row {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / n
}
