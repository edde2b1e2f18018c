package gguf

// Blocks of quantized weights, in the layout of ggml's structures. A weight is the product of a
// float16, the scale, and small integers; some types add a second such product. The products are
// exact in float32, because their factors together have at most 24 bits. So a weight is rounded
// only once, by the addition, and fusing multiplication and addition changes nothing.

import (
	"encoding/binary"

	"picogpt/kernels"
)

// half reads a float16.
func half(b []byte) float32 { return kernels.FromHalf(binary.LittleEndian.Uint16(b)) }

// q40 decodes 32 weights: d, 16 bytes. The low nibbles are the first half, the high ones the
// second.
func q40(dst []float32, b []byte) {
	d := half(b)
	for j, q := range b[2:18] {
		dst[j] = d * float32(int(q&15)-8)
		dst[j+16] = d * float32(int(q>>4)-8)
	}
}

// q41 decodes 32 weights: d, m, 16 bytes.
func q41(dst []float32, b []byte) {
	d, m := half(b), half(b[2:])
	for j, q := range b[4:20] {
		dst[j] = d*float32(q&15) + m
		dst[j+16] = d*float32(q>>4) + m
	}
}

// q50 decodes 32 weights: d, a fifth bit of each, 16 bytes.
func q50(dst []float32, b []byte) {
	d, high := half(b), binary.LittleEndian.Uint32(b[2:])
	for j, q := range b[6:22] {
		dst[j] = d * float32(int(q&15)+int(high>>j&1)<<4-16)
		dst[j+16] = d * float32(int(q>>4)+int(high>>(j+16)&1)<<4-16)
	}
}

// q51 decodes 32 weights: d, m, a fifth bit of each, 16 bytes.
func q51(dst []float32, b []byte) {
	d, m, high := half(b), half(b[2:]), binary.LittleEndian.Uint32(b[4:])
	for j, q := range b[8:24] {
		dst[j] = d*float32(uint32(q&15)|high>>j&1<<4) + m
		dst[j+16] = d*float32(uint32(q>>4)|high>>(j+16)&1<<4) + m
	}
}

// q80 decodes 32 weights: d, 32 signed bytes.
func q80(dst []float32, b []byte) {
	d := half(b)
	for j, q := range b[2:34] {
		dst[j] = d * float32(int8(q))
	}
}

// nonlinear returns the weights for the nibbles of IQ4_NL and IQ4_XS.
func nonlinear(d float32) (k [16]float32) {
	for i, x := range [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89,
		113} {
		k[i] = d * float32(x)
	}
	return k
}

// iq4nl decodes 32 weights: d, 16 bytes.
func iq4nl(dst []float32, b []byte) {
	k := nonlinear(half(b))
	for j, q := range b[2:18] {
		dst[j] = k[q&15]
		dst[j+16] = k[q>>4]
	}
}

// iq4xs decodes 8 runs of 32 weights: d, two bits of each run's scale, four more bits of each, 128
// bytes.
func iq4xs(dst []float32, b []byte) {
	d, high, low, qs := half(b), binary.LittleEndian.Uint16(b[2:]), b[4:8], b[8:136]
	for run := range 8 {
		s := int(low[run/2]>>(run%2*4)&15) | int(high>>(2*run)&3)<<4
		k := nonlinear(d * float32(s-32))
		for j, q := range qs[16*run:][:16] {
			dst[32*run+j] = k[q&15]
			dst[32*run+j+16] = k[q>>4]
		}
	}
}

// q2k decodes 16 runs of 16 weights: scales and minima in nibbles, 64 bytes of two bits, d, m. Byte
// l of the 32 of a half holds its weights l, l+32, l+64 and l+96, the first in the low bits.
func q2k(dst []float32, b []byte) {
	scales, qs, d, m := b[:16], b[16:80], half(b[80:]), half(b[82:])
	for run, s := range scales {
		scale, least := d*float32(s&15), m*float32(s>>4)
		shift := run % 8 / 2 * 2
		for j, q := range qs[run/8*32+run%2*16:][:16] {
			dst[16*run+j] = scale*float32(q>>shift&3) - least
		}
	}
}

// q3k decodes 16 runs of 16 weights: the third bits (4 is subtracted if the bit is 0), 64 bytes of
// two bits as in q2k, scales of six bits, d.
func q3k(dst []float32, b []byte) {
	mask, qs, scales, d := b[:32], b[32:96], b[96:108], half(b[108:])
	for run := range 16 {
		s := scales[run%8]>>(run/8*4)&15 | scales[8+run%4]>>(run/4*2)&3<<4
		scale := d * float32(int(s)-32)
		shift, bit, half := run%8/2*2, run/2, run%2*16
		for j, q := range qs[run/8*32+half:][:16] {
			third := int(mask[half+j] >> bit & 1)
			dst[16*run+j] = scale * float32(int(q>>shift&3)+4*third-4)
		}
	}
}

// scale6 returns the scale and the minimum of a run of q4k and q5k: six bits each.
func scale6(b []byte, run int) (scale, least byte) {
	if run < 4 {
		return b[run] & 63, b[run+4] & 63
	}
	return b[run+4]&15 | b[run-4]>>6<<4, b[run+4]>>4 | b[run]>>6<<4
}

// q4k decodes 8 runs of 32 weights: d, m, scales and minima, 128 bytes. Of each 32 bytes the low
// nibbles are one run and the high ones the next.
func q4k(dst []float32, b []byte) {
	d, m, scales, qs := half(b), half(b[2:]), b[4:16], b[16:144]
	for run := range 8 {
		s, n := scale6(scales, run)
		scale, least, shift := d*float32(s), m*float32(n), run%2*4
		for j, q := range qs[run/2*32:][:32] {
			dst[32*run+j] = scale*float32(q>>shift&15) - least
		}
	}
}

// q5k is q4k with a fifth bit for each weight: bit k of 32 bytes belongs to run k.
func q5k(dst []float32, b []byte) {
	d, m, scales, high, qs := half(b), half(b[2:]), b[4:16], b[16:48], b[48:176]
	for run := range 8 {
		s, n := scale6(scales, run)
		scale, least, shift := d*float32(s), m*float32(n), run%2*4
		for j, q := range qs[run/2*32:][:32] {
			dst[32*run+j] = scale*float32(q>>shift&15|high[j]>>run&1<<4) - least
		}
	}
}

// q6k decodes 16 runs of 16 weights: four bits of each, two more bits, signed scales, d. In a half
// of 128 weights the four bits are the low nibbles of 64 bytes and then the high ones; the two bits
// are arranged as in q2k.
func q6k(dst []float32, b []byte) {
	low, high, scales, d := b[:128], b[128:192], b[192:208], half(b[208:])
	for run, s := range scales {
		scale := d * float32(int8(s))
		part := run % 8 // within the half
		ql := low[run/8*64+part%4*16:][:16]
		qh := high[run/8*32+part%2*16:][:16]
		shift4, shift2 := part/4*4, part/2*2
		for j, q := range ql {
			dst[16*run+j] = scale * float32(int(q>>shift4&15|qh[j]>>shift2&3<<4)-32)
		}
	}
}
