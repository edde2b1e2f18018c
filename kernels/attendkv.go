package kernels

// How attention reads the blocks of a cache: several queries as matrices in F32, which the register
// tile multiplies; one query reads F16 where it is, as fast as the memory gives it.

// keys returns the first keys of block b as a matrix [DK, cols].
func (t *attendTile) keys(b, cols int) Panels {
	room := blockRoom(b, len(t.K), t.Room)
	k := t.K[b].from(t.KBefore * room)
	if k.F16 != nil {
		return t.widened(k.F16, room, t.DK, cols)
	}
	return Panels{Data: k.F32, K: t.DK, Cols: cols}
}

// columns returns columns of the values of block b, from j on, as a matrix [room, cols].
func (t *attendTile) columns(b, j, cols int) Panels {
	room := blockRoom(b, len(t.V), t.Room)
	v := t.V[b].from(t.VBefore * room)
	switch {
	case v.F16 != nil:
		return t.widened(v.F16[j:], t.DV, room, cols)
	case t.LDV != 0:
		return Panels{Data: v.F32[j:], K: room, Cols: cols, LD: t.LDV}
	}
	return Panels{Data: v.F32[j*room:], K: room, Cols: cols}
}

// widened returns a matrix [k, cols] in F16, whose rows lie ld apart, in F32.
func (t *attendTile) widened(m []uint16, ld, k, cols int) Panels {
	wide := t.wide[:k*cols]
	if ld == cols {
		t.v.convert16(wide, m, false)
	} else {
		for i := range k {
			t.v.convert16(wide[i*cols:(i+1)*cols], m[i*ld:], false)
		}
	}
	return Panels{Data: wide, K: k, Cols: cols, LD: cols}
}

// inPlace reports whether there is one query, of keys and values in F16.
func (t *attendTile) inPlace() bool { return t.Rows == 1 && len(t.K) > 0 && t.K[0].F16 != nil }

// scoreInPlace is score of one query and the first n keys, which has cleared the scores.
func (t *attendTile) scoreInPlace(b, n int) {
	room := blockRoom(b, len(t.K), t.Room)
	t.v.chainKV(t.scores[:n], t.q[:t.DK], t.K[b].F16[t.KBefore*room:], room, t.soon)
}

// valuesInPlace is values of one query.
func (t *attendTile) valuesInPlace(b int) {
	p := t.row(b, 0)
	room := blockRoom(b, len(t.V), t.Room)
	v := t.V[b].F16[t.VBefore*room:]
	for j := 0; j < t.DV; j += outCols {
		part := t.part[:min(outCols, t.DV-j)]
		clear(part)
		t.v.chainKV(part, p, v[j:], t.DV, t.soon.second(t.DK))
		t.v.add(t.acc[j:j+len(part)], part)
	}
}

// soon is what one query in F16 reads next, for chainKV to fetch: lines of the cache in each half
// of keys and of values. The halves lie apart numbers from each other. Fetching from four pages of
// memory side by side is what matters: the processor's own fetching begins anew with each page.
type soon struct {
	keys, values []uint16
	apart        int
}

// soon returns what is fetched while block b of tile i is worked on: that of the next tile.
func (w *Worker) soon(b, i int) soon {
	t := &w.tiles[i]
	if !t.inPlace() {
		return soon{}
	}
	switch {
	case i+1 < len(w.tiles):
		t = &w.tiles[i+1]
	case (b+1)*Block < t.visible(0):
		t, b = &w.tiles[0], b+1
	} // else nothing is left: what is read now
	room := blockRoom(b, len(t.K), t.Room)
	return soon{
		keys: t.K[b].F16[t.KBefore*room:], values: t.V[b].F16[t.VBefore*room:],
		apart: min(t.DK, t.DV) * room / 2,
	}
}

// second returns what is left when a chain over n inputs, that of the scores, has fetched its part.
func (s soon) second(n int) soon {
	lines := n / 2 * 32 // numbers: chainKV fetches from each of them every second time
	return soon{s.keys[min(lines, len(s.keys)):], s.values[min(lines, len(s.values)):], s.apart}
}
