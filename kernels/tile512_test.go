package kernels

// tile512Model is tileAVX512: up to six rows, the last repeated, by four panels, two or one.
func tile512Model(
	c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k, panels int,
	add bool,
) {
	start, end := uint16(allLanes), uint16(0)
	if add {
		start, end = end, start
	}
	for first := 0; first < rows; first += tileHeight512(rows - first) {
		n := tileHeight512(rows - first)
		for p, width := 0, 4; p < panels; p += width {
			for width > panels-p {
				width /= 2
			}
			each := func(f func(y []float32, i, q int)) {
				for i := range tileRows {
					for q := range width {
						f(c[(first+min(i, n-1))*ldc+(p+q)*panelCols:], i, q)
					}
				}
			}
			var acc [tileRows][4]zmm
			each(func(y []float32, i, q int) { acc[i][q] = loadZ(y, start) })
			for m := range k {
				each(func(_ []float32, i, q int) {
					x := broadcastZ(a[(first+min(i, n-1))*lda+m*ka])
					acc[i][q].fma(x, loadZ(b[(p+q)*nextb+m*ldb:], allLanes), allLanes)
				})
			}
			each(func(y []float32, i, q int) { acc[i][q].add(loadZ(y, end), end) })
			each(func(y []float32, i, q int) { acc[i][q].store(y, allLanes) })
		}
	}
}

// tileHeight512 returns how many of the rows that are left go into one tile.
func tileHeight512(rest int) int {
	if rest == 7 || rest == 8 {
		return 4
	}
	return min(rest, tileRows)
}
