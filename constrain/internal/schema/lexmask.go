package schema

// Masks inside strings and numbers, which depend on nothing around them: they are stored.

import (
	"runtime"
	"sync"
	"sync/atomic"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/trie"
)

// A lexMask holds what may follow inside a string or a number, below a node of the trie.
type lexMask struct {
	open  []uint64 // the words that are not 0
	words []int32  // their indexes; nil if all words are present
	exits []exit   // nodes at which the string or number is complete
	chars int32    // characters of the longest id in it

	grades []grade // instead of open, in the order of their needs
}

// A grade holds the ids after which so many others close a string.
type grade struct {
	need int
	lexMask
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
		for _, g := range m.grades {
			bytes += int64(8*len(g.open) + 4*len(g.words) + 120)
		}
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
	table  *automaton.Table // nil for strings of any characters
	number *numberSpec
	within [2]int // the lengths of a string, where they matter
	node   int32
	escapes
	automaton.Partial
	at     int32
	n      int32 // 1 + characters, if a table's result depends on their number
	room   int32 // characters that may come
	digits numberState
	apart  uint8 // 1 + the characters that make it differ, of a mask with grades
	odd    bool  // without plain ids
}

// lexMask returns the mask of a part below a node. Masks of strings of any characters are stored
// with the vocabulary.
func (w *jsonWalk) lexMask(node int, p *part) *lexMask {
	j := w.j
	key, keep := lexKey{node: int32(node), number: p.number, digits: p.digits}, &j.masks
	free := p.kind == partNumber && p.number.any
	if p.kind != partNumber {
		key, free = j.stringKey(node, p)
	}
	if free {
		keep = &j.vocab.free
	}
	// If all plain ids are open already, only others are looked for.
	key.odd = !free && p.kind != partNumber && node == 0 && p.string.Form == automaton.Border &&
		w.ends == nil && j.vocab.AllPlain(w.open)
	find := func(p *part, odd bool) func() *lexMask {
		return func() *lexMask { return w.findLex(node, p, odd) }
	}
	if p.kind == partNumber || key.n > 0 {
		return keep.get(key, w, find(p, key.odd))
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
	m := keep.get(wide, w, find(&q, key.odd))
	if m == nil || m.chars < key.room || key.room == wide.room {
		return m
	}
	spec.max = p.str.max
	return keep.get(key, w, find(&q, key.odd))
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
	if key.table, key.at = s.table, st.at; s.table.Lengths != nil && !s.roomy(st, int(widest)) {
		key.n, key.within = st.n+1, [2]int{s.min, s.max}
	}
	return key, false
}

// findLex computes the mask of a part by a walk below a node; odd leaves out the plain ids.
func (w *jsonWalk) findLex(node int, p *part, odd bool) *lexMask {
	m := &lexMask{open: make([]uint64, w.j.vocab.Words())}
	switch {
	case p.kind == partNumber:
		w.findNumber(m, node, p)
	case odd:
		w.j.vocab.WalkOdd(func(nodes []trie.Node) { w.findInTrie(m, nodes, 0, p) })
	default:
		w.findString(m, node, p)
	}
	if w.over() {
		return nil
	}
	if node > 0 || odd {
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

// without returns the mask without the ids from some nodes on.
func (m *lexMask) without(v *trie.Trie, nodes []int) *lexMask {
	all := &lexMask{open: make([]uint64, v.Words())}
	m.add(all.open)
	for _, k := range nodes {
		for i := k; i < k+int(v.Nodes[k].Size); i++ {
			for id := range v.Same(i) {
				all.open[id>>6] &^= 1 << (id & 63)
			}
		}
	}
	return all
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
	v, s := w.j.vocab.Trie, p.number
	if s.accepts(p.digits) {
		m.exits = append(m.exits, exit{node: int32(node)})
	}
	trie.Walk(v, v.Nodes, node, p.digits, func(k int, before, st *numberState) (ok bool) {
		w.work++
		if *st, ok = s.step(*before, v.Nodes[k].Byte); !ok || w.work > w.most {
			return false
		}
		v.Open(m.open, v.Nodes[k].ID)
		if v.Nodes[k].Size > 1 && s.accepts(*st) && numberContinues(v, k) {
			m.exits = append(m.exits, exit{node: int32(k)})
		}
		return true
	})
}

// pastNumber calls past with the nodes below node i that end a number which is the whole text.
func (w *jsonWalk) pastNumber(i int, p *part) {
	v := w.j.vocab.Trie
	trie.Walk(v, v.Nodes, i, p.digits, func(k int, before, st *numberState) (ok bool) {
		*st, ok = p.number.step(*before, v.Nodes[k].Byte)
		if w.work++; ok && v.Nodes[k].Size > 1 && p.number.accepts(*st) {
			w.past(k)
		}
		return ok
	})
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
	return trie.Ahead(st.at, most, func(at int32, n int, to func(at int32, live, open bool)) {
		row := t.Row(at)
		for _, class := range t.Plainly {
			live := row[class] >= 0 && s.live(stringState{at: row[class], n: st.n + int32(n)})
			to(row[class], live, live)
		}
	})
}
