// Borders: whether byte-pair encoding leaves two neighbouring tokens apart.

package tokenizer

// A stage is the part at one end of a token, at some time while the token's own parts are merged.
type stage struct {
	part uint32 // the part at this end
	most uint32 // the highest rank of the merges until this part grows; none for the whole token
}

// ends are the stages of both ends of a token, from a single part to the whole. Both are nil for a
// token that merging its own parts does not give: no encoding contains it.
type ends struct {
	known       bool
	left, right []stage
}

// borders decides which pairs of tokens can be neighbours. It caches its results, so that only one
// goroutine may use it.
//
// Two tokens u, v are the encoding of their parts if no merge ever crosses the border between them.
// Until one does, the merges inside u happen in the order of encoding u alone, and those inside v
// likewise. Of the next merge in u and the next in v, the one of lower rank happens first, or u's
// if the ranks are equal. So the stages of u's right end and of v's left end pass in the order of
// the highest rank that each end has had so far. While the ends are x and y, the merge of x and y,
// if there is one, happens before both ends have grown if and only if its rank is lower than the
// highest that is still to come in u's stage, and not higher than that in v's.
type borders struct {
	*spelling
	ends []ends // by token
	seen [1 << 14]struct{ u, v, open uint32 }
}

func newBorders(s *spelling) *borders {
	b := &borders{spelling: s, ends: make([]ends, len(s.start)-1)}
	for i := range b.seen {
		b.seen[i].u = none
	}
	return b
}

// occurs reports whether the token is the encoding of its own parts.
func (b *borders) occurs(id uint32) bool { return b.endsOf(id).left != nil }

// separate reports whether u and v, which both occur, are the encoding of their parts together.
func (b *borders) separate(u, v uint32) bool {
	slot := &b.seen[(u*0x9e3779b1^v*0x85ebca6b)>>(32-14)]
	if slot.u != u || slot.v != v {
		slot.u, slot.v, slot.open = u, v, 0
		if b.crossed(u, v) {
			slot.open = 1
		}
	}
	return slot.open == 0
}

func (b *borders) crossed(u, v uint32) bool {
	right, left := b.endsOf(u).right, b.endsOf(v).left
	i, j := 0, 0
	mostU, mostV := right[0].most, left[0].most // so far
	for {
		x, y := right[i], left[j]
		if rank := b.pairs.rank(x.part, y.part); rank < x.most && rank <= y.most && rank != none {
			return true
		}
		switch {
		case x.most == none && y.most == none:
			return false
		case mostU <= mostV:
			i++
			mostU = max(mostU, right[i].most)
		default:
			j++
			mostV = max(mostV, left[j].most)
		}
	}
}

// endsOf returns the ends of a token.
func (b *borders) endsOf(id uint32) *ends {
	e := &b.ends[id]
	if !e.known {
		*e = b.watch(id)
	}
	return e
}

// watch merges a token's parts and records how its ends grow.
func (b *borders) watch(id uint32) ends {
	parts := b.of(id)
	m := b.newMerging(len(parts), func(i int) uint32 { return parts[i] })
	last := len(parts) - 1
	left := []stage{{part: m.list[0].part}}
	right := []stage{{part: m.list[last].part}}
	for {
		rank, at, ok := m.next()
		if !ok {
			break
		}
		l, r := &left[len(left)-1], &right[len(right)-1]
		l.most, r.most = max(l.most, rank), max(r.most, rank)
		if at == 0 {
			left = append(left, stage{part: m.list[0].part})
		}
		if int(m.list[at].next) == len(parts) {
			right = append(right, stage{part: m.list[at].part})
		}
	}
	if int(m.list[0].next) != len(parts) || m.list[0].part != id {
		return ends{known: true}
	}
	left[len(left)-1].most, right[len(right)-1].most = none, none
	return ends{known: true, left: left, right: right}
}
