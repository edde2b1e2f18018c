package automaton

// Table: several patterns as one automaton over characters, complete before it is used.

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"unicode"
)

// Bounds of tables.
const (
	maxTable       = 1 << 18 // cells
	maxUnion       = 1 << 18 // and of the tables from which one of several ways is made
	maxTableStates = 10000
)

// A Table is a deterministic automaton for strings. State 0 is the start.
type Table struct {
	Alpha   *Alphabet
	classes int
	next    []int32 // [state, class]; -1 if no string follows
	// [state] the patterns that a string which ends here matches; -1 if it may not end
	Kind    []int32
	Kinds   [][]bool
	All     []bool   // [state] any string may follow, and all are of its kind
	Plainly []uint16 // the classes that have characters of plain ids
	Plain   []bool   // [state] after any such characters, some string continues
	Whole   []bool   // [state] the same after any characters
	// a number of characters after which, at most, some string ends, from any state
	Far     int
	near    []int32    // [state] number of characters after which some string ends
	fewest  int        // the least of count
	Count   []int      // [state] number of strings that follow; Unbounded for infinitely many
	Lengths [][]uint64 // [state] bit n: some string ends after n characters; nil: after any number
	rows    int        // number of bits of lengths
	loop    int        // the bit loop follows the last bit again; -1 if none does
	Loose   *Table     // the same automaton for strings of any length
	those   map[string]*Table
}

// Unbounded is the number of strings where they are infinitely many, or more than that.
const Unbounded = 1 << 30

// NewTable runs machines in parallel. With all set, a string must match all of them; otherwise the
// kinds say which ones it matches.
func NewTable(what string, machines []*Machine, all bool, meter *Meter) *Table {
	return newTable(what, alphabetOf(what, machines, meter), machines, all, meter)
}

// alphabetOf returns the alphabet of some machines.
func alphabetOf(what string, machines []*Machine, meter *Meter) *Alphabet {
	var sets []Set
	for _, m := range machines {
		sets = append(sets, m.net.sets...)
	}
	return NewAlphabet(what, sets, meter)
}

func newTable(
	what string, alpha *Alphabet, machines []*Machine, all bool, meter *Meter,
) *Table {
	t := &Table{Alpha: alpha, classes: len(alpha.Members)}
	class := make([][]uint16, len(machines)) // of each machine, for each class of the table
	first, next := make([]*State, len(machines)), make([]*State, len(machines))
	for i, m := range machines {
		m.Begin()
		first[i] = m.Current(m.First)
		meter.Charge(4 * t.classes)
		for _, r := range t.Alpha.Members {
			class[i] = append(class[i], m.Alpha.Of(r))
		}
	}
	kinds := map[string]int32{}
	kind := func(states []*State) int32 {
		accepts, any := make([]bool, len(states)), true
		var key []byte
		for i, s := range states {
			accepts[i] = s.Accepts != machines[i].Not
			any = any && accepts[i]
			if accepts[i] {
				key = binary.AppendUvarint(key, uint64(i))
			}
		}
		if all && !any {
			return -1
		}
		k, ok := kinds[string(key)]
		if !ok {
			k = int32(len(t.Kinds))
			kinds[string(key)] = k
			t.Kinds = append(t.Kinds, accepts)
		}
		return k
	}
	key := []byte{}
	explore(t, first, kind, func(states []*State) []byte {
		key = key[:0]
		for i, s := range states {
			if all && s == Dead && !machines[i].Not {
				return nil
			}
			key = binary.LittleEndian.AppendUint32(key, s.number)
		}
		return key
	}, func(states []*State, c int) []*State {
		meter.Charge(12 + 8*len(machines))
		for i, m := range machines {
			next[i] = m.Step(states[i], class[i][c])
			meter.Fail(m.Err)
		}
		return next
	}, t.bounded(what+":", meter))
	return t
}

// explore makes the states of a table: sets of places, each with a kind and a key, which is nil if no
// string follows. step returns the places after a character of a class, which it may change later;
// bounded reports whether there may be so many states. So does explore, of all.
func explore[E any](t *Table, first []E, kind func([]E) int32, key func([]E) []byte,
	step func(places []E, class int) []E, bounded func(states int) bool,
) bool {
	number, states := map[string]int32{}, [][]E{}
	find := func(places []E) int32 {
		k := key(places)
		if k == nil {
			return -1
		}
		i, ok := number[string(k)]
		if !ok {
			i = int32(len(states))
			number[string(k)] = i
			states, t.Kind = append(states, slices.Clone(places)), append(t.Kind, kind(places))
		}
		return i
	}
	find(first)
	for i := 0; i < len(states); i++ {
		for class := range t.classes {
			t.next = append(t.next, find(step(states[i], class)))
		}
		if !bounded(len(states)) {
			return false
		}
	}
	return true
}

