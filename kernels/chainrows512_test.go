package kernels

// chainRows512Model is chainRowsAVX512: two groups of rows of w, whose 32 columns at a time (16 at
// the end) are in 16 registers while all rows of y pass; a last group without a second as in AVX2.
func chainRows512Model(y []float32, ldy int, x, w []float32, ldw, rows, groups, cols int) {
	g := 0
	for ; g+2 <= groups; g += 2 {
		for c := 0; c < cols; c += 32 {
			masks := [2]uint16{allLanes, lanesOf(max(0, cols-c-16))}
			var weights [2 * groupDepth][2]zmm
			for k := range weights {
				for half, mask := range masks {
					if mask != 0 {
						weights[k][half] = loadZ(w[(g*groupDepth+k)*ldw+c+16*half:], mask)
					}
				}
			}
			for i := range rows {
				for half, mask := range masks {
					if mask == 0 {
						continue
					}
					at := y[i*ldy+c+16*half:]
					acc := loadZ(at, mask)
					for k := range weights {
						group := g + k/groupDepth
						from := x[(group*rows+i)*groupDepth+k%groupDepth]
						acc.fma(broadcastZ(from), weights[k][half], mask)
					}
					acc.store(at, mask)
				}
			}
		}
	}
	if g < groups {
		chainRows(chain)(y, ldy, x[g*rows*groupDepth:], w[g*groupDepth*ldw:], ldw, rows, 1, cols)
	}
}

// chainRows16With512Model is the same over weights that are widened as they are read.
func chainRows16With512Model(bf16 bool) func(
	y []float32, ldy int, x []float32, w []uint16, ldw, rows, groups, cols int,
) {
	return func(y []float32, ldy int, x []float32, w []uint16, ldw, rows, groups, cols int) {
		wide := make([]float32, len(w))
		convert16(wide, w, bf16)
		chainRows512Model(y, ldy, x, wide, ldw, rows, groups, cols)
	}
}
