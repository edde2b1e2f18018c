package ptx

// Products of matrices, which the 32 items of a warp compute together: mma.

import (
	"fmt"
	"strings"
)

// A fragments holds the registers of mma.sync.aligned.m16n8k32: 4 of D, 4 of A, 2 of B and 4 of C.
// D = A·B + C, where A is [16, 32], of int8s or uint8s, B is [32, 8], of int8s, and C and D are
// [16, 8], of int32s that wrap around.
type fragments [14]uint16

// matrix decodes an mma. B has int8s here, and A either.
func (p *parser) matrix(in *instruction, name string, args []string) error {
	const shape = "mma.sync.aligned.m16n8k32.row.col.s32."
	switch strings.TrimPrefix(name, shape) {
	case "s8.s8.s32":
		in.signed = true
	case "u8.s8.s32":
	default:
		return errUnknown
	}
	var f fragments
	if len(args) != len(f) {
		return fmt.Errorf("%d operands, want %d", len(args), len(f))
	}
	for i, a := range args {
		var err error
		if f[i], err = p.operand(strings.Trim(a, "{}")); err != nil {
			return err
		}
	}
	in.op, in.offset = opMatrix, uint64(len(p.matrices))
	p.matrices = append(p.matrices, f)
	return nil
}

// multiply executes an mma of the items of a warp. Which numbers an item holds is in "PTX ISA",
// "Matrix Fragments for mma.m16n8k32": with the item in its warp = 4·g + t, byte n of A's register i
// is in row g + 8·(i mod 2) and column 4·t + n + 16·⌊i/2⌋, byte n of B's register i in row 4·t + n +
// 16·i and column g, and register i of C and D in row g + 8·⌊i/2⌋ and column 2·t + i mod 2.
func (f *fragments) multiply(warp []item, signed bool) {
	var a [16][32]int32
	var b [8][32]int32 // by column
	for lane := range warp {
		r, g, t := &warp[lane].r, lane/4, lane%4
		for i, reg := range f[4:8] {
			for n := range 4 {
				v := int32(uint8(r[reg] >> (8 * n)))
				if signed {
					v = int32(int8(v))
				}
				a[g+i%2*8][4*t+n+i/2*16] = v
			}
		}
		for i, reg := range f[8:10] {
			for n := range 4 {
				b[g][4*t+n+16*i] = int32(int8(r[reg] >> (8 * n)))
			}
		}
	}
	for lane := range warp {
		r, g, t := &warp[lane].r, lane/4, lane%4
		var d [4]int32
		for i, reg := range f[10:] {
			sum, row, column := int32(r[reg]), &a[g+i/2*8], &b[2*t+i%2]
			for k, v := range row {
				sum += v * column[k]
			}
			d[i] = sum
		}
		for i, reg := range f[:4] {
			r[reg] = uint64(uint32(d[i]))
		}
	}
}

// together executes each mma that a warp waits for, and then runs its items on, until all items are
// at a barrier or at their end.
func (m *Machine) together(group [3]int) error {
	for again := true; again; {
		again = false
		for start := 0; start < len(m.items); start += 32 {
			warp := m.items[start:min(start+32, len(m.items))]
			waiting, at := 0, 0
			for i := range warp {
				if warp[i].waits {
					waiting, at = waiting+1, warp[i].pc
				}
			}
			if waiting == 0 {
				continue
			}
			for i := range warp {
				if len(warp) < 32 || !warp[i].waits || warp[i].pc != at {
					return m.fault(group, start+i, at-1,
						"does not reach it with all 32 of its warp")
				}
				warp[i].waits = false
			}
			in := &m.kernel.code[at-1]
			m.kernel.matrices[in.offset].multiply(warp, in.signed)
			for _, i := range m.turns {
				if i/32 == start/32 {
					if err := m.advance(group, i); err != nil {
						return err
					}
				}
			}
			again = true
		}
	}
	return nil
}