// bounded returns the bound of explore for a table that strings are matched with.
func (t *Table) bounded(what string, m *Meter) func(states int) bool {
	return func(states int) bool {
		if len(t.next) > maxTable || states > maxTableStates {
			m.Fail(fmt.Errorf("%s the automaton has more than %d states or %d steps", what,
				maxTableStates, maxTable))
		}
		return m.Failed() == nil
	}
}

// Step returns the state after a character of a class; -1 if no string follows.
func (t *Table) Step(s int32, class uint16) int32 { return t.next[int(s)*t.classes+int(class)] }

// Row returns the states after a character of each class.
func (t *Table) Row(s int32) []int32 { return t.next[int(s)*t.classes : (int(s)+1)*t.classes] }

func (t *Table) states() int { return len(t.Kind) }

// Finish drops the kinds that no string may have and the states from which none can end, and
// computes what masks need. plain is the set of characters of plain ids. It reports whether there
// is any string.
func (t *Table) Finish(m *Meter, plain Set, possible func(kind int) bool) bool {
	if !t.trim(m, possible) {
		return false
	}
	t.countStrings()
	t.fewest = Unbounded
	for _, n := range t.Count {
		if n > 0 { // some string follows
			t.fewest = min(t.fewest, n)
		}
	}
	t.Plainly = t.Alpha.Those(plain)
	t.Plain, t.Whole = t.endless(t.Plainly), t.endless(nil)
	t.near = t.steps(t.ends, nil)
	t.Far = int(slices.Max(t.near))
	return true
}

// trim drops the kinds that no string may have and the states from which none can end, and joins
// equivalent states. It reports whether there is any string.
func (t *Table) trim(m *Meter, possible func(kind int) bool) bool {
	if m.Charge(12*len(t.next)) != nil {
		return false
	}
	for s, kind := range t.Kind {
		if kind >= 0 && !possible(int(kind)) {
			t.Kind[s] = -1
		}
	}
	far := t.steps(t.ends, nil)
	for i, n := range t.next {
		if n >= 0 && far[n] < 0 {
			t.next[i] = -1
		}
	}
	if far[0] < 0 {
		return false
	}
	t.minimize(m)
	return m.Failed() == nil
}

// minimize joins equivalent states: those of one kind that lead to states of equal groups.
func (t *Table) minimize(m *Meter) {
	group, next := slices.Clone(t.Kind), make([]int32, len(t.Kind))
	var key []byte
	for groups, rounds := 0, 0; m.Failed() == nil; rounds++ {
		if rounds == 40 { // a long chain; the result is only larger than necessary
			for s := range group {
				group[s] = int32(s)
			}
			break
		}
		known := make(map[string]int32, groups+groups/4)
		for s := range group {
			key = binary.LittleEndian.AppendUint32(key[:0], uint32(group[s]))
			for _, to := range t.Row(int32(s)) {
				if to >= 0 {
					to = group[to]
				} else {
					to = -2 // no kind
				}
				key = binary.LittleEndian.AppendUint32(key, uint32(to))
			}
			n, ok := known[string(key)]
			if !ok {
				n = int32(len(known))
				known[string(key)] = n
			}
			next[s] = n
		}
		m.Charge(len(t.next) + 16*len(group))
		group, next = next, group
		if len(known) == groups {
			break
		}
		groups = len(known)
	}
	t.join(group)
}

// join makes one state of each group; that of state 0 is group 0.
func (t *Table) join(group []int32) {
	var next, kind []int32
	for s, g := range group {
		if int(g) < len(kind) {
			continue
		}
		kind = append(kind, t.Kind[s])
		for _, n := range t.Row(int32(s)) {
			if n >= 0 {
				n = group[n]
			}
			next = append(next, n)
		}
	}
	t.next, t.Kind = next, kind
	t.All = make([]bool, len(kind))
	for s := range kind {
		t.All[s] = kind[s] >= 0
		for _, n := range t.Row(int32(s)) {
			t.All[s] = t.All[s] && n == int32(s)
		}
	}
}

// Either returns tables, as few as is possible with little work, so that a string of one of them
// matches all machines of one of some ways.
func Either(what string, machines []*Machine, ways [][]int, meter *Meter) []*Table {
	alpha := alphabetOf(what, machines, meter)
	var todo, done []*Table
	seen := map[string]bool{}
	slices.SortStableFunc(ways, func(a, b []int) int { return len(a) - len(b) })
	var wider [][]int
	for _, way := range ways {
		all, has := []*Machine{}, make([]bool, len(machines))
		for _, i := range way {
			all, has[i] = append(all, machines[i]), true
		}
		if meter.Charge(4+2*len(wider)) == nil && slices.ContainsFunc(wider, func(than []int) bool {
			return !slices.ContainsFunc(than, func(i int) bool { return !has[i] })
		}) {
			continue // it asks for more than another one
		}
		wider = append(wider, way)
		t := newTable(what, alpha, all, true, meter)
		ok := t.trim(meter, func(int) bool { return true })
		if meter.Failed() != nil {
			return nil
		}
		var key []byte
		for _, n := range append(slices.Clip(t.next), t.Kind...) {
			key = binary.LittleEndian.AppendUint32(key, uint32(n))
		}
		if ok && !seen[string(key)] {
			seen[string(key)], todo = true, append(todo, t)
		}
	}
	for left := maxUnion; len(todo) > 1; todo = todo[2:] {
		both := todo[0].or(todo[1], left)
		if both == nil {
			left = 0
			done = append(done, todo[:2]...)
			continue
		}
		left -= len(both.next)
		if meter.Charge(8*len(both.next)) != nil {
			return nil
		}
		both.minimize(meter)
		todo = append(todo, both)
	}
	return append(done, todo...)
}

