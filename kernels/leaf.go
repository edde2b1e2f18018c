package kernels

// The leaf operations on float32 in pure Go: the definition that every other variant must equal bit
// for bit.

import "math"

// panelCols is the width of a panel; packed matrices and the pages of the cache consist of panels.
// Each variant has its own register tile: a whole number of panels (one in AVX2, four in AVX-512)
// by tileRows rows, which packRows packs.
const (
	panelCols = 16
	tileRows  = 6
)

// tile continues the sums of rows by panels·panelCols outputs: c[i,j] = fma(a[i,k], b[k,j],
// c[i,j]) for each k in order. With add, and k > 0, it starts from +0 instead, and adds the sums to
// c at the end. Rows of c lie ldc apart. Element a[i,k] is at i·lda + k·ka. A panel is panelCols
// columns of b: panel p begins at p·nextb, its rows lie ldb apart.
func tile(
	c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k, panels int,
	add bool,
) {
	for i := range rows {
		for p := range panels {
			y := c[i*ldc+p*panelCols:][:panelCols]
			var sums [panelCols]float32
			if !add {
				copy(sums[:], y)
			}
			for n := range k {
				chain(sums[:], a[i*lda+n*ka:][:1], b[p*nextb+n*ldb:], ldb)
			}
			for j, sum := range sums {
				if add {
					sum = float32(y[j] + sum)
				}
				y[j] = sum
			}
		}
	}
}

// chain continues len(y) sums: y[j] = fma(x[k], w[k·ldw+j], y[j]) for each k in order.
func chain(y, x, w []float32, ldw int) {
	for k, xk := range x {
		for j, wkj := range w[k*ldw : k*ldw+len(y)] {
			y[j] = fma(xk, wkj, y[j])
		}
	}
}

// chain16 is chain for weights in F16 or BF16.
func chain16(y, x []float32, w []uint16, ldw int, bf16 bool) {
	for k, xk := range x {
		for j, wkj := range w[k*ldw : k*ldw+len(y)] {
			y[j] = fma(xk, widen(wkj, bf16), y[j])
		}
	}
}

// chains continues the sums of count segments in parallel, over the first n inputs of each: y[s,j]
// = fma(x[s·segment+k], w[s·segment+k, j], y[s,j]) for each k < n in order and j < cols. Rows of y
// lie ldy apart.
func chains[T float32 | uint16](chain func(y, x []float32, w []T, ldw int)) func(
	y []float32, ldy int, x []float32, w []T, ldw, count, n, cols int,
) {
	return func(y []float32, ldy int, x []float32, w []T, ldw, count, n, cols int) {
		for s := range count {
			chain(y[s*ldy:][:cols], x[s*segment:][:n], w[s*segment*ldw:], ldw)
		}
	}
}

// chainRows continues the sums of several rows, groupDepth inputs at a time: y[i·ldy+j] =
// fma(x[i,k], w[k·ldw+j], y[i·ldy+j]) for each k < groups·groupDepth in order. packGroups has
// packed x. cols is a multiple of panelCols.
func chainRows[T float32 | uint16](chain func(y, x []float32, w []T, ldw int)) func(
	y []float32, ldy int, x []float32, w []T, ldw, rows, groups, cols int,
) {
	return func(y []float32, ldy int, x []float32, w []T, ldw, rows, groups, cols int) {
		for g := range groups {
			for i := range rows {
				chain(y[i*ldy:i*ldy+cols], x[(g*rows+i)*groupDepth:][:groupDepth],
					w[g*groupDepth*ldw:], ldw)
			}
		}
	}
}

// groupDepth is the number of rows of weights, 16 columns wide, that chainRows holds in registers.
const groupDepth = 4

// packGroups copies the rows of x, which lie ldx apart, into chainRows's order: [groups, rows,
// groupDepth].
func packGroups(dst, x []float32, ldx, rows, groups int) {
	for g := range groups {
		for i := range rows {
			copy(dst[(g*rows+i)*groupDepth:][:groupDepth], x[i*ldx+g*groupDepth:])
		}
	}
}

