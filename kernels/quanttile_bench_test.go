package kernels

// The leaves of Q8 and Q4, each variant beside the others.

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkQuantTile is a task of GPT-2's c_fc: six tiles of 16 outputs, 768 inputs, weights in the
// second-level cache. MB/s are of stored weights.
func BenchmarkQuantTile(b *testing.B) {
	const blocks, tiles = 24, 6
	team, rng := newTeam(b, 1, ""), rand.New(rand.NewPCG(17, 18))
	for _, f := range []Format{Q8, Q4} {
		for _, rows := range []int{1, 2, 3, 4, 6, 8, 16, 32, 96, 256} {
			size := f.tileBytes()
			q, starts := make([]int16, rows*blocks*quantBlock), make([]int32, rows*blocks)
			y := make([]float32, rows*tiles*quantCols)
			w := Convert(team, f, &Matrix{In: blocks * quantBlock, Out: tiles * quantCols,
				F32: randoms(rng, blocks*quantBlock*tiles*quantCols)}).Blocks
			for i := range q {
				q[i] = int16(rng.Int32())
			}
			for _, v := range others(b) {
				leaf, depth := v.quantTile8, blocks
				if f == Q4 {
					leaf = v.quantTile4
				}
				if rows >= 2*tileRows {
					depth = quantDepth
				}
				b.Run(fmt.Sprintf("%v/rows=%d/%s", f, rows, v.name), func(b *testing.B) {
					b.SetBytes(int64(len(w)))
					for b.Loop() {
						for at := 0; at < blocks; at += depth {
							leaf(y, tiles*quantCols, q[at*quantBlock:], starts[at:], blocks,
								w[at*size:], blocks*size, rows, min(depth, blocks-at), tiles, at > 0)
						}
					}
					macs := float64(rows * blocks * quantBlock * tiles * quantCols)
					report(b, 2*macs, 0)
				})
			}
		}
	}
}
