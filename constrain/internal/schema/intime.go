package schema

// Masks of texts that end in time: of the ids that may follow, those after which an end is known that
// fits.

import "picogpt/constrain/internal/trie"

// fits reports whether a text can end in time after a part.
func (w *jsonWalk) fits(p part) bool {
	w.work += 4
	return !w.over() && w.ends.needs(&p) <= w.left
}

// roomy reports whether a text can end in time whatever comes in the string or number of a part, or
// that it has none.
func (w *jsonWalk) roomy(p *part) bool {
	e, worst := w.ends, 0
	switch {
	case p.frame.keeps() && (p.kind == partString || p.kind == partNumber || p.kind == partOther):
		return e.trial(func() {
			for f := p.frame; f != nil; f = f.up {
				e.atMost(f)
			}
		}).need <= w.left
	case p.kind == partString:
		worst = e.worst(p.str)
	case p.kind == partNumber:
		worst = p.number.worst()
	case p.kind == partOther && p.str.table != nil:
		f, s := p.frame, p.frame.object
		return !p.str.table.Few(f.taken()) && e.trial(func() {
			e.add(s.dear.times(max(1, s.min-int(f.count))+s.somes), f.depth()-1)
			e.close(f)
			e.rest(f.up)
		}).need+aCharacter <= w.left
	case p.kind == partOther: // what is begun needs no more than now, and what tells it from others
		const others = 8
		return e.needs(p)+others+aCharacter <= w.left
	default:
		return true
	}
	return worst+e.trial(func() { e.rest(p.frame) }).need <= w.left
}

// aCharacter is how many bytes complete one at most.
const aCharacter = 12

// stringInTime adds the ids that may follow in a string and after which the text can end in time.
func (w *jsonWalk) stringInTime(p *part) {
	v, e, a := w.j.vocab.Trie, w.ends, trie.LookAhead{}
	room := w.left - e.trial(func() {
		f := p.frame
		if f != nil && f.kept { // whatever makes it different
			n := e.need
			f, _ = e.scalar(p, false)
			e.need = n
		}
		for f != nil && f.kept {
			f = e.shut(f, false)
		}
		if f.unique() {
			e.itemsAtMost(f)
			e.close(f)
			f = f.up
		}
		e.rest(f)
	}).need
	if p.str.table == nil && p.str.min-int(p.string.n) <= 0 && room > 0 && !p.frame.keeps() { // a quote ends it
		a = p.str.ahead(p.string, len(v.Plain)-1)
	}
	v.WalkPlain(a, w.open, func(nodes []trie.Node) { w.nodesInTime(nodes, p, room) })
}

// nodesInTime adds those of a trie after which the string can be closed with so many ids, and those
// that continue after its end.
func (w *jsonWalk) nodesInTime(nodes []trie.Node, p *part, room int) {
	v, s, e := w.j.vocab.Trie, p.str, w.ends
	path := make([]stringState, v.Longest+1)
	path[0] = p.string
	for k := 1; k < len(nodes); {
		e.work++
		if w.work++; w.over() {
			return
		}
		n := &nodes[k]
		st, verdict := s.step(path[n.Depth-1], n.Byte)
		switch verdict {
		case closes:
			q := w.j.done(p.frame)
			if p.frame.keeps() {
				q = w.j.doneString(p, p.raw+string(v.Bytes[v.Below(int(v.Index(nodes, k)))][:n.Depth-1]))
			}
			if q.frame.keeps() && !q.fresh() {
				k += int(n.Size)
				continue
			}
			if n.ID >= 0 && w.fits(q) {
				v.Open(w.open, n.ID)
			}
			if n.Size > 1 {
				w.walk(int(v.Index(nodes, k)), &q)
			}
			fallthrough
		case impossible:
			k += int(n.Size)
			continue
		}
		path[n.Depth] = st
		k++
		if n.ID < 0 {
			continue
		}
		apart := 0 // characters by which it differs from others
		if p.frame.keeps() {
			apart = 3
		}
		if few := max(0, s.min-int(st.n)) + 1; s.table != nil || few+aCharacter > room {
			if text, _, ok := e.ending(s, st, 1, anyText); !ok || e.count(text+`"`)+apart > room {
				continue
			}
		}
		v.Open(w.open, n.ID)
	}
}
