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
	for _, format := range []Format{F32, F16} {
		for _, room := range []int{8, 16, 32, 64} {
			for _, s := range [][4]int{{1, 5, 5, 1}, {3, 16, 16, room}, {2, 33, 17, room - 3},
				{2, 64, 64, 7}, {1, 1, 48, room - 1}} {
				heads, dk, dv, n := s[0], s[1], s[2], s[3]
				k, v := MakeKV(format, heads*dk*room), MakeKV(format, heads*dv*room)
				key, value := randoms(rng, heads*n*dk), randoms(rng, heads*n*dv)
				for h := range heads {
					lone(goVariant).storeKV(k.from(h*dk*room), v.from(h*dv*room), room, 0, n,
						key[h*n*dk:], dk, dk, value[h*n*dv:], dv, dv)
				}
				what := fmt.Sprintf("%v, room %d, %v", format, room, s)
				keys, values := MakeKV(format, len(key)), MakeKV(format, len(value))
				ReadKV(keys, values, k, v, room, n, heads, dk, dv)
				sameRows(t, what+", keys", keys, key)
				sameRows(t, what+", values", values, value)

				k2, v2 := MakeKV(format, heads*dk*room), MakeKV(format, heads*dv*room)
				WriteKV(k2, v2, room, keys, values, n, heads, dk, dv)
				if !slices.Equal(k2.Bytes(), k.Bytes()) || !slices.Equal(v2.Bytes(), v.Bytes()) {
					t.Fatalf("%s: a block that is written is not the one that attention stores", what)
				}
			}
		}
	}
}

// sameRows compares rows with numbers, which a block in F16 has rounded.
func sameRows(t *testing.T, what string, rows KV, want []float32) {
	t.Helper()
	for i, x := range want {
		if rows.F16 != nil && rows.F16[i] != Half(x) || rows.F32 != nil && rows.F32[i] != x {
			t.Fatalf("%s: number %d is not %v", what, i, x)
		}
	}
}

func TestFiniteSeesEveryNumber(t *testing.T) {
	inf := float32(math.Inf(1))
	for i := range 9 {
		x := KV{F32: []float32{0, math.MaxFloat32, -math.MaxFloat32, 1e-45, 1, 2, 3, 4, 5}}
		h := KV{F16: []uint16{0, 0x7bff, 0xfbff, 1, 0x8000, 2, 3, 4, 5}}
		if !x.Finite() || !h.Finite() {
			t.Fatal("finite numbers are not finite")
		}
		for j, bad := range []float32{inf, -inf, float32(math.NaN())} {
			x.F32[i], h.F16[i] = bad, []uint16{0x7c00, 0xfc00, 0x7e01}[j]
			if x.Finite() || h.Finite() {
				t.Errorf("%v at %d is finite", bad, i)
			}
		}
	}
}
