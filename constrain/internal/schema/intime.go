package schema

// Masks of texts that end in time: of the ids that may follow, those after which an end is known that
// fits.

import (
	"maps"
	"slices"

	"picogpt/constrain/internal/trie"
)

// fits reports whether a text can end in time after a part.
func (w *jsonWalk) fits(p part) bool {
	w.work += 4
	return !w.over() && w.Has(w.ends.needs(&p))
}

// roomy reports whether a text can end in time whatever comes in the string or number of a part, or
// that it has none.
func (w *jsonWalk) roomy(p *part) bool {
	e, worst := w.ends, 0
	switch {
	case p.frame.keeps() && (p.kind == partString || p.kind == partNumber || p.kind == partOther):
		return w.Has(e.trial(func() {
			e.upAtMost(p.frame, tooMany)
		}).need)
	case p.kind == partString || p.kind == partNumber:
		worst = e.worst(*p)
	case p.kind == partOther && p.str.table != nil:
		f, s := p.frame, p.frame.object
		return !p.str.table.Few(f.taken()) && w.Has(e.trial(func() {
			e.add(s.dear.times(max(1, s.min-int(f.count))+s.somes), f.depth()-1)
			e.close(f)
			e.rest(f.up)
		}).need+aCharacter)
	case p.kind == partOther: // what is begun needs no more than now, and what tells it from others
		const others = 8
		return w.Has(e.needs(p) + others + aCharacter)
	default:
		return true
	}
	return w.Has(worst + e.trial(func() { e.rest(p.frame) }).need)
}

// aCharacter is how many bytes complete one at most.
const aCharacter = 12

// stringInTime adds the ids below a node that may follow in a string and after which the text can end
// in time.
func (w *jsonWalk) stringInTime(i int, p *part) {
	e := w.ends
	rest := e.trial(func() {
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
	m := w.gradedMask(i, p)
	if m == nil {
		return
	}
	for k := range m.grades {
		if g := &m.grades[k]; w.Has(rest + g.need) {
			g.add(w.open)
		}
	}
	w.lexeme(i, p, false)
}

// gradedMask returns the ids that may follow in a string, by what closes it after them.
func (w *jsonWalk) gradedMask(node int, p *part) *lexMask {
	key, _ := w.j.stringKey(node, p)
	s, n, keep := p.str, p.string.n, &w.j.masks
	if s.max < 0 || s.table == nil { // more make no difference
		n = min(n, int32(s.min))
	}
	if key.n = 1 + n; s.table == nil {
		key.n, keep = 1+int32(s.min)-n, &w.j.vocab.free
	} else {
		key.table, key.within, key.at = s.table, [2]int{s.min, s.max}, p.string.at
	}
	if key.apart = 1; p.frame.keeps() { // characters make it differ from others
		key.apart = 4
	}
	w.ends.work += gradedWork
	return keep.get(key, w, func() *lexMask { return w.findGraded(node, p, int(key.apart)-1) })
}

// gradedWork is for a mask, whether it is stored or not.
const gradedWork = 64

// findGraded computes it, if so many more are needed where the end is looked for.
func (w *jsonWalk) findGraded(node int, p *part, apart int) *lexMask {
	v, s, e := w.j.vocab.Trie, p.str, w.j.ender()
	byNeed := map[int][]uint64{}
	of := func(need int) []uint64 {
		if byNeed[need] == nil {
			byNeed[need] = make([]uint64, v.Words())
		}
		return byNeed[need]
	}
	visit := func(nodes []trie.Node, from int) {
		trie.Walk(v, nodes, from, p.string, func(k int, before, st *stringState) bool {
			n := &nodes[k]
			next, verdict := s.step(*before, n.Byte)
			*st = next
			if w.work++; verdict != goesOn || w.work > w.most {
				return false
			}
			if n.ID < 0 {
				return true
			}
			need := tooMany
			if text, _, ok := e.ending(s, next, 1, anyText); ok {
				need = apart + e.count(text+`"`)
			}
			if s.table == nil {
				need = min(need, max(0, s.min-int(st.n))+1+aCharacter)
			}
			v.Open(of(need), n.ID)
			return true
		})
	}
	if s.table == nil && int(p.string.n) >= s.min && node == 0 && apart == 0 { // a quote ends it
		v.WalkPlain(s.ahead(p.string, len(v.Plain)-1), of(1), func(nodes []trie.Node) { visit(nodes, 0) })
	} else {
		visit(v.Nodes, node)
	}
	if w.over() {
		return nil
	}
	m := &lexMask{}
	for _, need := range slices.Sorted(maps.Keys(byNeed)) {
		if need < tooMany {
			g := grade{need: need, lexMask: lexMask{open: byNeed[need]}}
			g.pack()
			m.grades = append(m.grades, g)
		}
	}
	return m
}
