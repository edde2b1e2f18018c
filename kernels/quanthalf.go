package kernels

// Rounding float32 to the 16-bit formats.

import "math"

// Half rounds f to IEEE 754 binary16, to nearest, ties to even. A number that is too large becomes
// an infinity, one that is too small a zero, each with f's sign. A NaN becomes a quiet NaN with the
// top of its payload, as in VCVTPS2PH.
func Half(f float32) uint16 {
	bits := math.Float32bits(f)
	sign := uint16(bits >> 16 & 0x8000)
	magnitude := bits & 0x7fffffff
	switch {
	case magnitude > 0x7f800000: // NaN
		return sign | 0x7e00 | uint16(magnitude>>13&0x3ff)
	case magnitude >= 0x47800000: // 2¹⁶ and more. From 65520 on, rounding carries into the exponent and makes an infinity
		return sign | 0x7c00
	case magnitude >= 0x38800000: // normal from 2⁻¹⁴ on: drop 13 bits and move the exponent's bias from 127 to 15
		return sign | uint16((magnitude+0xfff+magnitude>>13&1)>>13-(127-15)<<10)
	default: // subnormal: a count of 2⁻²⁴. The sum with ½, whose last bit is 2⁻²⁴, rounds to it
		sum := float32(math.Float32frombits(magnitude) + 0.5)
		return sign | uint16(math.Float32bits(sum)-math.Float32bits(0.5))
	}
}

// BFloat rounds f to bfloat16, the upper half of a float32: to nearest, ties to even. A NaN becomes
// a quiet NaN.
func BFloat(f float32) uint16 {
	bits := math.Float32bits(f)
	if f != f {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
