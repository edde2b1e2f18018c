//go:build !purego

package kernels

// Chains of one row and of a few in AVX2 assembly, which read the float weights of [in, out] layers
// while memory is the limit. The documentation of each stub is the Go function that it equals bit
// for bit.

// chainAVX2 is chain: eight rows of w at a time pass over all of y, or, where y is short, y stays
// in registers.
//
//go:noescape
func chainAVX2(y, x, w []float32, ldw int)

// chain16F16AVX2 and chain16BF16AVX2 are chain on F16 and BF16, eight rows of w at a time. len(y)
// and len(x) are multiples of 8.
//
//go:noescape
func chain16F16AVX2(y, x []float32, w []uint16, ldw int)

//go:noescape
func chain16BF16AVX2(y, x []float32, w []uint16, ldw int)

var chainF16, chainBF16 = chain16By(chain16F16AVX2, false), chain16By(chain16BF16AVX2, true)

func chain16By(
	leaf func(y, x []float32, w []uint16, ldw int), bf16 bool,
) func(y, x []float32, w []uint16, ldw int) {
	return func(y, x []float32, w []uint16, ldw int) {
		cols, k := len(y)&^7, len(x)&^7
		if cols > 0 && k > 0 {
			leaf(y[:cols], x[:k], w, ldw)
		}
		if k < len(x) && cols > 0 {
			chain16Edge(y[:cols], x[k:], w[k*ldw:], ldw, bf16)
		}
		if cols < len(y) && len(x) > 0 {
			chain16Edge(y[cols:], x, w[cols:], ldw, bf16)
		}
	}
}

// chain16Edge is chain16 for a few rows or columns: it widens a part of a row of w at a time.
func chain16Edge(y, x []float32, w []uint16, ldw int, bf16 bool) {
	var wide [256]float32
	for c := 0; c < len(y); c += len(wide) {
		part := y[c:min(c+len(wide), len(y))]
		row := wide[:len(part)]
		for k := range x {
			convert16Fast(row, w[k*ldw+c:], bf16)
			chainAVX2(part, x[k:k+1], row, len(row))
		}
	}
}

// These are chains for six, three or two segments. cols is a multiple of panelCols.
//
//go:noescape
func chains6AVX2(y []float32, ldy int, x, w []float32, ldw, n, cols int)

//go:noescape
func chains3AVX2(y []float32, ldy int, x, w []float32, ldw, n, cols int)

//go:noescape
func chains2AVX2(y []float32, ldy int, x, w []float32, ldw, n, cols int)

//go:noescape
func chains6F16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)

//go:noescape
func chains3F16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)

//go:noescape
func chains2F16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)

//go:noescape
func chains6BF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)

//go:noescape
func chains3BF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)

//go:noescape
func chains2BF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)

// chainsBy is chains by leaves that continue the sums of 1, 2, 3 or 6 segments at a time; of 6
// where the first cache is asked for what is needed later. It divides the segments among them.
func chainsBy[T float32 | uint16](
	one func(y, x []float32, w []T, ldw int),
	two, three, six func(y []float32, ldy int, x []float32, w []T, ldw, n, cols int),
) func(y []float32, ldy int, x []float32, w []T, ldw, count, n, cols int) {
	return func(y []float32, ldy int, x []float32, w []T, ldw, count, n, cols int) {
		whole := cols &^ (panelCols - 1)
		for each := 0; count > 0 && n > 0; count -= each {
			leaf := two
			switch {
			case count == 1 || whole == 0:
				each = 1
				one(y[:cols], x[:n], w, ldw)
			case count >= 6 && !asksSecond:
				each, leaf = 6, six
			case count == 3 || count >= 5:
				each, leaf = 3, three
			default:
				each = 2
			}
			if each > 1 {
				leaf(y, ldy, x, w, ldw, n, whole)
				for s := range each {
					if whole < cols {
						one(y[s*ldy+whole:s*ldy+cols], x[s*segment:][:n], w[s*segment*ldw+whole:],
							ldw)
					}
				}
			}
			if count > each {
				y, x, w = y[each*ldy:], x[each*segment:], w[each*segment*ldw:]
			}
		}
	}
}

// chainRowsAVX2 is chainRows; chainRowsF16AVX2 and chainRowsBF16AVX2 are the same on F16 and BF16.
//
//go:noescape
func chainRowsAVX2(y []float32, ldy int, x, w []float32, ldw, rows, groups, cols int)

//go:noescape
func chainRowsF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, rows, groups, cols int)

//go:noescape
func chainRowsBF16AVX2(y []float32, ldy int, x []float32, w []uint16, ldw, rows, groups, cols int)

// packGroupsAVX2 is packGroups.
//
//go:noescape
func packGroupsAVX2(dst, x []float32, ldx, rows, groups int)
