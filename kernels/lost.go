package kernels

// What a conversion loses: numbers that become infinities in F16 and BF16, and weights that become
// zeros.

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// ConvertChecked is Convert with errors: F16 or BF16 would make an infinity of a finite number, or
// all numbers would become zeros and some were not. It returns how many numbers become zeros.
func ConvertChecked(t *Team, f Format, src *Matrix) (Matrix, Zeroed, error) {
	m, found := convert(t, f, src)
	zeroed := Zeroed{Weights: found.lost, Of: src.In*src.Out - (found.zeros - found.lost),
		Blocks: found.blocks}
	if found.infinite {
		if err := tooLarge(t, &m, src); err != nil {
			return m, zeroed, err
		}
	}
	if !found.nonzero && found.lost+found.blocks > 0 {
		var most float32
		for _, x := range Convert(t, F32, src).F32 {
			most = max(most, x, -x)
		}
		return m, zeroed, fmt.Errorf("%v makes zeros of all weights, of which the largest is %g: "+
			"want f32", f, most)
	}
	if found.lost > 0 && src.Blocks == nil {
		zeroed.Rows = zeroRows(&m, src)
	}
	return m, zeroed, nil
}

// Zeroed counts the weights that are not zero and that a conversion makes zeros.
type Zeroed struct {
	// in F16 and BF16 only: rounding single weights of a block to zero is normal in Q8 and Q4
	Weights int
	Of      int // the number of weights that were not zero
	Blocks  int // blocks of 32 consecutive inputs of one output that become all zeros and were not
	// rows of the stored matrix that become all zeros and were not, in F16 and BF16 only
	Rows int
}

// tooLarge returns an error for the first number of src that is an infinity in m, or nil.
func tooLarge(t *Team, m, src *Matrix) error {
	infinity, numbers := m.infinity(), Convert(t, F32, src).F32
	for i, half := range m.F16 {
		if x := numbers[i]; half&0x7fff == infinity && !math.IsInf(float64(x), 0) {
			columns := src.columns()
			return fmt.Errorf("%g at [%d %d] is too large for %v", x, i/columns, i%columns, m.Format)
		}
	}
	return nil
}

// zeroRows counts the rows of m that are all zeros while those of src are not.
func zeroRows(m, src *Matrix) (n int) {
	columns := src.columns()
	for at := 0; at < len(m.F16); at += columns {
		if slices.ContainsFunc(m.F16[at:at+columns], isNumber) {
			continue
		}
		if src.Format == F32 && slices.ContainsFunc(src.F32[at:at+columns], notZero) ||
			src.Format != F32 && slices.ContainsFunc(src.F16[at:at+columns], isNumber) {
			n++
		}
	}
	return n
}

func isNumber(half uint16) bool { return half&0x7fff != 0 }
func notZero(x float32) bool    { return x != 0 }

// findings are the results of checks during a conversion.
type findings struct {
	infinite bool // F16 or BF16 has infinities
	nonzero  bool // Q8, Q4, F16 or BF16 has a number that is not zero
	zeros    int  // in F16 or BF16
	lost     int  // of those, the ones that were not zero
	blocks   int  // of 32 inputs of one output, that become zeros and were not
}

func (f *findings) add(g *findings) {
	f.infinite, f.nonzero = f.infinite || g.infinite, f.nonzero || g.nonzero
	f.zeros, f.lost, f.blocks = f.zeros+g.zeros, f.lost+g.lost, f.blocks+g.blocks
}

// findZeros counts the zeros of tile (o, b) in F16 or BF16, and those of them that were not zeros
// before.
func (m *Matrix) findZeros(values *tileValues, o, b int, found *findings) {
	start, in, out, ins, outs := m.span(o, b)
	for j := range outs {
		zeros, lost := 0, 0
		for k := range ins {
			if !isNumber(m.F16[start+k*in+j*out]) {
				zeros++
				if values[k][j] != 0 {
					lost++
				}
			}
		}
		found.zeros, found.lost = found.zeros+zeros, found.lost+lost
		found.nonzero = found.nonzero || zeros < ins
		if zeros == ins && lost > 0 {
			found.blocks++
		}
	}
}

// findBlocks counts the blocks of tile (o, b) in Q8 or Q4 that are zeros and were not: their scale
// is 0.
func (m *Matrix) findBlocks(values *tileValues, o, b int, found *findings) {
	scales := m.tile(o, b)
	scales = scales[len(scales)-2*quantCols:]
	// the highest bits of its halves show whether a scale is 0; they are never wrong if none is
	var zero uint64
	for i := 0; i < len(scales); i += 8 {
		four := binary.LittleEndian.Uint64(scales[i:])
		zero |= (four - 0x1_0001_0001_0001) &^ four
	}
	if zero&0x8000_8000_8000_8000 == 0 {
		found.nonzero = true
		return
	}
	for j := range quantCols {
		if binary.LittleEndian.Uint16(scales[2*j:]) != 0 {
			found.nonzero = true
			continue
		}
		if slices.ContainsFunc(values[:], func(of [quantCols]float32) bool { return of[j] != 0 }) {
			found.blocks++
		}
	}
}
