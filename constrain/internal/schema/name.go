package schema

// Names: those of an object's properties, in a text and in its masks.

import "picogpt/constrain/internal/automaton"

// key begins a name.
func (f *frame) key(to []part) []part {
	if names := f.names(); len(names) > 0 {
		to = append(to, part{kind: partName, frame: f, names: &names, hi: int32(len(names))})
	}
	if _, ok := f.afterOther(); ok {
		to = append(to, part{kind: partOther, frame: f, str: f.object.others})
	}
	for i := range f.object.claimed {
		if _, ok := f.afterClaimed(&f.object.claimed[i]); ok {
			to = append(to, part{kind: partOther, frame: f, str: f.object.claimed[i].str})
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
	if o.feasible(&f) {
		to = append(to, part{kind: partColon, frame: &f, value: n.value, space: j.other})
	}
	for _, m := range n.claims {
		if g, ok := before.claims(f, m); ok {
			to = append(to, part{kind: partColon, frame: &g, value: m.value, space: j.other})
		}
	}
	return to
}

func (j *Form) stepOther(to []part, p *part, b byte) []part {
	st, verdict := p.str.step(p.string, b)
	switch verdict {
	case closes:
		if q, ok := j.endOther(p, p.raw, st.at); ok {
			return append(to, q)
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
func (j *Form) endOther(p *part, raw string, at int32) (part, bool) {
	name := unescapeJSON(raw)
	o := p.frame.object
	if _, known := o.index[name]; known || p.frame.has(name) {
		return part{}, false
	}
	f, ok := p.frame.afterOther()
	values := o.values
	for i := range o.claimed {
		if o.claimed[i].str == p.str {
			f, ok = p.frame.afterClaimed(&o.claimed[i])
			values = o.claimed[i].values
		}
	}
	if !ok {
		return part{}, false
	}
	f.used, f.name = &used{name, f.used}, name
	return part{kind: partColon, frame: &f, value: p.str.among(values, at), space: j.other}, true
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
	take := func(name string) {
		if len(name) >= len(prefix) && name[:len(prefix)] == prefix && p.str.has(name) {
			taken[name] = true
		}
	}
	for u := f.used; u != nil; u = u.up {
		take(u.name)
	}
	for i := range f.object.names {
		take(f.object.names[i].name)
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
// leaves out ids that lead only to used or known names.
func (w *jsonWalk) fewNames(i int, p *part) {
	v := w.j.vocab.Trie
	least := p.frame.taken()
	from := v.Nodes[i].Depth
	path := make([]stringState, v.Longest+1)
	path[from] = p.string
	raw := func(k int, to uint16) string { return p.raw + string(v.Bytes[v.Below(k)][from:to]) }
	for k, end := i+1, i+int(v.Nodes[i].Size); k < end; {
		if w.work++; w.over() {
			return
		}
		n := &v.Nodes[k]
		st, verdict := p.str.step(path[n.Depth-1], n.Byte)
		switch verdict {
		case closes:
			if q, ok := w.j.endOther(p, raw(k, n.Depth-1), st.at); ok {
				v.Open(w.open, n.ID)
				w.walk(k, &q)
			}
			k += int(n.Size)
			continue
		case goesOn:
			crowded := false
			if st.Form != automaton.Border || p.str.table.Count[st.at] <= least {
				w.work += least // a name may be compared with all names that are used or known
				crowded = p.frame.crowded(&part{frame: p.frame, str: p.str, string: st, raw: raw(k, n.Depth)})
			}
			if !crowded {
				path[n.Depth] = st
				v.Open(w.open, n.ID)
				k++
				continue
			}
		}
		k += int(n.Size)
	}
}
