// Matrices in float64: the nearest of a rank, and orthonormal columns. Every sum has one order, and
// no product is fused with one, so that all processors have the same bits.

package checkpoint

import (
	"cmp"
	"math"
	"slices"
)

// nearest returns the matrix of a rank that is nearest to x [rows, cols], or of the rank that it may
// have, as a product of left [rows, rank] and right [rank, cols]: x on its first singular vectors, as
// a truncated singular value decomposition has it. Eckart and Young, 1936.
func nearest(x []float32, rows, cols, most int) (left, right []float32, rank int) {
	if rows > cols {
		right, left, rank = nearest(transposed(x, rows, cols), cols, rows, most)
		return transposed(left, rank, rows), transposed(right, cols, rank), rank
	}
	rank = min(most, rows)
	wide, squares := widened(x), make([]float64, rows*rows)
	for i := range rows { // x·xᵀ, from the diagonal on
		for j := i; j < rows; j++ {
			squares[i*rows+j] = dot(wide[i*cols:(i+1)*cols], wide[j*cols:(j+1)*cols])
		}
	}
	vectors := eigenvectors(squares, rows, rank)
	return transposed(rounded(vectors), rank, rows), rounded(times(vectors, wide, rank, rows)), rank
}

// eigenvectors returns those of the largest eigenvalues [count, n] of a symmetric matrix a [n, n],
// whose rows it reads and overwrites from the diagonal on: Householder's reflections make it tridiagonal, and
// Francis's QR steps diagonal. Golub and Van Loan, Matrix Computations, section 8.3.
func eigenvectors(a []float64, n, count int) []float64 {
	diagonal, beside, factors := make([]float64, n), make([]float64, n), make([]float64, n)
	reflected := func(k int) []float64 { return a[k*n+k+1 : (k+1)*n] }
	w := make([]float64, n)
	largest := 0.0
	for k := range n {
		diagonal[k] = a[k*n+k]
		v := reflected(k)
		if len(v) > 0 {
			beside[k], factors[k] = reflector(v)
		}
		largest = max(largest, math.Abs(diagonal[k]), math.Abs(beside[k]))
		// what is left becomes a - v·wᵀ - w·vᵀ
		w := w[:len(v)]
		clear(w)
		for i := range v {
			row := a[(k+1+i)*(n+1) : (k+2+i)*n]
			w[i] += dot(row, v[i:])
			add(w[i+1:], v[i], row[1:])
		}
		for i := range w {
			w[i] = float64(w[i] * factors[k])
		}
		add(w, -factors[k]/2*dot(v, w), v)
		for i := range v {
			row := a[(k+1+i)*(n+1) : (k+2+i)*n]
			add(row, -v[i], w[i:])
			add(row, -w[i], v[i:])
		}
	}
	var turns []planeTurn
	small := 0x1p-50 * largest
	for high := n - 1; high > 0; {
		low := high
		for low > 0 && math.Abs(beside[low-1]) > small {
			low--
		}
		if low == high {
			high--
			continue
		}
		turns = step(diagonal, beside, low, high, turns)
	}
	vectors := make([]float64, count*n)
	for i, at := range descending(diagonal)[:count] {
		y := vectors[i*n : (i+1)*n]
		y[at] = 1
		for _, t := range slices.Backward(turns) {
			p, q := y[t.at], y[t.at+1]
			y[t.at], y[t.at+1] = float64(t.cos*p)-float64(t.sin*q), float64(t.sin*p)+float64(t.cos*q)
		}
		for k := n - 2; k >= 0; k-- {
			mirror(y[k+1:], reflected(k), factors[k])
		}
	}
	return vectors
}

// descending returns the indices of numbers, that of the largest first; of equal ones in order.
func descending[T float32 | float64](x []T) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[j], x[i]) })
	return order
}

// A planeTurn is a rotation in the plane of the coordinates at and at+1.
type planeTurn struct {
	at       int
	cos, sin float64
}

// step makes the numbers beside the diagonal of a symmetric tridiagonal matrix smaller, from low to
// high: a QR step with Wilkinson's shift. It appends its rotations to those before.
func step(diagonal, beside []float64, low, high int, turns []planeTurn) []planeTurn {
	half, last := (diagonal[high-1]-diagonal[high])/2, beside[high-1]
	root := math.Copysign(math.Sqrt(float64(half*half)+float64(last*last)), half)
	x, z := diagonal[low]-diagonal[high]+last*last/(half+root), beside[low]
	for k := low; k < high; k++ {
		r := math.Sqrt(float64(x*x) + float64(z*z))
		t := planeTurn{at: k, cos: 1}
		if r > 0 {
			t.cos, t.sin = x/r, z/r
		}
		if k > low {
			beside[k-1] = r
		}
		p, q, b := diagonal[k], diagonal[k+1], beside[k]
		g := float64(t.sin*(q-p)) + float64(2*t.cos*b)
		diagonal[k], diagonal[k+1] = p+float64(t.sin*g), q-float64(t.sin*g)
		beside[k] = float64(t.cos*g) - b
		if x = beside[k]; k+1 < high {
			z, beside[k+1] = float64(t.sin*beside[k+1]), float64(t.cos*beside[k+1])
		}
		turns = append(turns, t)
	}
	return turns
}

