package kernels

// Blocks as plain rows: what attention stored is read, and what is written is what it stores.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBlocksAsRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	for _, format := range []Format{F32, F16, Q8} {
		for room := KVRoom(format); room <= Block; room *= 2 {
			for _, s := range [][4]int{{1, 5, 5, 1}, {3, 16, 16, room}, {2, 33, 17, room - 3},
				{2, 64, 64, 7}, {1, 1, 48, room - 1}} {
				heads, dk, dv, n := s[0], s[1], s[2], s[3]
				rowK, rowV := KVRow(format, dk, dv)
				k, v := MakeKV(format, heads*rowK*room), MakeKV(format, heads*rowV*room)
				key, value := randoms(rng, heads*n*dk), randoms(rng, heads*n*dv)
				for h := range heads {
					lone(goVariant).storeKV(k.from(h*rowK*room), v.from(h*rowV*room), room, 0, n,
						key[h*n*dk:], dk, dk, value[h*n*dv:], dv, dv)
				}
				what := fmt.Sprintf("%v, room %d, %v", format, room, s)
				keys := MakeKV(format, heads*n*PlainRow(format, dk))
				values := MakeKV(format, heads*n*PlainRow(format, dv))
				ReadKV(keys, values, k, v, room, n, heads, dk, dv)
				sameRows(t, what+", keys", keys, key, dk, quantBlock)
				sameRows(t, what+", values", values, value, dv, dv)

				k2, v2 := MakeKV(format, heads*rowK*room), MakeKV(format, heads*rowV*room)
				WriteKV(k2, v2, room, keys, values, n, heads, dk, dv)
				if !slices.Equal(k2.Bytes(), k.Bytes()) || !slices.Equal(v2.Bytes(), v.Bytes()) {
					t.Fatalf("%s: a block that is written is not the one that attention stores", what)
				}
			}
		}
	}
}

// sameRows compares rows of dim numbers with what they are, which a block in F16 or Q8 has rounded. In
// Q8 each has a scale for so many numbers.
func sameRows(t *testing.T, what string, rows KV, want []float32, dim, each int) {
	t.Helper()
	for i := 0; rows.Q8 != nil && i < len(want); i += dim {
		row := rows.Q8[i/dim*PlainRow(Q8, dim):][:PlainRow(Q8, dim)]
		got := plainNumbers(row, dim, each)
		for j := 0; j < dim; j += each {
			part := want[i+j : min(i+j+each, i+dim)]
			most := slices.Max(part)
			most = max(most, -slices.Min(part))
			for k, x := range part {
				if off := math.Abs(float64(got[j+k] - x)); off > float64(most)*0.502/127 {
					t.Fatalf("%s: number %d of a row is %v, stored as %v", what, j+k, x, got[j+k])
				}
			}
		}
	}
	for i, x := range want {
		if rows.F16 != nil && rows.F16[i] != Half(x) || rows.F32 != nil && rows.F32[i] != x {
			t.Fatalf("%s: number %d is not %v", what, i, x)
		}
	}
}

// plainNumbers returns what a plain row in Q8 means, by the description of PlainRow.
func plainNumbers(row []byte, dim, each int) []float32 {
	x, scales := make([]float32, dim), row[dim:]
	for i := range x {
		scale := math.Float32frombits(uint32(scales[2*(i/quantBlock)])<<16 |
			uint32(scales[2*(i/quantBlock)+1])<<24)
		if each == dim { // a value
			scale = math.Float32frombits(uint32(scales[0]) | uint32(scales[1])<<8 |
				uint32(scales[2])<<16 | uint32(scales[3])<<24)
		}
		x[i] = float32(int8(row[i])) * scale
	}
	return x
}

func TestFiniteSeesEveryNumber(t *testing.T) {
	inf := float32(math.Inf(1))
	for i := range 9 {
		x := KV{F32: []float32{0, math.MaxFloat32, -math.MaxFloat32, 1e-45, 1, 2, 3, 4, 5}}
		h := KV{F16: []uint16{0, 0x7bff, 0xfbff, 1, 0x8000, 2, 3, 4, 5}}
		if !x.Finite(9) || !h.Finite(9) {
			t.Fatal("finite numbers are not finite")
		}
		for j, bad := range []float32{inf, -inf, float32(math.NaN())} {
			x.F32[i], h.F16[i] = bad, []uint16{0x7c00, 0xfc00, 0x7e01}[j]
			if x.Finite(9) || h.Finite(9) {
				t.Errorf("%v at %d is finite", bad, i)
			}
		}
	}
}

func TestFiniteSeesEveryScale(t *testing.T) {
	const dim = 70
	row := PlainRow(Q8, dim)
	b := MakeKV(Q8, 2*3*row)
	if !b.Finite(dim) {
		t.Fatal("zeros are not finite")
	}
	for i := range 3 {
		for at := range 3 { // of a key's scales
			b.Q8[i*row+dim+2*at+1], b.Q8[i*row+dim+2*at] = 0x7f, 0xc0
			if b.Finite(dim) {
				t.Errorf("NaN as scale %d of key %d is finite", at, i)
			}
			clear(b.Q8)
		}
		b.Q8[(3+i)*row+dim+3], b.Q8[(3+i)*row+dim+2] = 0xff, 0x80
		if b.Finite(dim) {
			t.Errorf("an infinity as the scale of value %d is finite", i)
		}
		clear(b.Q8)
	}
}
