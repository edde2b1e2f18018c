package kernels

// A model of the leaves for Q8 and Q4 in AMX, see zmm_test.go, and what only they need: an
// operating system that permits tiles, and signals that keep them.

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A tmm is a tile register: 16 rows of 64 bytes.
type tmm [16][64]byte

// addBytes is TDPBSSD, or TDPBUSD where the bytes of a have no sign.
func (c *sums16) addBytes(a, b *tmm, signed bool) {
	for i := range c {
		for j := range c[i] {
			for k := range 64 {
				x := int32(a[i][k])
				if signed {
					x = int32(int8(x))
				}
				c[i][j] += x * int32(int8(b[k/4][4*j+k%4]))
			}
		}
	}
}

type sums16 [16][16]int32

// quantTileAMXModel is amxLeaf with quantTile8AMX or quantTile4AMX.
func quantTileAMXModel(f Format) quantTileLeaf {
	return func(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
		blocks, tiles int, add bool) {
		whole := rows &^ 15
		for n := range whole / 16 * tiles * blocks {
			i, t, b := n/blocks/tiles*16, n/blocks%tiles, n%blocks
			tile := w[t*ldw+b*f.tileBytes():][:f.tileBytes()]
			var x, lows, highs tmm
			for r := range 16 {
				for k := range quantBlock {
					v := q[((i+r)*ldq+b)*quantBlock+k]
					x[r][2*k], x[r][2*k+1] = byte(v), byte(v>>8)
					weight := byte(f.integer(tile, r, k))
					lows[k/2][4*r+k%2*2], highs[k/2][4*r+k%2*2+1] = weight, weight
				}
			}
			var low, high sums16
			high.addBytes(&x, &highs, true)
			low.addBytes(&x, &lows, false)
			for r := range 16 {
				for j, out := range y[(i+r)*ldy+t*quantCols:][:quantCols] {
					if b == 0 && !add {
						out = 0
					}
					sum := high[r][j]<<8 + low[r][j]
					y[(i+r)*ldy+t*quantCols+j] = fma(float32(sum), tileScale(tile, j), out)
				}
			}
		}
		if whole < rows {
			quantTile512Model(f)(y[whole*ldy:], ldy, q[whole*ldq*quantBlock:], starts[whole*ldq:],
				ldq, w, ldw, rows-whole, blocks, tiles, add)
		}
	}
}

// modelAMX is the variant of this model.
func modelAMX() *variant {
	v := *goVariant
	v.name = "model of avx512amx"
	v.quantTile8, v.quantTile4 = quantTileAMXModel(Q8), quantTileAMXModel(Q4)
	return &v
}

// Where the operating system refuses what the fastest variant needs, the next is taken, unless it
// is asked for by name.
func TestAVariantThatIsNotPermitted(t *testing.T) {
	defer func(was []*variant) { available = was }(available)
	asked := 0
	refused := &variant{name: "refused", permitted: func() bool { asked++; return false }}
	available = []*variant{refused, goVariant}
	if v, err := findVariant(""); v != goVariant || err != nil {
		t.Errorf("the fastest: %v, %v", v, err)
	}
	if v, err := findVariant("go"); v != goVariant || err != nil || asked != 1 {
		t.Errorf("go: %v, %v, asked %d times, want once", v, err, asked)
	}
	if _, err := findVariant("refused"); err == nil ||
		!strings.Contains(err.Error(), "does not permit") {
		t.Errorf("by name: %v", err)
	}
}

// Signals and other goroutines interrupt a leaf: what it holds in registers, and in tiles, comes
// back.
func TestLeavesOfIntegersAreInterrupted(t *testing.T) {
	const rows, blocks, tiles, goroutines, calls = 64, 24, 4, 5, 40
	v, err := findVariant("")
	if err != nil {
		t.Fatal(err)
	}
	runtime.SetCPUProfileRate(1000)
	defer runtime.SetCPUProfileRate(0)
	var all sync.WaitGroup
	for seed := range uint64(goroutines) {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 1))
			q, w := make([]int16, rows*blocks*quantBlock), make([]byte, tiles*blocks*q8Tile)
			for i := range q {
				q[i] = int16(rng.IntN(2*quantMax+1) - quantMax)
			}
			for i := range w {
				w[i] = byte(rng.Uint32()) &^ 0x40 // finite scales
			}
			starts := make([]int32, rows*blocks)
			y, want := make([]float32, rows*tiles*quantCols), make([]float32, rows*tiles*quantCols)
			for n := range calls {
				v.quantTile8(y, tiles*quantCols, q, starts, blocks, w, blocks*q8Tile, rows, blocks,
					tiles, false)
				if n == 0 {
					quantTile8(want, tiles*quantCols, q, starts, blocks, w, blocks*q8Tile, rows,
						blocks, tiles, false)
				}
				if !slices.Equal(y, want) {
					t.Errorf("%s: call %d differs", v.name, n)
				}
				runtime.GC() // which stops every goroutine by a signal
			}
		})
	}
	all.Wait()
}
