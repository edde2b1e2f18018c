package schema

// Masks: of each part, the ids that may follow.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/trie"
)

// Mask adds the open ids, in some steps at most. Of ids after which the text needs more than left
// others, as far as is known, it adds none.
func (j *Form) Mask(state any, open []uint64, left, steps int) error {
	_, _, err := j.Below(0, state, open, left, steps, nil)
	return err
}

// Below is Mask for the ids below a node of the trie. It calls past, if there is one, with the nodes
// below it after whose bytes the text may end, and which have some below them. It returns between
// which numbers left may be, that and fewer than this, with the same ids.
func (j *Form) Below(
	node int, state any, open []uint64, left, steps int, past func(node int),
) (least, under int, err error) {
	w := &jsonWalk{j: j, open: open, most: min(steps, maxVisits), past: past,
		Window: automaton.Window{Left: left, Least: -1, Under: math.MaxInt}}
	if left != math.MaxInt {
		w.ends = j.ender()
		w.ends.most, w.ends.bound = mostInMask, mostInTime
	}
	parts := state.([]part)
	for i := 0; i < len(parts) && w.ends != nil && !w.over(); i++ {
		if f := parts[i].frame; f != nil {
			w.ends.rests[f] = w.ends.trial(func() { w.ends.rest(f) }).need
		}
		w.below(node, &parts[i])
	}
	if w.ends == nil {
		w.all(node, parts)
	}
	if w.err == automaton.ErrSteps && steps >= maxVisits {
		return 0, 0, fmt.Errorf("schema: a mask needs more than %d steps", maxVisits)
	}
	if w.ends != nil && w.over() { // with other bounds it may reach others
		w.Least, w.Under = left, left+1
	}
	return w.Least, w.Under, w.err
}

// over reports whether the search for a mask has to end: it takes more work than allowed, or a step
// has failed. Ids after which an end is known that fits are some of all: the rest is left out.
func (w *jsonWalk) over() bool {
	if w.ends != nil && w.ends.work > w.ends.bound {
		return true
	}
	if w.err == nil && w.work > w.most {
		w.err = automaton.ErrSteps
	}
	return w.err != nil
}

// A jsonWalk collects the ids that may follow the parts of a text.
type jsonWalk struct {
	automaton.Window
	j     *Form
	open  []uint64
	arena []part // the parts after each byte of the path to the node
	work  int    // visits of nodes of tries, one for each part
	most  int
	err   error
	ends  *ender // nil: all open ids are added
	past  func(node int)
}

// all adds the ids below node i of the trie that may follow some parts. If they are many, those before
// a name are read together, for their names may be the same.
func (w *jsonWalk) all(i int, parts []part) {
	var keys []part
	open := w.ends == nil && len(parts) > 1
	for k := range parts {
		if p := &parts[k]; open && p.anyPlain() && !w.over() {
			w.below(i, p)
		}
	}
	for k := range parts {
		switch p := &parts[k]; {
		case w.over():
			return
		case open && p.anyPlain():
		case w.ends == nil && len(parts) > few && (p.kind == partKey || p.kind == partColon):
			keys = append(keys, *p)
		default:
			w.below(i, p)
		}
	}
	if len(keys) > 0 {
		w.walk(i, nil, keys...)
	}
}

// anyPlain reports whether any plain characters may follow a part of a string. Those are first in
// masks, because others then look for fewer ids.
func (p *part) anyPlain() bool {
	return (p.kind == partString || p.kind == partOther) && p.str.max < 0 &&
		(p.str.table == nil || p.str.table.Plain[p.string.at] && p.str.table.Lengths == nil)
}

// below adds the ids below node i of the trie that may follow a part.
func (w *jsonWalk) below(i int, p *part) {
	if w.ends != nil && w.over() {
		return
	}
	if p.kind == partNumber && p.frame == nil && w.past != nil {
		w.pastNumber(i, p)
	}
	roomy := w.ends == nil || w.roomy(p)
	switch {
	case !roomy && p.kind == partOther && p.str.table == nil:
		w.lexeme(i, p, false) // it is ended at once: to find what else fits takes long
	case !roomy && p.kind == partString && p.string.Form == automaton.Border &&
		(!p.frame.keeps() || i == 0 && p.goesOn() && p.str.table == nil):
		w.stringInTime(i, p)
	case roomy && p.kind == partValue && p.rest == "":
		w.value(i, p)
	case !roomy || !p.stored() || p.frame.keeps() && !p.goesOn(): // stored masks know of no other items
		w.walk(i, nil, *p)
	case p.kind == partOther && p.str.table != nil && p.str.table.Few(p.frame.taken()):
		w.fewNames(i, p)
	default:
		w.lexeme(i, p, true)
	}
}

