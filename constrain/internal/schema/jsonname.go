package schema

// JSON: the names of an object's properties, byte by byte.

import "picogpt/constrain/internal/charset"

// key begins a name.
func (j *Form) key(to []part, f *frame) []part {
	if names := f.names(); len(names) > 0 {
		to = append(to, part{kind: partName, frame: f, names: names, hi: int32(len(names))})
	}
	if _, ok := f.afterOther(); ok {
		to = append(to, part{kind: partOther, frame: f, str: f.object.others})
	}
	return to
}

func (j *Form) stepName(to []part, p *part, b byte) []part {
	names := p.frame.object.names
	if first := int(p.names[p.lo]); b == '"' && int(p.at) == len(names[first].escaped) {
		f, _ := p.frame.after(first) // names returned only names that are allowed
		if first >= p.frame.object.ordered {
			f.used = &used{names[first].name, f.used}
		}
		return append(to, part{kind: partColon, frame: &f, value: names[first].value,
			space: j.other})
	}
	q := *p
	q.lo, q.hi = narrow(p.lo, p.hi, p.at, b,
		func(i int32) string { return names[p.names[i]].escaped })
	if q.at++; q.lo < q.hi {
		to = append(to, q)
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
		if p.frame.unique() || !p.frame.crowded(&q) {
			return append(to, q)
		}
	}
	return to
}

// endOther returns the part after an unknown name; ok is false if the name was already used or is a
// known one.
func (j *Form) endOther(p *part, raw string, at int32) (part, bool) {
	name := unescapeJSON(raw)
	if p.frame.unique() { // a string in an array; lists have it as JSON
		text := `"` + escapeJSON(name)
		return j.doneItem(p.frame, text), !p.frame.has(text)
	}
	o := p.frame.object
	if _, known := o.index[name]; known || p.frame.has(name) {
		return part{}, false
	}
	f, ok := p.frame.afterOther()
	if !ok {
		return part{}, false
	}
	f.used = &used{name, f.used}
	value := o.values[0]
	if t := p.str.table; t != nil {
		value = o.values[t.Kind[at]]
	}
	return part{kind: partColon, frame: &f, value: value, space: j.other}, true
}

// crowded reports whether all names that begin as a part does are used or known. That is only
// possible if few names begin so.
func (f *frame) crowded(p *part) bool {
	t := p.str.table
	if t == nil || !t.Few(f.taken()) {
		return false
	}
	switch p.string.Form {
	case charset.Border:
	case charset.UTF8of2, charset.UTF8of3, charset.UTF8of4:
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
	read := int(p.string.Form-charset.UTF8of2) + 2 - int(p.string.Left)
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
		// a name may be compared with all names that are used or known
		if w.work += 1 + least; w.over() {
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
			q := part{frame: p.frame, str: p.str, string: st}
			if st.Form != charset.Border || p.str.table.Count[st.at] <= least {
				q.raw = raw(k, n.Depth)
			}
			if !p.frame.crowded(&q) {
				path[n.Depth] = st
				v.Open(w.open, n.ID)
				k++
				continue
			}
		}
		k += int(n.Size)
	}
}
