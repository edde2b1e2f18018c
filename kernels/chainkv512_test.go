package kernels

// chainKV512Model is avx512's chainKV: 64 columns in four registers while all of x passes, then 16 in
// one, then 8 in half of one, and the last columns without vectors. What is fetched is no result.
func chainKV512Model(y, x []float32, w []uint16, ldw int, _ soon) {
	c := 0
	columns := func(registers int, mask uint16) {
		sums := make([]zmm, registers)
		for r := range sums {
			sums[r] = loadZ(y[c+16*r:], mask)
		}
		for k, xk := range x {
			for r := range sums {
				sums[r].fma(widenZ(w[k*ldw+c+16*r:], mask), broadcastZ(xk), mask)
			}
		}
		for r := range sums {
			sums[r].store(y[c+16*r:], mask)
		}
	}
	for ; c+64 <= len(y); c += 64 {
		columns(4, allLanes)
	}
	for ; c+16 <= len(y); c += 16 {
		columns(1, allLanes)
	}
	if c+8 <= len(y) {
		columns(1, lanesOf(8))
		c += 8
	}
	if c < len(y) && len(x) > 0 {
		chain16(y[c:], x, w[c:], ldw, false)
	}
}

// widenZ reads the lanes of the mask, in F16.
func widenZ(s []uint16, mask uint16) (z zmm) {
	for i := range z {
		if mask>>i&1 == 1 {
			z[i] = FromHalf(s[i])
		}
	}
	return z
}
