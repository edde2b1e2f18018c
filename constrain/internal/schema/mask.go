package schema

// Masks: of each part, the ids that may follow. Those of strings and numbers do not depend on what
// is around the string or number, and are stored.

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"picogpt/constrain/internal/automaton"

	"picogpt/constrain/internal/trie"
)

// Mask adds the open ids, in some steps at most. Of ids after which the text needs more than left
// others, as far as is known, it adds none.
func (j *Form) Mask(state any, open []uint64, left, steps int) error {
	return j.Below(0, state, open, left, steps, nil)
}

// Below is Mask for the ids below a node of the trie. It calls past, if there is one, with the nodes
// below it after whose bytes the text may end, and which have some below them.
func (j *Form) Below(
	node int, state any, open []uint64, left, steps int, past func(node int),
) error {
	w := &jsonWalk{j: j, open: open, most: min(steps, maxVisits), left: left, past: past}
	if left != math.MaxInt {
		w.ends = j.ender()
		w.ends.most, w.ends.bound = mostInMask, mostInTime
	}
	parts := state.([]part)
	for i := range parts {
		if f := parts[i].frame; w.ends != nil && f != nil {
			w.ends.rests[f] = w.ends.trial(func() { w.ends.rest(f) }).need
		}
		if w.below(node, &parts[i]); w.over() {
			break
		}
	}
	if w.err == automaton.ErrSteps && steps >= maxVisits {
		return fmt.Errorf("schema: a mask needs more than %d steps", maxVisits)
	}
	return w.err
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
	j     *Form
	open  []uint64
	arena []part // the parts after each byte of the path to the node
	work  int    // visits of nodes of tries, one for each part
	most  int
	err   error
	ends  *ender // nil: all open ids are added
	left  int
	past  func(node int)
}

// below adds the ids below node i of the trie that may follow a part.
func (w *jsonWalk) below(i int, p *part) {
	if w.ends != nil && w.over() {
		return
	}
	if p.kind == partNumber && p.frame == nil && w.past != nil {
		w.pastNumber(i, p)
	}
	switch roomy := w.ends == nil || w.roomy(p); {
	case roomy:
	case p.kind == partOther && p.str.table == nil:
		w.lexeme(i, p, false) // it is ended at once: to find what else fits takes long
		return
	case p.kind == partString && i == 0 && p.string.Form == automaton.Border &&
		(!p.frame.keeps() || p.goesOn() && p.str.table == nil):
		w.stringInTime(p)
		return
	default:
		w.walk(i, p)
		return
	}
	switch p.kind {
	case partValue:
		if p.rest != "" {
			w.walk(i, p)
			return
		}
		w.value(i, p)
	case partString, partOther, partNumber:
		switch {
		case p.frame.keeps() && !p.goesOn(): // masks that are stored know of no other items
			w.walk(i, p)
		case p.kind == partOther && p.str.table.Few(p.frame.taken()):
			w.fewNames(i, p)
		default:
			w.lexeme(i, p, true)
		}
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
			for _, q := range next {
				w.below(k, &q)
			}
		}
	}
}

