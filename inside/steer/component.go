package steer

// The first principal component, by power iteration: every product is rounded before it is added, so
// that no processor fuses them, and every sum has one order.

import "math"

// iterations of the power iteration. It may end before, where nothing changes any more.
const iterations = 1000

// component returns the first principal component of rows [n, width]: of length 1, with the sign that
// most rows have along it, or else their sum. It is nil if all rows are equal.
func component(rows [][]float32) []float64 {
	mean := make([]float64, len(rows[0]))
	for j := range mean {
		for _, row := range rows {
			mean[j] += float64(row[j])
		}
		mean[j] /= float64(len(rows))
	}
	centred := make([][]float64, len(rows)) // [n, width]
	for i, row := range rows {
		centred[i] = make([]float64, len(mean))
		for j, x := range row {
			centred[i][j] = float64(x) - mean[j]
		}
	}
	direction := first(centred)
	if direction == nil {
		return nil
	}
	ahead := 0
	for _, row := range rows {
		switch along := project(row, direction); {
		case along > 0:
			ahead++
		case along < 0:
			ahead--
		}
	}
	if ahead < 0 || ahead == 0 && dot(mean, direction) < 0 {
		for j := range direction {
			direction[j] = -direction[j]
		}
	}
	return direction
}

// first returns the first right singular vector of x [n, width], nil if x is 0. It iterates over the
// smaller one of x xᵀ and xᵀ x.
func first(x [][]float64) []float64 {
	if len(x) > len(x[0]) {
		return power(gram(transposed(x))) // [width, width]
	}
	u := power(gram(x)) // [n, n]
	if u == nil {
		return nil
	}
	v := make([]float64, len(x[0]))
	for i, row := range x {
		for j := range v {
			v[j] += float64(u[i] * row[j])
		}
	}
	return unit(v)
}

// power returns the eigenvector of the largest eigenvalue of a symmetric matrix without negative
// ones, of length 1; nil if the matrix is 0. The start is fixed: numbers of a small generator, which
// no eigenvector is orthogonal to but by chance.
func power(a [][]float64) []float64 {
	v, next := make([]float64, len(a)), make([]float64, len(a))
	state := uint64(1)
	for i := range v {
		state = state*6364136223846793005 + 1442695040888963407
		v[i] = float64(state>>40)/(1<<24) + 0.5
	}
	for range iterations {
		for i, row := range a {
			next[i] = dot(row, v)
		}
		if unit(next) == nil {
			return nil
		}
		same := true
		for i, x := range next {
			same = same && x == v[i]
		}
		if v, next = next, v; same {
			break
		}
	}
	return v
}

// gram returns x xᵀ, [n, n].
func gram(x [][]float64) [][]float64 {
	a := make([][]float64, len(x))
	for i := range a {
		a[i] = make([]float64, len(x))
		for j := range i + 1 {
			a[i][j] = dot(x[i], x[j])
			a[j][i] = a[i][j]
		}
	}
	return a
}

// transposed returns xᵀ.
func transposed(x [][]float64) [][]float64 {
	t := make([][]float64, len(x[0]))
	for j := range t {
		t[j] = make([]float64, len(x))
		for i := range x {
			t[j][i] = x[i][j]
		}
	}
	return t
}

// unit divides x by its length, and returns it; nil if it is 0.
func unit(x []float64) []float64 {
	length := math.Sqrt(dot(x, x))
	if length == 0 {
		return nil
	}
	for i := range x {
		x[i] /= length
	}
	return x
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}

// project returns the product of a row and a direction.
func project[F float32 | float64](row []float32, direction []F) float64 {
	sum := 0.0
	for i, x := range row {
		sum += float64(float64(x) * float64(direction[i]))
	}
	return sum
}