// or returns the table of the strings of one of two tables of an alphabet, or nil if it has more
// than some cells.
func (t *Table) or(u *Table, most int) *Table {
	both := &Table{Alpha: t.Alpha, classes: t.classes, Kinds: t.Kinds}
	tables, next := [2]*Table{t, u}, make([]int32, 2) // the states of both, -1 if no string follows
	if !explore(both, make([]int32, 2), func(states []int32) int32 {
		kind := int32(-1)
		for i, s := range states {
			if s >= 0 {
				kind = max(kind, tables[i].Kind[s])
			}
		}
		return kind
	}, func(states []int32) []byte {
		if max(states[0], states[1]) < 0 {
			return nil
		}
		key := binary.LittleEndian.AppendUint32(nil, uint32(states[0]))
		return binary.LittleEndian.AppendUint32(key, uint32(states[1]))
	}, func(states []int32, class int) []int32 {
		for i, s := range states {
			if next[i] = s; s >= 0 {
				next[i] = tables[i].Step(s, uint16(class))
			}
		}
		return next
	}, func(states int) bool { return states*t.classes <= most }) {
		return nil
	}
	return both
}

// Union returns the machine of the strings of several tables, for another table.
func Union(what string, tables []*Table, m *Meter) *Machine {
	n := NewNetwork(MaxNodes, m)
	var starts []int32
	for _, t := range tables {
		starts = append(starts, t.addTo(n))
	}
	n.Rule(what, n.Split(starts...))
	u, err := NewMachine(what, n, m)
	if err == nil {
		u.meter = m
	}
	return u
}

// addTo adds the strings of a table to a network, and returns the node at which they begin.
func (t *Table) addTo(n *Network) int32 {
	first := int32(len(n.nodes))
	for range t.Kind {
		n.Split()
	}
	end := n.End()
	for s := range t.Kind {
		sets := map[int32]Set{}
		row := t.Row(int32(s))
		var order []int32
		for piece, class := range t.Alpha.Pieces(0, unicode.MaxRune) {
			to := row[class]
			if to < 0 {
				continue
			}
			set := sets[to]
			if set == nil {
				order = append(order, to)
			}
			if last := len(set) - 1; last >= 0 && set[last].Hi == piece.Lo-1 {
				set[last].Hi = piece.Hi
			} else {
				set = append(set, piece)
			}
			sets[to] = set
		}
		if n.meter.Charge(4*t.Alpha.Size()) != nil || n.Full() {
			break
		}
		for _, to := range order {
			n.Lead(first+int32(s), n.Read(sets[to], first+to))
		}
		if t.Kind[s] >= 0 {
			n.Lead(first+int32(s), end)
		}
	}
	return first
}

// Those returns the table of the strings of some kinds, finished, which it makes once; nil if there
// are none.
func (t *Table) Those(m *Meter, plain Set, possible func(kind int) bool) *Table {
	key := []byte{'0'}
	if plain != nil {
		key[0]++
	}
	for kind := range t.Kinds {
		key = strconv.AppendBool(key, possible(kind))
	}
	u, ok := t.those[string(key)]
	if ok {
		return u
	}
	u = &Table{Alpha: t.Alpha, classes: t.classes, next: slices.Clone(t.next),
		Kind: slices.Clone(t.Kind), Kinds: t.Kinds}
	if !u.Finish(m, plain, possible) {
		u = nil
	}
	if t.those == nil {
		t.those = map[string]*Table{}
	}
	t.those[string(key)] = u
	return u
}

// Few reports whether so many strings, or fewer, follow some beginning of a string.
func (t *Table) Few(n int) bool { return t != nil && t.fewest <= n }

// Bytes returns the memory of a table.
func (t *Table) Bytes() int {
	n := 4*len(t.next) + 20*t.states() + 6*t.Alpha.Size()
	for _, lengths := range t.Lengths {
		n += 24 + 8*len(lengths)
	}
	if t.Loose != nil { // it shares everything else
		n += 4 * t.states()
	}
	return n
}
