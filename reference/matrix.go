// The few NumPy operations that picoGPT uses, on gonum's matrices. Each returns a new matrix, as
// NumPy's do.
package reference

import "gonum.org/v1/gonum/mat"

func matmul(a, b mat.Matrix) *mat.Dense { // [m, k] @ [k, n] -> [m, n]
	var y mat.Dense
	y.Mul(a, b)
	return &y
}

func add(a, b *mat.Dense) *mat.Dense { // [m, n] + [m, n] -> [m, n]
	var y mat.Dense
	y.Add(a, b)
	return &y
}

func times(c float64, x *mat.Dense) *mat.Dense { // [m, n] -> [m, n]
	var y mat.Dense
	y.Scale(c, x)
	return &y
}

func each(x *mat.Dense, f func(float64) float64) *mat.Dense { // [m, n] -> [m, n]
	var y mat.Dense
	y.Apply(func(_, _ int, v float64) float64 { return f(v) }, x)
	return &y
}

// [m, n] -> [m, n]; f changes its row in place
func eachRow(x *mat.Dense, f func(row []float64)) *mat.Dense {
	y := mat.DenseCopyOf(x)
	for i := range y.RawMatrix().Rows {
		f(y.RawRowView(i))
	}
	return y
}

func split(x *mat.Dense, n int) []*mat.Dense { // [m, n*w] -> [n, m, w], views into x
	rows, cols := x.Dims()
	w := cols / n
	parts := make([]*mat.Dense, n)
	for i := range parts {
		parts[i] = x.Slice(0, rows, i*w, (i+1)*w).(*mat.Dense)
	}
	return parts
}

func hstack(parts []*mat.Dense) *mat.Dense { // [n, m, w] -> [m, n*w]
	rows, w := parts[0].Dims()
	y := mat.NewDense(rows, len(parts)*w, nil)
	for i, part := range split(y, len(parts)) {
		part.Copy(parts[i])
	}
	return y
}
