package kernels

// Conversion of weights from one number format to another.

import (
	"encoding/binary"
	"math"
	"sync"
)

// Convert returns src in format f: the same bits with any team. The sizes and the layout, if there
// is one, do not change. F16 and BF16 are rounded to nearest even; for Q8 and Q4 see encode8 and
// encode4. The result is src itself if it has the format. Convert calls [Team.Run], so it must not
// be called inside Run.
func Convert(t *Team, f Format, src *Matrix) Matrix {
	m, _ := convert(t, f, src)
	return m
}

// columns returns the length of a stored row.
func (m *Matrix) columns() int {
	if m.Layout == OutIn {
		return m.In
	}
	return m.Out
}

// convert is Convert, and also returns findings about the result.
func convert(t *Team, f Format, src *Matrix) (dst Matrix, found findings) {
	dst = Matrix{Format: f, Layout: src.Layout, In: src.In, Out: src.Out}
	switch {
	case f == src.Format:
		return *src, found
	case f == Q8 || f == Q4:
		dst.Blocks = make([]byte, QuantBytes(f, src.In, src.Out))
	case f == F32:
		dst.F32 = make([]float32, src.In*src.Out)
	default:
		dst.F16 = make([]uint16, src.In*src.Out)
	}
	tiles := tilesOf(src.Out)
	var mu sync.Mutex
	t.Run(func(w *Worker) {
		var values tileValues
		var own findings
		for o := w.Next(); o < tiles; o = w.Next() {
			for b := range blocksOf(src.In) {
				src.readTile(&values, o, b)
				dst.writeTile(t.variant, &values, o, b, &own)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		found.add(&own)
	})
	return dst, found
}

// tileValues are a tile's weights by input and output.
type tileValues [quantBlock][quantCols]float32

// tile returns tile (o, b) of a matrix in Q8 or Q4.
func (m *Matrix) tile(o, b int) []byte {
	size := m.Format.tileBytes()
	return m.Blocks[(o*blocksOf(m.In)+b)*size:][:size]
}

// span returns the position of tile (o, b) in a float matrix: start is the index of its first
// number, in and out are the distances to the next input and to the next output, ins and outs their
// numbers.
func (m *Matrix) span(o, b int) (start, in, out, ins, outs int) {
	in, out = m.Out, 1
	if m.Layout == OutIn {
		in, out = 1, m.In
	}
	return b*quantBlock*in + o*quantCols*out, in, out, min(quantBlock, m.In-b*quantBlock),
		min(quantCols, m.Out-o*quantCols)
}

// readTile sets values to those of tile (o, b), zeros past the end.
func (m *Matrix) readTile(values *tileValues, o, b int) {
	if m.Blocks != nil {
		tile := m.tile(o, b)
		for k := range values {
			for j := range values[k] {
				values[k][j] = float32(float32(m.Format.integer(tile, j, k)) * tileScale(tile, j))
			}
		}
		return
	}
	start, in, out, ins, outs := m.span(o, b)
	if ins < quantBlock || outs < quantCols {
		*values = tileValues{}
	}
	for k := range ins {
		for j := range outs {
			if i := start + k*in + j*out; m.Format == F32 {
				values[k][j] = m.F32[i]
			} else {
				values[k][j] = widen(m.F16[i], m.bf16())
			}
		}
	}
}

// writeTile sets tile (o, b) to values, and records findings about the result.
func (m *Matrix) writeTile(v *variant, values *tileValues, o, b int, found *findings) {
	switch m.Format {
	case Q8:
		encode8(m.tile(o, b), values)
		m.findBlocks(values, o, b, found)
		return
	case Q4:
		encode4(v, m.tile(o, b), values)
		m.findBlocks(values, o, b, found)
		return
	}
	start, in, out, ins, outs := m.span(o, b)
	if m.Format == F32 {
		for k := range ins {
			for j := range outs {
				m.F32[start+k*in+j*out] = values[k][j]
			}
		}
		return
	}
	var zero, infinite uint16 // their highest bits show whether a number is zero, or infinite
	to, bf16, over := m.F16, m.bf16(), 0x8000-m.infinity()
	for k := range ins {
		at := start + k*in
		for _, w := range values[k][:outs] {
			var half uint16
			if bf16 {
				half = BFloat(w)
			} else {
				half = Half(w)
			}
			to[at] = half
			at += out
			zero |= half&0x7fff - 1
			infinite |= half&0x7fff + over
		}
	}
	found.infinite = found.infinite || infinite&0x8000 != 0
	if zero&0x8000 != 0 {
		m.findZeros(values, o, b, found)
	} else {
		found.nonzero = true
	}
}

// infinity returns the bits of the infinity of F16 or BF16.
func (m *Matrix) infinity() uint16 {
	if m.bf16() {
		return bfloatInfinity
	}
	return halfInfinity
}

const halfInfinity, bfloatInfinity = 0x7c00, 0x7f80 // the bits of F16 and BF16

// encode8 makes a Q8 tile. An output's scale is the bfloat16 nearest to max|w|/127, its integers
// are those nearest to w/scale, ties to even, within ±127.
func encode8(tile []byte, values *tileValues) {
	for j := range quantCols {
		scale := blockScale(blockPeak(values, j), 127)
		binary.LittleEndian.PutUint16(tile[q8Weights+2*j:], scale)
		inverse := blockInverse(scale)
		for k := range values {
			tile[q8Index(j, k)] = byte(nearest(values[k][j], inverse, -127, 127))
		}
	}
}

// encode4 makes a Q4 tile. For each of fourBits there is a scale, the bfloat16 nearest to the peak
// divided by it, and the integers nearest to w/scale, ties to even, within −8 … 7. It takes the
// first one with the least sum of squared errors.
func encode4(v *variant, tile []byte, values *tileValues) {
	var peaks, errors, least, inverses [quantCols]float32
	var scales, best [quantCols]uint16
	for j := range quantCols {
		peaks[j] = blockPeak(values, j)
	}
	for i := range 2 * len(fourBits) {
		d := fourBits[i/2] * float32(1-i%2*2)
		for j, peak := range peaks {
			scales[j] = blockScale(peak, d)
			inverses[j] = blockInverse(scales[j])
		}
		v.errors4(&errors, values, &inverses)
		for j, peak := range peaks {
			// in units of the peak, the error overflows for no scale
			unit := float32(widen(scales[j], true) / peak)
			if e := float32(errors[j] * float32(unit*unit)); i == 0 || e < least[j] {
				best[j], least[j] = scales[j], e
			}
		}
	}
	clear(tile[:q4Weights])
	for j, scale := range best {
		binary.LittleEndian.PutUint16(tile[q4Weights+2*j:], scale)
		inverse := blockInverse(scale)
		for k := range values {
			at, shift := q4Index(j, k)
			tile[at] |= byte(nearest(values[k][j], inverse, -8, 7)+8) << shift
		}
	}
}

// fourBits are the numbers, for either sign, that encode4 tries as the integer of the weight of
// greatest magnitude. From 8 on that weight is clipped: the other weights become more precise.
var fourBits = [...]float32{-8, -7.5, -8.5, -9, -9.5, -7, -10, -10.5, -11, -6.5, -11.5, -12}

// errors4 sets errors[j] to Σ (x − n)², in the order of the inputs, where x = w·inverses[j] for the
// weights w of output j and n is the integer of −8 … 7 nearest to x, ties to even.
func errors4(errors *[quantCols]float32, values *tileValues, inverses *[quantCols]float32) {
	clear(errors[:])
	for k := range values {
		for j, inverse := range inverses {
			x := float32(values[k][j] * inverse)
			e := float32(x - min(max(roundEven(x), -8), 7))
			errors[j] = float32(errors[j] + float32(e*e))
		}
	}
}

// blockPeak returns output j's weight of greatest magnitude, the first of several. It returns NaN
// if a weight is NaN or infinite, and 0 if none is at least leastWeight.
func blockPeak(values *tileValues, j int) float32 {
	var peak float32
	var most uint32
	for k := range values {
		if bits := math.Float32bits(values[k][j]) & 0x7fffffff; bits > most {
			peak, most = values[k][j], bits
		}
	}
	switch {
	case most >= 0x7f800000:
		return float32(math.NaN())
	case most < leastWeight:
		return 0
	}
	return peak
}

// the bits of 2⁻⁸⁰: from it on the inverse of a scale is finite
const leastWeight = (127 - 80) << 23

// blockScale returns the scale with which peak is the integer d.
func blockScale(peak, d float32) uint16 {
	switch {
	case peak != peak:
		return 0x7fc0 // one NaN, the same everywhere
	case peak == 0:
		return 0
	}
	return BFloat(float32(peak / d))
}

// blockInverse returns 1/scale, and 0 for a scale that is 0 or NaN.
func blockInverse(scale uint16) float32 {
	s := widen(scale, true)
	if s == 0 || s != s {
		return 0
	}
	return float32(1 / s)
}

// nearest returns v·inverse, which is below 2²² in magnitude, rounded to an integer, ties to even,
// and clipped to least and most. It is 0 if inverse is 0, for any v.
func nearest(v, inverse float32, least, most int32) int32 {
	if inverse == 0 {
		return 0
	}
	const shift = 0x1.8p23 // a sum near it has no fractional bits
	n := int32(math.Float32bits(float32(float32(v*inverse)+shift)) - math.Float32bits(shift))
	return min(max(n, least), most)
}
