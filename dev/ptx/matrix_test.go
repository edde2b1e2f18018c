package ptx

// mma against the plain product of matrices.

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// mma is a kernel body in which each item has 14 words of p: A, B, C, and D, which it stores.
func mma(kind string) string {
	return `
	mul.wide.s32 	%rd6, %r1, 56;
	add.s64 	%rd6, %rd1, %rd6;
	ld.global.v2.u32 	{%r11, %r12}, [%rd6];
	ld.global.v2.u32 	{%r13, %r14}, [%rd6+8];
	ld.global.v2.u32 	{%r15, %r16}, [%rd6+16];
	ld.global.v2.u32 	{%r17, %r18}, [%rd6+24];
	ld.global.v2.u32 	{%r19, %r20}, [%rd6+32];
	mma.sync.aligned.m16n8k32.row.col.s32.` + kind + ` {%r17, %r18, %r19, %r20}, ` +
		`{%r11, %r12, %r13, %r14}, {%r15, %r16}, {%r17, %r18, %r19, %r20};
	st.global.v2.u32 	[%rd6+40], {%r17, %r18};
	st.global.v2.u32 	[%rd6+48], {%r19, %r20};`
}

// matrixModule is module with registers for an mma.
func matrixModule(body string) (*Program, error) {
	return Parse(strings.Replace(text(body), "%r<9>", "%r<40>", 1))
}

// TestMatrices spreads matrices over the items as the manual says of each element, a0 to a15, b0 to
// b7 and c0 to c3 ("PTX ISA", "Matrix Fragments for mma.m16n8k32"), and compares what comes back.
func TestMatrices(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for _, kind := range []string{"s8.s8.s32", "u8.s8.s32"} {
		p, err := matrixModule(mma(kind))
		if err != nil {
			t.Fatal(err)
		}
		for round := range 40 {
			number := func() byte { return byte(r.Uint32()) }
			if round%4 == 0 { // the greatest magnitudes
				number = func() byte { return byte(0x7f + r.IntN(2)) }
			}
			var a [16][32]byte
			var b [32][8]byte
			var c [16][8]int32
			for i := range 16 {
				for k := range 32 {
					a[i][k] = number()
				}
				for j := range 8 {
					c[i][j] = int32(r.Uint32()) >> r.IntN(20)
				}
			}
			for k := range 32 {
				for j := range 8 {
					b[k][j] = number()
				}
			}
			// the warps of a group have the same matrices, and the second other C
			const warps = 2
			data := make([]byte, warps*32*56)
			for lane := range warps * 32 {
				group, in, own := lane%32>>2, lane%4, data[lane*56:]
				for i := range 16 {
					row, column := group, in*4+i&3
					if i >= 4 && i < 8 || i >= 12 {
						row = group + 8
					}
					if i >= 8 {
						column += 16
					}
					own[i] = a[row][column]
				}
				for i := range 8 {
					row := in*4 + i&3
					if i >= 4 {
						row += 16
					}
					own[16+i] = b[row][group]
				}
				for i := range 4 {
					row := group
					if i >= 2 {
						row += 8
					}
					v := uint32(c[row][in*2+i&1]) + uint32(lane/32)
					binary.LittleEndian.PutUint32(own[24+4*i:], v)
				}
			}
			m := NewMachine(p, uint64(round))
			err := m.Launch("k", [3]int{1, 1, 1}, warps*32, []uint64{m.Adopt(data)})
			if err != nil {
				t.Fatal(err)
			}
			for lane := range warps * 32 {
				for i := range 4 {
					row, column := lane%32>>2+i/2*8, lane%4*2+i&1
					want := uint32(c[row][column]) + uint32(lane/32)
					for k := range 32 {
						v := int32(a[row][k])
						if kind[0] == 's' {
							v = int32(int8(a[row][k]))
						}
						want += uint32(v * int32(int8(b[k][column])))
					}
					if got := binary.LittleEndian.Uint32(data[lane*56+40+4*i:]); got != want {
						t.Fatalf("%s: item %d: d%d is %d, want %d", kind, lane, i, int32(got),
							int32(want))
					}
				}
			}
		}
	}
}

// All 32 items of a warp must reach an mma, and the same.
func TestMatricesOfPartsOfAWarp(t *testing.T) {
	whole := mma("s8.s8.s32")
	for _, c := range []struct {
		name  string
		items int
		body  string
	}{
		{"half a warp", 48, whole},
		{"an item that ended", 64, "	@%p1 ret;\n" + whole},
		{"an item at a barrier", 64, "	@!%p1 bra 	$on;\n	bar.sync 	0;\n$on:\n" + whole},
		{"two places", 64, "	@%p1 bra 	$there;\n" + whole + "\n	ret;\n$there:\n" + whole},
	} {
		p, err := matrixModule(c.body)
		if err != nil {
			t.Fatal(err)
		}
		m := NewMachine(p, 1)
		err = m.Launch("k", [3]int{1, 1, 1}, c.items, []uint64{m.Adopt(make([]byte, 64*56))})
		if err == nil || !strings.Contains(err.Error(), "with all 32 of its warp") {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

// An mma is no barrier: what an item wrote before it, others may not see after it.
func TestMatricesAreNoBarriers(t *testing.T) {
	p, err := matrixModule("	st.shared.u32 	[%rd5], %r1;\n" + mma("s8.s8.s32") +
		"\n	ld.shared.u32 	%r3, [s];")
	if err != nil {
		t.Fatal(err)
	}
	m := NewMachine(p, 1)
	err = m.Launch("k", [3]int{1, 1, 1}, 32, []uint64{m.Adopt(make([]byte, 64*56))})
	if err == nil || !strings.Contains(err.Error(), "with no barrier between") {
		t.Errorf("an mma in place of a barrier: error %v", err)
	}
}

func TestOtherMatricesAreRefused(t *testing.T) {
	for _, name := range []string{
		"mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32",
		"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32",
		"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32",
		"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
	} {
		_, err := matrixModule(strings.Replace(mma("s8.s8.s32"),
			"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", name, 1))
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	const few = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r1}, {%r1}, {%r1}"
	if _, err := matrixModule(fmt.Sprintf("	%s;", few)); err == nil {
		t.Errorf("%s: no error", few)
	}
}
