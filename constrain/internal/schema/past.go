package schema

// Where a text may end within an id: what is around the form continues there.

import "slices"

// complete reports whether the text may end at one of some parts.
func complete(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool {
		return p.frame == nil && (p.kind == partDone || p.ends())
	})
}

// pastNumber calls past with the nodes below node i that end a number which is the whole text.
func (w *jsonWalk) pastNumber(i int, p *part) {
	v := w.j.vocab.Trie
	path := make([]numberState, v.Longest+1)
	path[v.Nodes[i].Depth] = p.digits
	for k, end := i+1, i+int(v.Nodes[i].Size); k < end; {
		n := &v.Nodes[k]
		st, ok := p.number.step(path[n.Depth-1], n.Byte)
		if w.work++; !ok {
			k += int(n.Size)
			continue
		}
		if path[n.Depth] = st; n.Size > 1 && p.number.accepts(st) {
			w.past(k)
		}
		k++
	}
}
