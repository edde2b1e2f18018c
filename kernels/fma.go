package kernels

// The fused multiply-add in float32, in Go: what one lane of VFMADD231PS or FMLA does.

import "math"

// fma returns a·b + c rounded once to float32.
//
// The float64 product of two float32s is exact, so one float64 addition, rounded to float32, is the
// answer, except for a rare double rounding: the float64 sum was itself rounded and lies halfway
// between two float32s, or the result is subnormal in float32 and has fewer bits. These cases use
// fmaSlow.
func fma(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := float64(p) + float64(c)
	bits := math.Float64bits(s)
	if bits&(1<<29-1) == 1<<28 || bits<<1 < (1023-126)<<53 {
		return fmaSlow(p, float64(c), s)
	}
	return float32(s)
}

// fmaSlow rounds p + c to odd in float64. Rounding that to float32 gives the same as rounding once
// (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008). s is the rounded
// sum.
func fmaSlow(p, c, s float64) float32 {
	t := float64(s - p)
	e := float64(p-float64(s-t)) + float64(c-t) // s + e = p + c exactly (Knuth's TwoSum)
	if e != 0 && e == e {
		if bits := math.Float64bits(s); bits&1 == 0 {
			if (e > 0) == (s > 0) {
				s = math.Float64frombits(bits + 1)
			} else {
				s = math.Float64frombits(bits - 1)
			}
		}
	}
	return float32(s)
}
