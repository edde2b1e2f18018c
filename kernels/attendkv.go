package kernels

// How attention reads the blocks of a cache. Several queries use matrices in F32, which the
// register tile multiplies; a single query reads F16 in place, at the speed of the memory. For Q8 see
// kvquant.go.

// keysOf returns the head's keys of block b.
func (t *attendTile) keysOf(b int) KV {
	return t.K[b].from(t.Before * t.rowK * blockRoom(b, len(t.K), t.Room))
}

// valuesOf returns the head's values of block b, and its room.
func (t *attendTile) valuesOf(b int) (v KV, room int) {
	room = blockRoom(b, len(t.V), t.Room)
	return t.V[b].from(t.Before * t.rowV * room), room
}

// keys returns the first cols keys of block b as a matrix [DK, cols].
func (t *attendTile) keys(b, cols int) Panels {
	room := blockRoom(b, len(t.K), t.Room)
	k := t.keysOf(b)
	if k.F16 != nil {
		return t.widened(k.F16, room, t.DK, cols)
	}
	return Panels{Data: k.F32, K: t.DK, Cols: cols}
}

// columns returns cols columns of the values of block b, from column j on, as a matrix [room,
// cols].
func (t *attendTile) columns(b, j, cols int) Panels {
	v, room := t.valuesOf(b)
	switch {
	case v.F16 != nil:
		return t.widened(v.F16[j:], t.DV, room, cols)
	case t.LDV != 0:
		return Panels{Data: v.F32[j:], K: room, Cols: cols, LD: t.LDV}
	}
	return Panels{Data: v.F32[j*room:], K: room, Cols: cols}
}

// widened returns a matrix [k, cols] in F16, whose rows lie ld apart, converted to F32.
func (t *attendTile) widened(m []uint16, ld, k, cols int) Panels {
	wide := t.wide[:k*cols]
	if ld == cols {
		t.v.f16.convert(wide, m)
	} else {
		for i := range k {
			t.v.f16.convert(wide[i*cols:(i+1)*cols], m[i*ld:])
		}
	}
	return Panels{Data: wide, K: k, Cols: cols, LD: cols}
}

// inPlace reports whether there is one query, and keys and values are in F16.
func (t *attendTile) inPlace() bool { return t.Rows == 1 && len(t.K) > 0 && t.K[0].F16 != nil }

// scoreInPlace is score for one query and the first n keys. The caller has set the scores to zero.
func (t *attendTile) scoreInPlace(b, n int) {
	room := blockRoom(b, len(t.K), t.Room)
	t.v.chainKV(t.scores[:n], t.q[:t.DK], t.keysOf(b).F16, room, t.soon)
}

// valuesInPlace is values for one query.
func (t *attendTile) valuesInPlace(b int) {
	p := t.row(b, 0)
	v, _ := t.valuesOf(b)
	for j := 0; j < t.DV; j += outCols {
		part := t.part[:min(outCols, t.DV-j)]
		clear(part)
		t.v.chainKV(part, p, v.F16[j:], t.DV, t.soon.second(t.DK))
		t.v.add(t.acc[j:j+len(part)], part)
	}
}

// soon is the memory that one query in F16 reads next, which chainKV prefetches: lines of the cache
// in each half of keys and of values. The halves lie apart numbers from each other. The gain comes
// from prefetching four pages of memory at the same time: the processor's own prefetching stops at
// the end of each page.
type soon struct {
	keys, values []uint16
	apart        int
}

// soon returns what to prefetch while block b of tile i is computed: the memory of the next tile.
func (w *Worker) soon(b, i int) soon {
	t := &w.tiles[i]
	if !t.inPlace() {
		return soon{}
	}
	t, b = w.nextTile(b, i)
	v, room := t.valuesOf(b)
	return soon{
		keys: t.keysOf(b).F16, values: v.F16,
		apart: min(t.DK, t.DV) * room / 2,
	}
}

// nextTile returns the tile, and the block, that are computed after block b of tile i.
func (w *Worker) nextTile(b, i int) (*attendTile, int) {
	switch t := &w.tiles[i]; {
	case i+1 < len(w.tiles):
		return &w.tiles[i+1], b
	case (b+1)*Block < t.visible(0):
		return &w.tiles[0], b + 1
	default: // no tile is left: prefetch what is being read
		return t, b
	}
}

// second returns what remains to be prefetched after a chain over n inputs, that of the scores.
func (s soon) second(n int) soon {
	lines := n / 2 * 32 // count of numbers: chainKV prefetches from each of them every second time
	return soon{s.keys[min(lines, len(s.keys)):], s.values[min(lines, len(s.values)):], s.apart}
}