// pack copies panels of panelCols columns so that each panel is contiguous: [panels, k, panelCols].
// A panel is k rows of src that lie ld apart.
func pack(dst, src []float32, ld, k, panels int) {
	for p := range panels {
		for i := range k {
			copy(dst[(p*k+i)*panelCols:][:panelCols], src[i*ld+p*panelCols:])
		}
	}
}

// packRows copies k columns of up to tileRows rows of a, lda apart, into the tile's order:
// dst[k·tileRows + i]. If there are fewer rows it repeats the last one.
func packRows(dst, a []float32, lda, rows, k int) {
	for n := range k {
		for i := range tileRows {
			dst[n*tileRows+i] = a[min(i, rows-1)*lda+n]
		}
	}
}

// packLanes transposes panels of panelCols rows of w, k long and ldw apart, lane after lane (see the
// package comment): weight n of row j of a panel goes to row n/8 of lane n%8, column j. dst is
// [panels, 8, laneDepth(k), panelCols].
func packLanes(dst, w []float32, ldw, k, panels int) {
	packLanesFrom(dst, w, ldw, 0, k, panels, asItIs)
}

func asItIs(x float32) float32 { return x }

// packLanesFrom is packLanes for the weights from … k-1 of each row, which have another format.
func packLanesFrom[T float32 | uint16](
	dst []float32, w []T, ldw, from, k, panels int, widen func(T) float32,
) {
	for j := range panels * panelCols {
		for n := from; n < k; n++ {
			dst[laneAt(j, n, k)] = widen(w[j*ldw+n])
		}
	}
}

// laneDepth returns the number of rows that packLanes leaves for each lane of k numbers.
func laneDepth(k int) int { return (k + 7) / 8 }

// laneAt returns where packLanes puts weight n of k of row j.
func laneAt(j, n, k int) int {
	return ((j/panelCols*8+n%8)*laneDepth(k)+n/8)*panelCols + j%panelCols
}

// dot sets dst[i·ldd+j] to the product of row i of x and row j of w, both k long: lanes (see the
// package comment).
func dot(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, outs, k int) {
	for i := range rows {
		for j := range outs {
			var lanes [8]float32
			xi, wj := x[i*ldx:i*ldx+k], w[j*ldw:j*ldw+k]
			for n, v := range xi {
				lanes[n%8] = fma(v, wj[n], lanes[n%8])
			}
			dst[i*ldd+j] = reduce(&lanes)
		}
	}
}

// halfLeaves are the same for weights in F16 or BF16.
func halfLeaves(bf16 bool) weightLeaves[uint16] {
	chain := func(y, x []float32, w []uint16, ldw int) { chain16(y, x, w, ldw, bf16) }
	return weightLeaves[uint16]{
		chain: chain, chains: chains(chain), chainRows: chainRows(chain),
		convert: func(dst []float32, src []uint16) { convert16(dst, src, bf16) },
		pack: func(dst []float32, src []uint16, ld, k, panels int) {
			for p := range panels {
				for i := range k {
					convert16(dst[(p*k+i)*panelCols:][:panelCols], src[i*ld+p*panelCols:], bf16)
				}
			}
		},
		packLanes: func(dst []float32, w []uint16, ldw, k, panels int) {
			packLanesFrom(dst, w, ldw, 0, k, panels,
				func(h uint16) float32 { return widen(h, bf16) })
		},
		dot: func(
			dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, outs, k int,
		) {
			for i := range rows {
				for j := range outs {
					var lanes [8]float32
					xi, wj := x[i*ldx:i*ldx+k], w[j*ldw:j*ldw+k]
					for n, v := range xi {
						lanes[n%8] = fma(v, widen(wj[n], bf16), lanes[n%8])
					}
					dst[i*ldd+j] = reduce(&lanes)
				}
			}
		},
	}
}