// value adds the ids that may begin a value: numbers from stored masks, other values by their first
// byte.
func (w *jsonWalk) value(i int, p *part) {
	v := w.j.vocab.Trie
	for _, s := range p.value.scalars {
		if w.over() {
			return
		}
		if s.numbers() {
			q := s.within(p.frame)
			w.below(i, &q)
		}
	}
	end := i + int(v.Nodes[i].Size)
	var next []part
	for k := i + 1; k < end; k += int(v.Nodes[k].Size) {
		b := v.Nodes[k].Byte
		if strings.IndexByte(" \n\t\"[{fnt", b) < 0 {
			continue
		}
		if w.ends != nil {
			w.ends.work += 2
		}
		if w.work += p.cost(); w.over() {
			return
		}
		if next = freshParts(w.j.step(next[:0], p, b), 0, &w.work); len(next) == 0 {
			continue
		}
		if w.ends == nil || slices.ContainsFunc(next, w.fits) {
			v.Open(w.open, v.Nodes[k].ID)
		}
		if v.Nodes[k].Size > 1 {
			w.all(k, next)
		}
	}
}

// lexeme adds the ids that may follow in a string or a number, from a stored mask, and those that
// continue after its end; those in it only with inside, and not those from some nodes on.
func (w *jsonWalk) lexeme(i int, p *part, inside bool, but ...int) {
	m := w.lexMask(i, p)
	if m == nil {
		return
	}
	v := w.j.vocab.Trie
	switch {
	case inside && len(but) > 0:
		m.without(v, but).add(w.open)
	case inside:
		m.add(w.open)
	}
	same := p.kind == partString && !p.frame.keeps() // all exits lead to one part
	fits := w.ends == nil || same && w.fits(w.j.done(p.frame))
	var again reading // what follows all exits
	if w.ends == nil && p.frame != nil && p.frame.several != nil {
		again = reading{}
	}
	var other *others
	for _, e := range m.exits {
		if w.work++; w.over() {
			return
		}
		n := &v.Nodes[e.node]
		if p.kind != partNumber && (int(p.string.n+e.chars) < p.str.min ||
			n.Size == 1 && w.open[n.ID>>6]>>(n.ID&63)&1 != 0) { // another part has opened it
			continue
		}
		end := int(n.Depth) // of what is in it
		if p.kind != partNumber {
			end--
		}
		inside, ok := p.raw, true
		if p.kind == partOther || p.frame.keeps() {
			inside += string(v.Bytes[v.Below(int(e.node))][v.Nodes[i].Depth:end])
		}
		var q part
		switch {
		case p.kind == partOther:
			if again != nil && other == nil {
				other = &others{reading: again, used: p.frame.allUsed()}
			}
			w.named(p, inside, e, other)
			continue
		case p.kind == partString:
			q = w.j.doneString(p, inside)
		case p.frame.keeps(): // any whole number
			q = w.j.doneText(p.frame, canonicalWhole(inside))
		default:
			q, ok = w.j.done(p.frame), p.frame != nil
		}
		if !ok || q.frame.keeps() && !q.fresh() {
			continue
		}
		if p.kind != partNumber && (fits || !same && w.fits(q)) {
			v.Open(w.open, n.ID)
		}
		if n.Size > 1 {
			w.walk(int(e.node), again, q)
		}
	}
}

// A reading holds the parts after bytes that follow the same parts. Many ids go on alike after strings.
type reading map[string][]part

// others is what follows other names, if they are no name that is used or known and no further name
// may follow them within an id: nothing there depends on them.
type others struct {
	reading
	first []part // after the quote
	used  map[string]bool
}