// lexeme adds the ids that may follow in a string or a number, from a stored mask, and those that
// continue after its end; those in it only with inside.
func (w *jsonWalk) lexeme(i int, p *part, inside bool) {
	m := w.lexMask(i, p)
	if m == nil {
		return
	}
	if inside {
		m.add(w.open)
	}
	v := w.j.vocab.Trie
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
			q, ok = w.j.endOther(p, inside, p.exitState(e))
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
		if p.kind != partNumber && (w.ends == nil || w.fits(q)) {
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
	if w.past != nil && p.kind == partDone {
		w.past(i)
		return
	}
	top := len(w.arena)
	w.arena = append(w.arena, *p)
	base := int(v.Nodes[i].Depth)
	ends := make([]int, 1, 16) // the ends of the parts of each depth
	ends[0] = top + 1
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
		if w.arena, w.err = w.j.stepAll(w.arena, before, n.Byte, &w.work); w.over() {
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
		if n.Size > manyNodes && hasStored(after) {
			for _, q := range slices.Clone(after) {
				w.below(k, &q)
			}
			k += int(n.Size)
			continue
		}
		ends, sets = append(ends, len(w.arena)), append(sets, bytesAfter(after))
		k++
	}
	w.arena = w.arena[:top]
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

// hasStored reports whether the masks of one of the parts are stored.
func hasStored(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool {
		return p.kind == partString || p.kind == partOther || p.kind == partNumber ||
			p.kind == partValue
	})
}

// Vocabulary are the ids, and what all schemas of a vocabulary have in common: masks of strings of
// any characters, and of all numbers; and the automatons of formats.
type Vocabulary struct {
	*trie.Trie
	free  lexMasks
	ready sync.Map // the automatons, by their keys

	once   sync.Once
	opened int // brackets in one id, at most
}

// nesting returns how many containers one id can open at most.
func (v *Vocabulary) nesting() int {
	v.once.Do(func() {
		for _, id := range v.Bytes {
			v.opened = max(v.opened, bytes.Count(id, []byte{'['})+bytes.Count(id, []byte{'{'}))
		}
	})
	return v.opened
}

// A lexMask holds what may follow inside a string or a number, below a node of the trie.
type lexMask struct {
	open  []uint64 // the words that are not 0
	words []int32  // their indexes; nil if all words are present
	exits []exit   // nodes at which the string or number is complete
	chars int32    // characters of the longest id in it
}

// lexMasks stores masks, and drops all of them when there are too many.
type lexMasks struct {
	mu    sync.Mutex
	masks map[lexKey]*lexMask
	held  atomic.Int64 // bytes
}

// get returns the mask of a key. If it is not stored, find makes it, or returns nil.
func (l *lexMasks) get(key lexKey, w *jsonWalk, find func() *lexMask) *lexMask {
	if w.most == maxVisits {
		l.mu.Lock()
	} else if !l.mu.TryLock() { // another goroutine computes one, which may take long
		w.err = automaton.ErrSteps
		return nil
	}
	defer l.mu.Unlock()
	m := l.masks[key]
	if m == nil {
		if m = find(); m == nil {
			return nil
		}
		bytes := int64(8*len(m.open) + 4*len(m.words) + 12*len(m.exits) + 256)
		if l.masks == nil || l.held.Load()+bytes > maxLexBytes {
			l.masks = map[lexKey]*lexMask{}
			l.held.Store(0)
		}
		l.masks[key] = m
		l.held.Add(bytes)
	}
	return m
}

// An exit is a node whose last byte closes a string, or after which a number may be complete.
type exit struct {
	node  int32
	at    int32 // of a string: the state of its table
	chars int32 // and the number of its characters below the node
}

// lexKey is the key of a mask.
type lexKey struct {
	str    *stringSpec // nil for strings of any characters
	number *numberSpec
	any    uint8 // 1: all numbers, 2: all whole numbers
	node   int32
	escapes
	automaton.Partial
	at     int32
	n      int32 // 1 + characters, if a table's result depends on their number
	room   int32 // characters that may come
	digits numberState
}

// lexMask returns the mask of a part below a node. Masks of strings of any characters are stored
// with the vocabulary.
func (w *jsonWalk) lexMask(node int, p *part) *lexMask {
	j := w.j
	key, keep := j.numberKey(node, p), &j.masks
	free := p.kind == partNumber && p.number.any
	if p.kind != partNumber {
		key, free = j.stringKey(node, p)
	}
	if free {
		keep = &j.vocab.free
	}
	if p.kind == partNumber || key.n > 0 {
		return keep.get(key, w, func() *lexMask { return w.findLex(node, p) })
	}
	// Lengths matter only for ids that are too long, and for exits, which have the number of
	// characters that they need. If there are no such ids, the mask is that of strings of any
	// length.
	spec, q := *p.str, *p
	spec.min, spec.max, q.str = 0, -1, &spec
	if spec.table != nil && spec.table.Loose != nil {
		spec.table = spec.table.Loose
	}
	wide := key
	wide.room = int32(j.vocab.Widest) + 1
	m := keep.get(wide, w, func() *lexMask { return w.findLex(node, &q) })
	if m == nil || m.chars < key.room || key.room == wide.room {
		return m
	}
	spec.max = p.str.max
	return keep.get(key, w, func() *lexMask { return w.findLex(node, &q) })
}

func (j *Form) numberKey(node int, p *part) lexKey {
	key := lexKey{node: int32(node), number: p.number, digits: p.digits}
	if p.number != nil && p.number.any {
		key.number, key.any = nil, 1
		if p.number.whole {
			key.any = 2
		}
	}
	return key
}

// stringKey returns the key of a string, and whether any characters may follow.
func (j *Form) stringKey(node int, p *part) (key lexKey, free bool) {
	s, st := p.str, p.string
	widest := int32(j.vocab.Widest) + 1
	key = lexKey{node: int32(node), escapes: s.escapes, Partial: st.Partial, room: widest}
	if s.max >= 0 {
		key.room = min(int32(s.max)-st.n, widest)
	}
	if s.table == nil || s.table.All[st.at] {
		return key, true
	}
	if key.str, key.at = s, st.at; s.table.Lengths != nil && !s.roomy(st, int(widest)) {
		key.n = st.n + 1
	}
	return key, false
}

// findLex computes the mask of a part by a walk below a node.
func (w *jsonWalk) findLex(node int, p *part) *lexMask {
	m := &lexMask{open: make([]uint64, w.j.vocab.Words())}
	if p.kind == partNumber {
		w.findNumber(m, node, p)
	} else {
		w.findString(m, node, p)
	}
	if w.over() {
		return nil
	}
	if node > 0 {
		m.pack()
	}
	return m
}

// pack drops the words that are 0.
func (m *lexMask) pack() {
	all := m.open
	m.open, m.words = nil, []int32{}
	for i, w := range all {
		if w != 0 {
			m.open, m.words = append(m.open, w), append(m.words, int32(i))
		}
	}
}

// add sets the ids of a mask in open.
func (m *lexMask) add(open []uint64) {
	if m.words == nil {
		for i, w := range m.open {
			open[i] |= w
		}
		return
	}
	for i, k := range m.words {
		open[k] |= m.open[i]
	}
}

func (w *jsonWalk) findString(m *lexMask, from int, p *part) {
	v := w.j.vocab.Trie
	if from > 0 || p.string.Form != automaton.Border {
		w.findInTrie(m, v.Nodes, from, p)
		return
	}
	a := p.str.ahead(p.string, len(v.Plain)-1)
	m.chars = int32(a.Depth)
	v.WalkPlain(a, m.open, func(nodes []trie.Node) { w.findInTrie(m, nodes, 0, p) })
}

// findInTrie walks a trie below a node.
func (w *jsonWalk) findInTrie(m *lexMask, nodes []trie.Node, from int, p *part) {
	v, s := w.j.vocab.Trie, p.str
	path := make([]stringState, v.Longest+1)
	path[nodes[from].Depth] = p.string
	bounded := s.max >= 0 || s.table != nil && s.table.Lengths != nil
	for k, end := from+1, from+int(nodes[from].Size); k < end; {
		if w.work++; w.work > w.most {
			return
		}
		if w.work%automaton.PauseWork == 0 {
			runtime.Gosched() // other texts are being written
		}
		n := &nodes[k]
		before := &path[n.Depth-1]
		if t := s.table; t != nil && before.Form == automaton.Border && plainByte(n.Byte) {
			at, chars := t.Step(before.at, t.Alpha.ASCII[n.Byte]), before.n+1
			if at < 0 || bounded && !s.live(stringState{at: at, n: chars}) {
				k += int(n.Size)
				continue
			}
			if n.Size > 1 {
				path[n.Depth] = stringState{at: at, n: chars}
			}
			m.chars = max(m.chars, chars-p.string.n)
			v.Open(m.open, n.ID)
			k++
			continue
		}
		st, verdict := s.step(*before, n.Byte)
		switch verdict {
		case impossible:
			k += int(n.Size)
		case closes:
			m.exits = append(m.exits, exit{v.Index(nodes, k), st.at, st.n - p.string.n})
			k += int(n.Size)
		default:
			path[n.Depth] = st
			m.chars = max(m.chars, st.n-p.string.n)
			v.Open(m.open, n.ID)
			k++
		}
	}
}

func (w *jsonWalk) findNumber(m *lexMask, node int, p *part) {
	v := w.j.vocab.Trie
	path := make([]numberState, v.Longest+1)
	path[v.Nodes[node].Depth] = p.digits
	s := p.number
	if s.accepts(p.digits) {
		m.exits = append(m.exits, exit{node: int32(node)})
	}
	for k, end := node+1, node+int(v.Nodes[node].Size); k < end; {
		if w.work++; w.work > w.most {
			return
		}
		n := &v.Nodes[k]
		st, ok := s.step(path[n.Depth-1], n.Byte)
		if !ok {
			k += int(n.Size)
			continue
		}
		path[n.Depth] = st
		v.Open(m.open, n.ID)
		if n.Size > 1 && s.accepts(st) && numberContinues(v, k) {
			m.exits = append(m.exits, exit{node: int32(k)})
		}
		k++
	}
}

// numberContinues reports whether some id continues node i with what may follow a number.
func numberContinues(v *trie.Trie, i int) bool {
	end := i + int(v.Nodes[i].Size)
	for k := i + 1; k < end; k += int(v.Nodes[k].Size) {
		switch v.Nodes[k].Byte {
		case ',', '}', ']', ' ', '\n', '\t':
			return true
		}
	}
	return false
}

// ahead looks ahead from a state of the automaton of a string, at most that many characters.
func (s *stringSpec) ahead(st stringState, most int) (a trie.LookAhead) {
	t := s.table
	if t == nil {
		if s.max >= 0 {
			most = min(most, s.max-int(st.n))
		}
		return trie.LookAhead{Depth: most, Only: true}
	}
	if t.Lengths == nil && t.Plain[st.at] && s.max < 0 {
		return trie.LookAhead{Depth: most}
	}
	return trie.Ahead(st.at, most, func(at int32, n int, to func(int32, bool)) {
		row := t.Row(at)
		for _, class := range t.Plainly {
			to(row[class], row[class] >= 0 && s.live(stringState{at: row[class], n: st.n + int32(n)}))
		}
	})
}