// reduce adds the eight lanes by the tree of the package comment.
func reduce[T float32 | float64](l *[8]T) T {
	return T(T(T(l[0]+l[1])+T(l[2]+l[3])) + T(T(l[4]+l[5])+T(l[6]+l[7])))
}

// layerNorm sets dst to (x − mean)·(1/√(variance + eps))·gain + bias, the variance being the mean
// squared deviation. gain and bias are as long as x. If the squares overflow, all of dst is NaN.
func layerNorm(dst, x, gain, bias []float32, eps float32) {
	var sums, squares [8]float32
	for i, v := range x {
		sums[i%8] = float32(sums[i%8] + v)
	}
	n := float32(len(x))
	mean := float32(reduce(&sums) / n)
	for i, v := range x {
		d := float32(v - mean)
		squares[i%8] = fma(d, d, squares[i%8])
	}
	spread := float32(float32(reduce(&squares)/n) + eps)
	// The difference is 0, or NaN for +Inf: there 1/√spread would be 0 and the result finite.
	inverse := float32(float32(1/sqrt(spread)) + float32(spread-spread))
	for i, v := range x {
		dst[i] = fma(float32(float32(v-mean)*inverse), gain[i], bias[i])
	}
}

// sqrt is the correctly rounded square root: float64 has more than twice the bits, so that rounding
// twice gives the same.
func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// activate applies an activation to each element in place.
func activate(x []float32, a Activation) {
	for i, v := range x {
		x[i] = a.apply(v)
	}
}

// activateBy is activate by leaves for the first activations. Rare ones have none.
func activateBy(leaves ...func(x []float32)) func(x []float32, a Activation) {
	return func(x []float32, a Activation) {
		if int(a) < len(leaves) {
			leaves[a](x)
		} else {
			activate(x, a)
		}
	}
}

// add adds x to dst.
func add(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(dst[i] + v)
	}
}

// scale multiplies x by a number.
func scale(x []float32, by float32) {
	for i, v := range x {
		x[i] = float32(v * by)
	}
}

// scoresMax turns dot products into scores, s[i]·scale, or fma(s[i], scale, mask[i]) if mask is not
// nil, and returns the greatest of them and of max. It skips a NaN, which stays among the scores.
// The sign of a zero that it returns is not promised.
func scoresMax(s, mask []float32, scale, max float32) float32 {
	for i, v := range s {
		if mask == nil {
			v = float32(v * scale)
		} else {
			v = fma(v, scale, mask[i])
		}
		s[i] = v
		if v > max {
			max = v
		}
	}
	return max
}

// expShift replaces each s[i] by exp(s[i] − max) and returns the sum of the results: lanes.
func expShift(s []float32, max float32) float32 {
	var lanes [8]float32
	for i, v := range s {
		e := exp(float32(v - max))
		s[i] = e
		lanes[i%8] = float32(lanes[i%8] + e)
	}
	return reduce(&lanes)
}

// convert16 widens F16 or BF16 to float32, exactly.
func convert16(dst []float32, src []uint16, bf16 bool) {
	for i := range dst {
		dst[i] = widen(src[i], bf16)
	}
}

func widen(h uint16, bf16 bool) float32 {
	if bf16 {
		return fromBFloat(h)
	}
	return FromHalf(h)
}

func fromBFloat(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// FromHalf converts IEEE 754 binary16, subnormals, infinities and NaN included. It is exact.
func FromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	magnitude := uint32(h & 0x7fff)
	switch {
	case magnitude >= 0x7c00: // infinity, NaN
		return math.Float32frombits(sign | 0x7f800000 | magnitude<<13&0x7fffff)
	case magnitude >= 0x0400: // normal: move the exponent's bias from 15 to 127
		return math.Float32frombits(sign | (magnitude<<13 + (127-15)<<23))
	default: // subnormal: a count of 2⁻²⁴, exact in float32
		f := float32(magnitude) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(f))
	}
}
