package inside

// Matrices in float64: singular values of a product, and eigenvalues. Every sum has one order, and
// no product is fused with one, so that all processors have the same bits.

import (
	"cmp"
	"math"
	"slices"
)

// inner returns the sum of products, in four parts.
func inner(x, y []float64) float64 {
	var a, b, c, d float64
	for y = y[:len(x)]; len(x) >= 4; x, y = x[4:], y[4:] {
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

// products returns x·yᵀ of the rows of both.
func products(x, y [][]float64) [][]float64 {
	all := make([][]float64, len(x))
	for i := range x {
		all[i] = make([]float64, len(y))
		for j := range y {
			all[i][j] = inner(x[i], y[j])
		}
	}
	return all
}

// singular makes of xᵀ·y, which has as many rows as both, its singular value decomposition: the
// values in falling order, with the left vectors in the rows of x, the right ones in those of y. Of a
// value of 0 one of them is 0.
func singular(x, y [][]float64) []float64 {
	orthogonal(x, y)
	for i := range x {
		n := math.Sqrt(inner(x[i], x[i]))
		scale(x[i], 1/n)
		scale(y[i], n)
	}
	orthogonal(y, x)
	order, values := make([]int, len(x)), make([]float64, len(x))
	for i := range x {
		order[i], values[i] = i, math.Sqrt(inner(y[i], y[i]))
		scale(y[i], 1/values[i])
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[j], values[i]) })
	for _, rows := range []*[][]float64{&x, &y} {
		old := slices.Clone(*rows)
		for i, at := range order {
			(*rows)[i] = old[at]
		}
	}
	slices.SortStableFunc(values, func(a, b float64) int { return cmp.Compare(b, a) })
	return values
}

// scale multiplies numbers, by nothing that is infinite: what is divided by 0 is 0.
func scale(x []float64, by float64) {
	for i := range x {
		if x[i] *= by; math.IsInf(by, 0) {
			x[i] = 0
		}
	}
}

// orthogonal turns the rows of x until they are orthogonal, and those of y with them: Hestenes's
// one-sided form of Jacobi's method. xᵀ·y stays as it is.
func orthogonal(x, y [][]float64) {
	const most, small = 60, 0x1p-46 // sweeps, of which about ten are needed
	for turned, sweep := true, 0; turned && sweep < most; sweep++ {
		turned = false
		for i := range x {
			for j := range i {
				p, q, r := inner(x[i], x[i]), inner(x[j], x[j]), inner(x[i], x[j])
				if math.Abs(r) <= float64(small*math.Sqrt(p)*math.Sqrt(q)) {
					continue
				}
				turned = true
				z := (q - p) / (2 * r)
				t := math.Copysign(1/(math.Abs(z)+math.Sqrt(1+float64(z*z))), z)
				cos := 1 / math.Sqrt(1+float64(t*t))
				sin := float64(cos * t)
				for _, rows := range [][][]float64{x, y} {
					a, b := rows[i], rows[j]
					for k, v := range a {
						a[k] = float64(cos*v) - float64(sin*b[k])
						b[k] = float64(sin*v) + float64(cos*b[k])
					}
				}
			}
		}
	}
}

// eigenvalues returns those of a square matrix, the greatest real part first: turns in two
// coordinates make it a Hessenberg matrix, and QR steps with shifts a triangle. Golub and Van Loan,
// Matrix Computations, section 7.5, on complex numbers. Shifts lie beside the last element, by less
// and less, so that a real matrix gets complex ones.
func eigenvalues(x [][]float64) []complex128 {
	n := len(x)
	a := make([][]complex128, n)
	for i := range a {
		a[i] = make([]complex128, n)
		for j, v := range x[i] {
			a[i][j] = complex(v, 0)
		}
	}
	for k := range n {
		for i := k + 2; i < n; i++ {
			turn(a, k+1, i, a[k+1][k], a[i][k])
			a[i][k] = 0
		}
	}
	for high, steps := n-1, 0; high > 0; steps++ {
		if steps > 60*n { // about four for each are needed
			a[0][0] = complex(math.NaN(), 0)
			break
		}
		low := high
		for ; low > 0; low-- {
			beside := length(a[low-1][low-1]) + length(a[low][low])
			if length(a[low][low-1]) <= float64(0x1p-52*beside) {
				a[low][low-1] = 0
				break
			}
		}
		if low == high {
			high--
			continue
		}
		shift := a[high][high] + complex(0, length(a[high][high-1]))
		for k, u, v := low, a[low][low]-shift, a[low+1][low]; k < high; k++ {
			turn(a, k, k+1, u, v)
			if k > low {
				a[k+1][k-1] = 0
			}
			if k+2 <= high {
				u, v = a[k+1][k], a[k+2][k]
			}
		}
	}
	values := make([]complex128, n)
	for i := range values {
		values[i] = a[i][i]
	}
	slices.SortStableFunc(values, func(v, w complex128) int {
		return cmp.Or(cmp.Compare(real(w), real(v)), cmp.Compare(imag(w), imag(v)))
	})
	return values
}

// turn makes a similar matrix, by a turn in the coordinates p and q that makes of x and y there
// their length and 0.
func turn(a [][]complex128, p, q int, x, y complex128) {
	r := math.Sqrt(squared(x) + squared(y))
	if r == 0 {
		return
	}
	x, y = complex(real(x)/r, imag(x)/r), complex(real(y)/r, imag(y)/r)
	xc, yc := complex(real(x), -imag(x)), complex(real(y), -imag(y))
	for k := range a {
		v, w := a[p][k], a[q][k]
		a[p][k], a[q][k] = times(xc, v)+times(yc, w), times(x, w)-times(y, v)
	}
	for _, row := range a {
		v, w := row[p], row[q]
		row[p], row[q] = times(v, x)+times(w, y), times(w, xc)-times(v, yc)
	}
}

// times is v·w, of which Go might fuse a product and a sum.
func times(v, w complex128) complex128 {
	return complex(float64(real(v)*real(w))-float64(imag(v)*imag(w)),
		float64(real(v)*imag(w))+float64(imag(v)*real(w)))
}

func squared(v complex128) float64 {
	return float64(real(v)*real(v)) + float64(imag(v)*imag(v))
}

func length(v complex128) float64 { return math.Sqrt(squared(v)) }
