package kernels

// Models of the leaves in exp512_amd64.s: sixteen elements at a time, the last ones under a mask.
// What happens to one element is exp.go's.

// expShift512Model is expShiftAVX512: each half of a register is added to the eight lanes, the
// first half before the second.
func expShift512Model(s []float32, max float32) float32 {
	var sum [8]float32
	for at := 0; at < len(s); at += 16 {
		mask := lanesOf(len(s) - at)
		z := loadZ(s[at:], mask)
		for i, x := range z {
			z[i] = exp(float32(x - max))
		}
		z.store(s[at:], mask)
		for i, e := range z {
			if mask>>i&1 == 1 {
				sum[i%8] = float32(sum[i%8] + e)
			}
		}
	}
	return reduce(&sum)
}

// scoresMax512Model is scoresMaxAVX512: sixteen running maxima.
func scoresMax512Model(s, mask []float32, scale, max float32) float32 {
	greatest := broadcastZ(max)
	for at := 0; at < len(s); at += 16 {
		lanes := lanesOf(len(s) - at)
		z := loadZ(s[at:], lanes)
		if mask == nil {
			for i := range z {
				z[i] = float32(z[i] * scale)
			}
		} else {
			sum := loadZ(mask[at:], lanes)
			sum.fma(z, broadcastZ(scale), lanes)
			z = sum
		}
		z.store(s[at:], lanes)
		for i, x := range z {
			if lanes>>i&1 == 1 && x > greatest[i] {
				greatest[i] = x
			}
		}
	}
	for _, x := range greatest {
		if x > max {
			max = x
		}
	}
	return max
}

// activate512Model is activate of avx512.
func activate512Model(x []float32, a Activation) {
	for at := 0; at < len(x); at += 16 {
		mask := lanesOf(len(x) - at)
		z := loadZ(x[at:], mask)
		for i, v := range z {
			z[i] = a.apply(v)
		}
		z.store(x[at:], mask)
	}
}
