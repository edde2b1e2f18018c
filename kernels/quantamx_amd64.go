//go:build !purego

package kernels

// The products with Q8 and Q4 tiles in AMX assembly (INT8).

// setQuantAMX replaces leaves of v.
func setQuantAMX(v *variant) {
	v.quantTile8 = amxLeaf(quantTile8AMX, quantTile8AVX512)
	v.quantTile4 = amxLeaf(quantTile4AMX, quantTile4AVX512)
	v.wholeDepth = true
	v.productPeak = productPeakFastAMX
}

// quantTile8AMX is quantTile8 on groups of 16 rows, at least one group, block and tile.
//
//go:noescape
func quantTile8AMX(y []float32, ldy int, q []int16, ldq int, w []byte, ldw, groups, blocks,
	tiles int, add bool)

// quantTile4AMX is quantTile4, likewise.
//
//go:noescape
func quantTile4AMX(y []float32, ldy int, q []int16, ldq int, w []byte, ldw, groups, blocks,
	tiles int, add bool)

// The leaf has room for the chains of mostAMX groups.
const groupAMX, mostAMX = 16, 18

// amxLeaf is many on the rows that are whole groups, and few on the others.
func amxLeaf(
	many func(y []float32, ldy int, q []int16, ldq int, w []byte, ldw, groups, blocks, tiles int,
		add bool),
	few quantTileLeaf,
) quantTileLeaf {
	return func(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
		blocks, tiles int, add bool) {
		for rows > 0 {
			n := min(rows, groupAMX*mostAMX)
			if groups := n / groupAMX; groups > 0 && blocks > 0 && tiles > 0 {
				n = groups * groupAMX
				many(y, ldy, q, ldq, w, ldw, groups, blocks, tiles, add)
			} else {
				few(y, ldy, q, starts, ldq, w, ldw, n, blocks, tiles, add)
			}
			if rows -= n; rows > 0 {
				y, q, starts = y[n*ldy:], q[n*ldq*quantBlock:], starts[n*ldq:]
			}
		}
	}
}
