// Package schema has the forms whose texts are JSON that a schema accepts. A schema is compiled to
// values (compile.go, value.go), and a text is read as parts of values (json.go). This file has the
// masks: of each part, the ids that may follow; of strings and numbers they are stored (lexmask.go).
package schema

import (
	"fmt"
	"slices"

	"picogpt/constrain/internal/meter"
)

// Busy reports whether accept may have to wait: only masks take locks.
func (j *Form) Busy() bool { return false }

// Accept returns the state after an id, or nil if the id is not open.
func (j *Form) Accept(state any, id int) (any, error) {
	parts, work := state.([]part), 0
	bytes := j.vocab.Bytes[id]
	for _, b := range bytes {
		next, err := j.stepAll(nil, parts, b, &work)
		if err != nil {
			return nil, err
		}
		parts = next
	}
	if len(bytes) == 0 || len(parts) == 0 {
		return nil, nil
	}
	return parts, nil
}

// Mask adds the open ids, in some steps at most.
func (j *Form) Mask(state any, open []uint64, steps int) error {
	w := &jsonWalk{j: j, open: open, most: min(steps, maxVisits)}
	parts := state.([]part)
	for i := range parts {
		if w.below(0, &parts[i]); w.err != nil {
			break
		}
	}
	if w.err == meter.ErrSteps && steps >= maxVisits {
		return fmt.Errorf("schema: a mask needs more than %d steps", maxVisits)
	}
	return w.err
}

// over reports whether the search for a mask has to end: it takes more work than allowed, or a step
// has failed.
func (w *jsonWalk) over() bool {
	if w.err == nil && w.work > w.most {
		w.err = meter.ErrSteps
	}
	return w.err != nil
}

// A jsonWalk collects the ids that may follow the parts of a text.
type jsonWalk struct {
	j     *Form
	open  []uint64
	arena []part // the parts after each byte of the path to the node
	work  int    // visits of nodes of tries, one for each part
	most  int
	err   error
}

// below adds the ids below node i of the trie that may follow a part.
func (w *jsonWalk) below(i int, p *part) {
	switch p.kind {
	case partValue:
		w.value(i, p)
	case partString:
		w.lexeme(i, p)
	case partOther:
		if !p.frame.unique() && p.str.table.Few(p.frame.taken()) {
			w.fewNames(i, p)
		} else {
			w.lexeme(i, p)
		}
	case partNumber:
		if p.frame.unique() { // masks that are stored know of no other items
			w.walk(i, p)
			return
		}
		w.lexeme(i, p)
	default:
		w.walk(i, p)
	}
}

// value adds the ids that may begin a value: numbers from stored masks, other values by their first
// byte.
func (w *jsonWalk) value(i int, p *part) {
	v := w.j.vocab.Trie
	for _, s := range p.value.numbers {
		if w.over() {
			return
		}
		q := numberPart(s, p.frame)
		w.below(i, &q)
	}
	end := i + int(v.Nodes[i].Size)
	var next []part
	for k := i + 1; k < end; k += int(v.Nodes[k].Size) {
		b := v.Nodes[k].Byte
		if b == '-' || b >= '0' && b <= '9' {
			continue
		}
		if w.work += p.cost(); w.over() {
			return
		}
		if next = w.j.step(next[:0], p, b); len(next) == 0 {
			continue
		}
		v.Open(w.open, v.Nodes[k].ID)
		if v.Nodes[k].Size > 1 {
			for _, q := range next {
				w.below(k, &q)
			}
		}
	}
}

// lexeme adds the ids that may follow in a string or a number, from a stored mask, and those that
// continue after its end.
func (w *jsonWalk) lexeme(i int, p *part) {
	m := w.lexMask(i, p)
	if m == nil {
		return
	}
	m.add(w.open)
	v := w.j.vocab.Trie
	for _, e := range m.exits {
		if w.work++; w.over() {
			return
		}
		n := &v.Nodes[e.node]
		if p.kind != partNumber && int(p.string.n+e.chars) < p.str.min {
			continue
		}
		var q part
		switch p.kind {
		case partString:
			q = w.j.done(p.frame)
		case partOther:
			var ok bool
			part := v.Bytes[v.Below(int(e.node))][v.Nodes[i].Depth : n.Depth-1]
			if q, ok = w.j.endOther(p, p.raw+string(part), p.exitState(e)); !ok {
				continue
			}
		default:
			if p.frame == nil {
				continue
			}
			q = w.j.done(p.frame)
		}
		if p.kind != partNumber {
			v.Open(w.open, n.ID)
		}
		if n.Size > 1 {
			w.walk(int(e.node), &q)
		}
	}
}

// exitState returns the state of the table at an exit. Masks of strings of any characters do not
// have it, because all such characters lead from a state to itself.
func (p *part) exitState(e exit) int32 {
	if t := p.str.table; t != nil && t.All[p.string.at] {
		return p.string.at
	}
	return e.at
}

// walk adds the ids below node i byte by byte.
func (w *jsonWalk) walk(i int, p *part) {
	v := w.j.vocab.Trie
	top := len(w.arena)
	w.arena = append(w.arena, *p)
	base := int(v.Nodes[i].Depth)
	ends := make([]int, 1, 16) // the ends of the parts of each depth
	ends[0] = top + 1
	from := func(depth int) int {
		if depth == 0 {
			return top
		}
		return ends[depth-1]
	}
	for k, end := i+1, i+int(v.Nodes[i].Size); k < end && w.err == nil; {
		n := &v.Nodes[k]
		depth := int(n.Depth) - base
		ends = ends[:depth]
		w.arena = w.arena[:ends[depth-1]]
		before := w.arena[from(depth-1):ends[depth-1]]
		if w.arena, w.err = w.j.stepAll(w.arena, before, n.Byte, &w.work); w.over() {
			break
		}
		if len(w.arena) == ends[depth-1] {
			k += int(n.Size)
			continue
		}
		v.Open(w.open, n.ID)
		if after := w.arena[ends[depth-1]:]; n.Size > manyNodes && hasStored(after) {
			for _, q := range slices.Clone(after) {
				w.below(k, &q)
			}
			k += int(n.Size)
			continue
		}
		ends = append(ends, len(w.arena))
		k++
	}
	w.arena = w.arena[:top]
}

// manyNodes is the size of a subtree from which a mask is worth storing.
const manyNodes = 16

// hasStored reports whether the masks of one of the parts are stored.
func hasStored(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool {
		return p.kind == partString || p.kind == partOther || p.kind == partNumber ||
			p.kind == partValue
	})
}
