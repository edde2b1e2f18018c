//go:build js && simd128

package kernels

// The leaf operations of a browser: those on float32 are those of wasm/leaves.c, a second module, which
// whoever starts this one instantiates on its memory. Go's compiler writes no vectors.

import "unsafe"

// archVariants returns the variants of this processor.
func archVariants() []*variant {
	v := *goVariant
	v.name = "simd128"
	v.chain = chainLent
	v.chains = func(y []float32, ldy int, x, w []float32, ldw, count, n, cols int) {
		for s := range count {
			chainLent(y[s*ldy:][:cols], x[s*segment:][:n], w[s*segment*ldw:], ldw)
		}
	}
	v.chainRows = func(y []float32, ldy int, x, w []float32, ldw, rows, groups, cols int) {
		for g := range groups {
			for i := range rows {
				chainLent(y[i*ldy:][:cols], x[(g*rows+i)*groupDepth:][:groupDepth],
					w[g*groupDepth*ldw:], ldw)
			}
		}
	}
	v.tile, v.dot = tileLent, dotLent
	return []*variant{&v}
}

//go:wasmimport leaves chain
//go:noescape
func leafChain(y, x unsafe.Pointer, kx int32, w unsafe.Pointer, ldw, n, cols int32)

//go:wasmimport leaves dot
//go:noescape
func leafDot(dst, x, w unsafe.Pointer, ldw, outs, k int32)

func at(x []float32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

func chainLent(y, x, w []float32, ldw int) {
	if len(y) == 0 || len(x) == 0 {
		return
	}
	_ = w[(len(x)-1)*ldw+len(y)-1]
	leafChain(at(y), at(x), 1, at(w), int32(ldw), int32(len(x)), int32(len(y)))
}

func tileLent(
	c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k, panels int,
	add bool,
) {
	if k == 0 {
		tile(c, ldc, a, lda, ka, b, ldb, nextb, rows, k, panels, add)
		return
	}
	var sums [panelCols]float32
	for i := range rows {
		x := a[i*lda:][:(k-1)*ka+1]
		for p := range panels {
			y, w := c[i*ldc+p*panelCols:][:panelCols], b[p*nextb:][:(k-1)*ldb+panelCols]
			if !add {
				leafChain(at(y), at(x), int32(ka), at(w), int32(ldb), int32(k), panelCols)
				continue
			}
			clear(sums[:])
			leafChain(at(sums[:]), at(x), int32(ka), at(w), int32(ldb), int32(k), panelCols)
			for j, sum := range sums {
				y[j] = float32(y[j] + sum)
			}
		}
	}
}

func dotLent(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, outs, k int) {
	if outs == 0 || k == 0 {
		dot(dst, ldd, x, ldx, w, ldw, rows, outs, k)
		return
	}
	_ = w[(outs-1)*ldw+k-1]
	for i := range rows {
		leafDot(at(dst[i*ldd:][:outs]), at(x[i*ldx:][:k]), at(w), int32(ldw), int32(outs), int32(k))
	}
}
