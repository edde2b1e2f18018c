package kernels

// Models of the leaves for Q8 and Q4 in AVX-512 assembly: see zmm_test.go.

// quantTile512Model is quantTile8AVX512 or quantTile4AVX512.
func quantTile512Model(f Format) quantTileLeaf {
	return func(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
		blocks, tiles int, add bool) {
		m := quantModel{f: f, size: f.tileBytes(), ldy: ldy, ldq: ldq, ldw: ldw, blocks: blocks}
		for t := 0; t < tiles; t += 2 {
			for first, n := 0, 0; first < rows; first += n {
				n = quantHeight512(rows - first)
				var zero zmm
				for i := first; i < min(first+8, rows) && !add; i++ {
					zero.store(y[i*ldy+t*quantCols:], allLanes)
					zero.store(y[i*ldy+min(t+1, tiles-1)*quantCols:], allLanes)
				}
				m.pair(y[first*ldy+t*quantCols:], q[first*ldq*quantBlock:], starts[first*ldq:],
					w[t*ldw:], n, min(1, tiles-t-1))
			}
		}
	}
}

// quantOne512Model is quantOne8AVX512 or quantOne4AVX512.
func quantOne512Model(f Format) quantOneLeaf {
	return func(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int) {
		m := quantModel{f: f, size: f.tileBytes(), ldw: ldw, blocks: blocks}
		for t := range tiles {
			if f == Q8 {
				m.one8(y[t*quantCols:], q, w[t*ldw:])
			} else {
				m.one4(y[t*quantCols:], q, starts, w[t*ldw:])
			}
		}
	}
}

// quantHeight512 returns how many of the rows that are left quantTile8AVX512 takes at a time.
func quantHeight512(left int) int {
	switch {
	case left >= 8:
		return 8
	case left == 6:
		return 6
	case left >= 4:
		return 4
	}
	return left
}

// A quantModel holds the sizes of a call.
type quantModel struct {
	f                           Format
	size, ldy, ldq, ldw, blocks int
}

// pairWeights returns the weights of pair p of a tile: words.
func (m *quantModel) pairWeights(tile []byte, p int) zint {
	switch {
	case m.f == Q8:
		return widenBytes(tile[32*p:])
	case p%2 == 0:
		return twice(tile[16*p:]).shiftWords(halvesI(0, 0x00040004)).and(broadcastI(0x000f000f))
	}
	return twice(tile[16*p-16:]).shiftWords(halvesI(0x00080008, 0x000c000c)).
		and(broadcastI(0x000f000f))
}

// pair is n rows by two tiles, the second far tiles after the first. The widened copy of the
// weights that many rows read holds the same registers.
func (m *quantModel) pair(y []float32, q []int16, starts []int32, w []byte, n, far int) {
	for b := range m.blocks {
		var sums [8][2][2]zint // row, tile, even or odd pairs
		if m.f == Q4 {
			for i := range n {
				sums[i][0][0] = broadcastI(starts[i*m.ldq+b])
				sums[i][1][0] = sums[i][0][0]
			}
		}
		var scales [2]zmm
		for c := range 2 {
			tile := w[c*far*m.ldw+b*m.size:][:m.size]
			scales[c] = widenScales(tile[m.size-32:])
			for p := range quantBlock / 2 {
				odd := p % 2
				if n > 4 {
					odd = 0
				}
				weights := m.pairWeights(tile, p)
				for i := range n {
					x := pairAt(q[(i*m.ldq+b)*quantBlock:], p)
					sums[i][c][odd].addWords(weights, broadcastI(x))
				}
			}
		}
		for i := range n {
			a, b := y[i*m.ldy:], y[i*m.ldy+far*quantCols:]
			chainA, chainB := loadZ(a, allLanes), loadZ(b, allLanes)
			for c, chain := range []*zmm{&chainA, &chainB} {
				sums[i][c][0].add(sums[i][c][1])
				chain.fma(sums[i][c][0].floats(), scales[c], allLanes)
			}
			chainA.store(a, allLanes)
			chainB.store(b, allLanes)
		}
	}
}

// one8 is one row by one tile.
func (m *quantModel) one8(y []float32, q []int16, w []byte) {
	chain := loadZ(y, allLanes)
	for b := range m.blocks {
		tile := w[b*m.size:][:m.size]
		var sums [2]zint
		for p := range quantBlock / 2 {
			x := broadcastI(pairAt(q[b*quantBlock:], p))
			sums[p%2].addWords(m.pairWeights(tile, p), x)
		}
		sums[0].add(sums[1])
		chain.fma(sums[0].floats(), widenScales(tile[m.size-32:]), allLanes)
	}
	chain.store(y, allLanes)
}

// one4 is one row by one tile.
func (m *quantModel) one4(y []float32, q []int16, starts []int32, w []byte) {
	nibbles := halvesI(0x0f0f0f0f, -0x0f0f0f10)
	chain := loadZ(y, allLanes)
	for b := range m.blocks {
		tile, x := w[b*m.size:][:m.size], makeRowBytes(q[b*quantBlock:])
		var high, low zint
		for g := range quantBlock / 4 {
			weights := twice(tile[32*g:]).and(nibbles)
			high.addBytes(weights, broadcastI(fourAt(x.high[:], g)))
			low.addBytes(weights, broadcastI(fourAt(x.low[:], g)))
		}
		for g := range quantBlock / 4 {
			if x.mask != 0 {
				weights := twice(tile[32*g:]).and(nibbles)
				high.addBytes(weights, broadcastI(fourAt(x.rest[:], g)))
			}
		}
		for i := range high {
			high[i] = (high[i]<<8 + low[i]) >> (i / 8 * 4)
		}
		high.add(broadcastI(starts[b]))
		chain.fma(high.floats(), widenScales(tile[m.size-32:]), allLanes)
	}
	chain.store(y, allLanes)
}
