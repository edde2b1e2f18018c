package kernels

// chains512Model is the chains of avx512: a row of w of each segment at a time, 16 columns in a register. A
// segment by itself, and what is left of a row, are not in 512 bits.
func chains512Model(y []float32, ldy int, x, w []float32, ldw, count, n, cols int) {
	if n == 0 {
		return
	}
	whole := cols &^ (panelCols - 1)
	if count == 1 {
		whole = 0
	}
	for k := range n {
		for c := 0; c < whole; c += panelCols {
			for s := range count {
				acc := loadZ(y[s*ldy+c:], allLanes)
				from := broadcastZ(x[s*segment+k])
				acc.fma(from, loadZ(w[(s*segment+k)*ldw+c:], allLanes), allLanes)
				acc.store(y[s*ldy+c:], allLanes)
			}
		}
	}
	for s := range count {
		if whole < cols {
			chain(y[s*ldy+whole:s*ldy+cols], x[s*segment:][:n], w[s*segment*ldw+whole:], ldw)
		}
	}
}

// chains16With512Model is the same over weights that are widened as they are read.
func chains16With512Model(bf16 bool) func(
	y []float32, ldy int, x []float32, w []uint16, ldw, count, n, cols int,
) {
	return func(y []float32, ldy int, x []float32, w []uint16, ldw, count, n, cols int) {
		wide := make([]float32, len(w))
		convert16(wide, w, bf16)
		chains512Model(y, ldy, x, wide, ldw, count, n, cols)
	}
}
