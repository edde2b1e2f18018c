package schema

// Names: those of an object's properties, in a text and in its masks.

import (
	"slices"
	"strings"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/trie"
)

// key begins a name.
func (f *frame) key(to []part) []part {
	if names := f.names(); len(names) > 0 {
		to = append(to, part{kind: partName, frame: f, texts: &names, hi: int32(len(names)), at: 1})
	}
	for _, o := range f.object.others {
		if f.mayOther(o) {
			to = append(to, part{kind: partOther, frame: f, str: o.str})
		}
	}
	return to
}

// named appends the parts after a known name.
func (j *Form) named(to []part, before *frame, i int) []part {
	o := before.object
	n := &o.names[i]
	f, _ := before.after(i) // f.names returned only names that are allowed
	f.name = n.name
	if i >= o.ordered {
		f.used = &used{n.name, f.used}
	}
	for _, m := range n.claims {
		g := f
		g.tally |= int32(m.bits)
		if (m.bits == 0 || g.tally != f.tally) && m.value.possible && o.feasible(&g) {
			to = append(to, part{kind: partColon, frame: &g, value: m.value, space: j.other})
		}
	}
	return to
}

func (j *Form) stepOther(to []part, p *part, b byte) []part {
	st, verdict := p.str.step(p.string, b)
	switch verdict {
	case closes:
		for _, f := range p.frame.each() {
			if q, ok := j.endOther(f, p.str, p.raw, st.at); ok {
				to = append(to, q)
			}
		}
	case goesOn:
		q := *p
		q.string, q.raw = st, p.raw+string([]byte{b})
		if !p.frame.crowded(&q) {
			return append(to, q)
		}
	}
	return to
}

// endOther returns the part after an unknown name; ok is false if the name was already used or is a
// known one.
func (j *Form) endOther(in *frame, s *stringSpec, raw string, at int32) (part, bool) {
	name := unescapeJSON(raw)
	o := in.object
	if _, known := o.index[name]; known || in.has(name) {
		return part{}, false
	}
	of := &o.others[0]
	for i := range o.others {
		if o.others[i].str == s { // else it is that of others of one of several frames
			of = &o.others[i]
		}
	}
	f, ok := in.afterOther(of)
	if !ok {
		return part{}, false
	}
	f.used, f.name = &used{name, f.used}, name
	return part{kind: partColon, frame: &f, value: s.among(of.values, at), space: j.other}, true
}

// among returns that of some values which is for the names that end in a state of a table.
func (s *stringSpec) among(values []*value, at int32) *value {
	if s.table == nil {
		return values[0]
	}
	return values[s.table.Kind[at]]
}

// crowded reports whether all names that begin as a part does are used or known. That is only
// possible if few names begin so.
func (f *frame) crowded(p *part) bool {
	t := p.str.table
	if t == nil || !t.Few(f.taken()) {
		return false
	}
	switch p.string.Form {
	case automaton.Border:
	case automaton.UTF8of2, automaton.UTF8of3, automaton.UTF8of4:
		return f.crowdedBytes(p)
	default:
		return false // after an escape that must be one, the next character decides
	}
	if t.Count[p.string.at] > f.taken() {
		return false
	}
	prefix := unescapeJSON(p.raw)
	taken := map[string]bool{}
	for name := range f.takenNames {
		if strings.HasPrefix(name, prefix) && p.str.has(name) {
			taken[name] = true
		}
	}
	return len(taken) >= t.Count[p.string.at]
}

// taken returns how many names may be used or known.
func (f *frame) taken() int { return int(f.count) + len(f.object.names) }

// crowdedBytes is crowded after some bytes of a character.
func (f *frame) crowdedBytes(p *part) bool {
	lo, hi := p.string.Runes()
	read := int(p.string.Form-automaton.UTF8of2) + 2 - int(p.string.Left)
	for piece := range p.str.table.Alpha.Pieces(lo, hi) {
		for r := piece.Lo; r <= piece.Hi; r++ {
			st, verdict := p.str.complete(p.string, r)
			if verdict == impossible {
				break // as are all of its class
			}
			q := part{frame: f, str: p.str, string: st, raw: p.raw[:len(p.raw)-read] + string(r)}
			if !f.crowded(&q) {
				return false
			}
		}
	}
	return true
}

// fewNames adds the ids that continue another name in a case where few names begin like it. It
// leaves out ids that lead only to used or known names: those are looked for where these begin so.
func (w *jsonWalk) fewNames(i int, p *part) {
	v := w.j.vocab.Trie
	taken := slices.Sorted(p.frame.takenNames)
	from, least := v.Nodes[i].Depth, p.frame.taken()
	var crowded []int
	trie.Walk(v, v.Nodes, i, p.string, func(k int, before, after *stringState) bool {
		n := &v.Nodes[k]
		st, verdict := p.str.step(*before, n.Byte)
		*after = st
		raw := p.raw + string(v.Bytes[v.Below(k)][from:n.Depth])
		switch w.work++; {
		case w.over() || verdict != goesOn || !begins(taken, raw):
			return false
		case st.Form == automaton.Border && p.str.table.Count[st.at] > least:
			return true
		}
		w.work += least
		if p.frame.crowded(&part{frame: p.frame, str: p.str, string: st, raw: raw}) {
			crowded = append(crowded, k)
			return false
		}
		return true
	})
	if !w.over() {
		w.lexeme(i, p, true, crowded...)
	}
}

// begins reports whether a text of JSON may be a beginning of one of some sorted names.
func begins(names []string, raw string) bool {
	if strings.IndexByte(raw, '\\') >= 0 {
		return true // and escapes are few
	}
	i, ok := slices.BinarySearch(names, raw)
	return ok || i < len(names) && strings.HasPrefix(names[i], raw)
}

// takenNames yields the names that are used or known.
func (f *frame) takenNames(yield func(string) bool) {
	for u := f.used; u != nil; u = u.up {
		if !yield(u.name) {
			return
		}
	}
	for i := range f.object.names {
		if !yield(f.object.names[i].name) {
			return
		}
	}
}

// allUsed returns the names that are used in one of the frames that a frame stands for.
func (f *frame) allUsed() map[string]bool {
	used, before := map[string]bool{}, f.first()
	for i, f := range f.each() {
		if i == 0 || !f.usesLike(before) {
			for u := f.used; u != nil; u = u.up {
				used[u.name] = true
			}
		}
		before = f
	}
	return used
}

// usesLike reports whether the same names are used in two frames.
func (f *frame) usesLike(g *frame) bool {
	u, w := f.used, g.used
	for u != w && u != nil && w != nil && u.name == w.name {
		u, w = u.up, w.up
	}
	return u == w
}