// named adds the ids after an exit from a name that is not known.
func (w *jsonWalk) named(p *part, raw string, e exit, o *others) {
	v := w.j.vocab.Trie
	n := &v.Nodes[e.node]
	is := n.ID >= 0 && w.open[n.ID>>6]>>(n.ID&63)&1 == 0
	more := n.Size > 1 && (w.j.other > 0 || v.Child(int(e.node), ':') >= 0)
	if name := unescapeJSON(raw); o != nil && (o.used[name] || w.j.known[name] || slices.ContainsFunc(
		v.Nodes[e.node+1:e.node+n.Size], func(n trie.Node) bool { return n.Byte == ',' })) {
		o = nil
	}
	var next []part
	if o != nil && o.first != nil && more {
		if w.work++; is {
			v.Open(w.open, n.ID)
		}
		w.walk(int(e.node), o.reading, o.first...)
		return
	}
	for _, f := range p.frame.each() {
		if w.work++; w.over() || !is && !more {
			return
		}
		q, ok := w.j.endOther(f, p.str, raw, p.exitState(e))
		if !ok || q.frame.keeps() && !q.fresh() {
			continue
		}
		if is && (w.ends == nil || w.fits(q)) {
			v.Open(w.open, n.ID)
			is = false
		}
		if more {
			next = append(next, q)
		}
	}
	if len(next) == 0 {
		return
	}
	if next = next[:distinctParts(next, &w.work)]; o == nil {
		w.walk(int(e.node), nil, next...)
		return
	}
	o.first = next
	w.walk(int(e.node), o.reading, next...)
}

// exitState returns the state of the table at an exit. Masks of strings of any characters do not
// have it, because all such characters lead from a state to itself.
func (p *part) exitState(e exit) int32 {
	if t := p.str.table; t != nil && t.All[p.string.at] {
		return p.string.at
	}
	return e.at
}

// walk adds the ids below node i byte by byte. It looks for the parts after bytes in known, if there
// is one, and stores them there.
func (w *jsonWalk) walk(i int, known reading, parts ...part) {
	v := w.j.vocab.Trie
	if w.past != nil && parts[0].kind == partDone {
		w.past(i)
		return
	}
	top := len(w.arena)
	w.arena = append(w.arena, parts...)
	base := int(v.Nodes[i].Depth)
	ends := make([]int, 1, 16) // the ends of the parts of each depth
	ends[0] = len(w.arena)
	sets := make([]byteSet, 1, 16) // what may follow the parts of each depth
	sets[0] = bytesAfter(w.arena[top:])
	from := func(depth int) int {
		if depth == 0 {
			return top
		}
		return ends[depth-1]
	}
	for k, end := i+1, i+int(v.Nodes[i].Size); k < end && w.err == nil; {
		n := &v.Nodes[k]
		depth := int(n.Depth) - base
		if w.work++; !sets[depth-1].has(n.Byte) {
			k += int(n.Size)
			continue
		}
		ends, sets = ends[:depth], sets[:depth]
		w.arena = w.arena[:ends[depth-1]]
		before := w.arena[from(depth-1):ends[depth-1]]
		if w.ends != nil {
			for k := range before {
				w.ends.work += before[k].toll()
			}
		}
		if w.step(before, known, k, base); w.over() {
			break
		}
		if len(w.arena) == ends[depth-1] {
			k += int(n.Size)
			continue
		}
		after := w.arena[ends[depth-1]:]
		if n.ID >= 0 && (w.ends == nil || slices.ContainsFunc(after, w.fits)) {
			v.Open(w.open, n.ID)
		}
		if w.past != nil && n.Size > 1 && complete(after) {
			w.past(k)
		}
		if n.Size > manyNodes && slices.ContainsFunc(after, func(p part) bool {
			return p.stored() || p.kind == partValue
		}) {
			w.all(k, slices.Clone(after))
			k += int(n.Size)
			continue
		}
		ends, sets = append(ends, len(w.arena)), append(sets, bytesAfter(after))
		k++
	}
	w.arena = w.arena[:top]
}

// step adds the parts after the last byte of node k, which follow those after depth bytes of it.
func (w *jsonWalk) step(before []part, known reading, k, depth int) {
	n, top := &w.j.vocab.Nodes[k], len(w.arena)
	var key []byte
	if known != nil {
		key = w.j.vocab.Bytes[w.j.vocab.Below(k)][depth:n.Depth]
		if parts, ok := known[string(key)]; ok {
			w.arena = append(w.arena, parts...)
			return
		}
	}
	if w.arena, w.err = w.j.stepAll(w.arena, before, n.Byte, &w.work); known != nil {
		known[string(key)] = slices.Clone(w.arena[top:])
	}
}

// toll is approximately the work for the next byte of a part, beside that for its end.
func (p *part) toll() int {
	n := 2 + len(p.raw)/16 // which is copied
	if p.frame.keeps() {
		n += 16
	}
	return n
}

// manyNodes is the size of a subtree from which a mask is worth storing.
const manyNodes = 16

// stored reports whether the masks of a part are stored.
func (p *part) stored() bool {
	return p.kind == partString || p.kind == partOther || p.kind == partNumber
}