// orthonormal returns orthonormal columns q, and t [k, k], upper triangular, of a matrix q·t. It and q
// are [k, n], a row for each column; k is at most n. The signs are LAPACK's.
func orthonormal(x []float64, k, n int) (q, t []float64) {
	q, t = make([]float64, k*n), make([]float64, k*k)
	factors := make([]float64, k)
	for j := range k {
		v := x[j*n+j : (j+1)*n]
		t[j*k+j], factors[j] = reflector(v)
		for i := j + 1; i < k; i++ {
			mirror(x[i*n+j:(i+1)*n], v, factors[j])
			t[j*k+i] = x[i*n+j]
		}
	}
	for i := range k {
		q[i*n+i] = 1
		for j := i; j >= 0; j-- {
			mirror(q[i*n+j:(i+1)*n], x[j*n+j:(j+1)*n], factors[j])
		}
	}
	return q, t
}

// reflector makes of x the v of a reflection 1 - factor·v·vᵀ that makes x (first, 0, …).
func reflector(x []float64) (first, factor float64) {
	rest := dot(x[1:], x[1:])
	if rest == 0 {
		return x[0], 0
	}
	first = -math.Copysign(math.Sqrt(float64(x[0]*x[0])+rest), x[0])
	x[0] -= first
	return first, 2 / dot(x, x)
}

// mirror sets y to its reflection.
func mirror(y, v []float64, factor float64) { add(y, -factor*dot(v, y), v) }

// dot returns the sum of products, in four parts.
func dot(x, y []float64) float64 {
	var a, b, c, d float64
	y = y[:len(x)]
	for ; len(x) >= 4; x, y = x[4:], y[4:] {
		a += float64(x[0] * y[0])
		b += float64(x[1] * y[1])
		c += float64(x[2] * y[2])
		d += float64(x[3] * y[3])
	}
	for i, v := range x {
		a += float64(v * y[i])
	}
	return a + b + (c + d)
}

// add adds by times x to y.
func add(y []float64, by float64, x []float64) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += float64(by * v)
	}
}

// times returns the product of x [rows, k] and y [k, cols].
func times(x, y []float64, rows, k int) []float64 {
	cols := len(y) / k
	product := make([]float64, rows*cols)
	for i, v := range x {
		add(product[i/k*cols:(i/k+1)*cols], v, y[i%k*cols:(i%k+1)*cols])
	}
	return product
}

// solve makes of y [n, _] the x with a·x = y, by Gauss's and Jordan's elimination with the largest
// pivot of each column, and overwrites a [n, n]. It reports whether there is one.
func solve(a, y []float64, n int) bool {
	cols := len(y) / n
	for k := range n {
		at := k
		for i := k; i < n; i++ {
			if math.Abs(a[i*n+k]) > math.Abs(a[at*n+k]) {
				at = i
			}
		}
		for i := 0; i < n && at != k; i++ {
			a[k*n+i], a[at*n+i] = a[at*n+i], a[k*n+i]
		}
		for i := 0; i < cols && at != k; i++ {
			y[k*cols+i], y[at*cols+i] = y[at*cols+i], y[k*cols+i]
		}
		if a[k*n+k] == 0 {
			return false
		}
		for i := range n {
			if i != k {
				by := -a[i*n+k] / a[k*n+k]
				add(a[i*n+k:(i+1)*n], by, a[k*n+k:(k+1)*n])
				add(y[i*cols:(i+1)*cols], by, y[k*cols:(k+1)*cols])
			}
		}
	}
	for i := range y {
		y[i] /= a[i/cols*n+i/cols]
	}
	return true
}

// widened returns numbers in float64.
func widened(x []float32) []float64 { return converted[float64](x) }

// rounded returns numbers in float32.
func rounded(x []float64) []float32 { return converted[float32](x) }

func converted[T, F float32 | float64](x []F) []T {
	y := make([]T, len(x))
	for i, v := range x {
		y[i] = T(v)
	}
	return y
}
