package constrain

// Table: several patterns as one automaton over characters, complete before it is used.

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unicode"
)

// A table is a deterministic automaton for strings. State 0 is the start.
type table struct {
	alpha   *alphabet
	classes int
	next    []int32 // [state, class]; -1 if no string follows
	// [state] the patterns that a string which ends here matches; -1 if it may not end
	kind    []int32
	kinds   [][]bool
	all     []bool   // [state] any string may follow, and all are of its kind
	plainly []uint16 // the classes that have characters of plain ids
	plain   []bool   // [state] after any such characters, some string continues
	whole   []bool   // [state] the same after any characters
	// a number of characters after which, at most, some string ends, from any state
	far     int
	fewest  int        // the least of count
	count   []int      // [state] number of strings that follow; unbounded for infinitely many
	lengths [][]uint64 // [state] bit n: some string ends after n characters; nil: after any number
	rows    int        // number of bits of lengths
	loop    int        // the bit loop follows the last bit again; -1 if none does
	loose   *table     // the same automaton for strings of any length
}

const unbounded = 1 << 30

// newTable runs machines in parallel. With all set, a string must match all of them; otherwise the
// kinds say which ones it matches.
func newTable(what string, machines []*machine, all bool, meter *meter) (*table, error) {
	var sets []charset
	for _, m := range machines {
		sets = append(sets, m.net.sets...)
	}
	alpha, err := newAlphabet(what, sets, meter)
	if err != nil {
		return nil, err
	}
	t := &table{alpha: alpha, classes: len(alpha.members)}
	b := &tableBuilder{t: t, meter: meter, machines: machines, all: all, states: map[string]int32{},
		kinds: map[string]int32{}, numbers: map[*set]uint32{}}
	for _, m := range machines {
		m.begin()
		b.starts = append(b.starts, m.current(m.first))
	}
	return t, b.build(what)
}

type tableBuilder struct {
	t        *table
	meter    *meter
	machines []*machine
	all      bool
	starts   []*set
	tuples   [][]*set
	states   map[string]int32
	kinds    map[string]int32
	numbers  map[*set]uint32
}

func (b *tableBuilder) build(what string) error {
	t := b.t
	class := make([][]uint16, len(b.machines)) // of each machine, for each class of the table
	for i, m := range b.machines {
		if err := b.meter.charge(4 * t.classes); err != nil {
			return err
		}
		for _, r := range t.alpha.members {
			class[i] = append(class[i], m.alpha.of(r))
		}
	}
	b.state(b.starts)
	for i := 0; i < len(b.tuples); i++ {
		for c := range t.classes {
			if err := b.meter.charge(12 + 8*len(b.machines)); err != nil {
				return err
			}
			tuple := make([]*set, len(b.machines))
			for j, m := range b.machines {
				tuple[j] = m.step(b.tuples[i][j], class[j][c])
				if m.err != nil {
					return m.err
				}
			}
			t.next = append(t.next, b.state(tuple))
		}
		if len(t.next) > maxTable || len(b.tuples) > maxTableStates {
			return fmt.Errorf("%s: the automaton has more than %d states or %d steps", what,
				maxTableStates, maxTable)
		}
	}
	return nil
}

// state returns the index of a tuple of states.
func (b *tableBuilder) state(tuple []*set) int32 {
	for i, s := range tuple {
		if b.all && s == deadSet && !b.machines[i].not {
			return -1
		}
	}
	var key []byte
	for _, s := range tuple {
		n, ok := b.numbers[s]
		if !ok {
			n = uint32(len(b.numbers))
			b.numbers[s] = n
		}
		key = binary.LittleEndian.AppendUint32(key, n)
	}
	i, ok := b.states[string(key)]
	if !ok {
		i = int32(len(b.tuples))
		b.states[string(key)] = i
		b.tuples = append(b.tuples, tuple)
		b.t.kind = append(b.t.kind, b.kind(tuple))
	}
	return i
}

// kind returns a number for the set of machines that accept.
func (b *tableBuilder) kind(tuple []*set) int32 {
	accepts, any := make([]bool, len(tuple)), true
	var key []byte
	for i, s := range tuple {
		accepts[i] = s.accepts != b.machines[i].not
		any = any && accepts[i]
		if accepts[i] {
			key = binary.AppendUvarint(key, uint64(i))
		}
	}
	if b.all && !any {
		return -1
	}
	k, ok := b.kinds[string(key)]
	if !ok {
		k = int32(len(b.t.kinds))
		b.kinds[string(key)] = k
		b.t.kinds = append(b.t.kinds, accepts)
	}
	return k
}

func (t *table) row(s int32) []int32 { return t.next[int(s)*t.classes : (int(s)+1)*t.classes] }

func (t *table) states() int { return len(t.kind) }

// finish drops the kinds that no string may have and the states from which none can end, and
// computes what masks need. plain is the set of characters of plain ids. It reports whether there
// is any string.
func (t *table) finish(
	m *meter, plain charset, possible func(kind int) bool,
) (bool, error) {
	if err := m.charge(12 * len(t.next)); err != nil {
		return false, err
	}
	alive := make([]bool, t.states())
	for s := range t.kind {
		if t.kind[s] >= 0 && !possible(int(t.kind[s])) {
			t.kind[s] = -1
		}
		alive[s] = t.kind[s] >= 0
	}
	t.leading(alive, nil)
	for i, n := range t.next {
		if n >= 0 && !alive[n] {
			t.next[i] = -1
		}
	}
	if !alive[0] {
		return false, nil
	}
	if err := t.minimize(m); err != nil {
		return false, err
	}
	t.countStrings()
	t.fewest = slices.Min(t.count)
	t.plainly = t.alpha.those(plain)
	t.plain, t.whole = t.endless(t.plainly), t.endless(nil)
	t.far = t.farthest()
	return true, nil
}

// minimize joins equivalent states.
func (t *table) minimize(m *meter) error {
	group := slices.Clone(t.kind)
	for groups, rounds := 0, 0; ; rounds++ {
		if rounds == 40 { // a long chain; the result is only larger than necessary
			for s := range group {
				group[s] = int32(s)
			}
			break
		}
		if err := m.charge(len(t.next) + 16*len(group)); err != nil {
			return err
		}
		number := map[string]int32{}
		next := make([]int32, len(group))
		var key []byte
		for s := range group {
			key = binary.LittleEndian.AppendUint32(key[:0], uint32(group[s]))
			for _, n := range t.row(int32(s)) {
				if n >= 0 {
					n = group[n] + 1
				} else {
					n = -1
				}
				key = binary.LittleEndian.AppendUint32(key, uint32(n))
			}
			i, ok := number[string(key)]
			if !ok {
				i = int32(len(number))
				number[string(key)] = i
			}
			next[s] = i
		}
		group = next
		if len(number) == groups {
			break
		}
		groups = len(number)
	}
	t.join(group)
	return nil
}

// join makes one state of each group; that of state 0 is group 0.
func (t *table) join(group []int32) {
	var next, kind []int32
	for s, g := range group {
		if int(g) < len(kind) {
			continue
		}
		kind = append(kind, t.kind[s])
		for _, n := range t.row(int32(s)) {
			if n >= 0 {
				n = group[n]
			}
			next = append(next, n)
		}
	}
	t.next, t.kind = next, kind
	t.all = make([]bool, len(kind))
	for s := range kind {
		t.all[s] = kind[s] >= 0
		for _, n := range t.row(int32(s)) {
			t.all[s] = t.all[s] && n == int32(s)
		}
	}
}

// union returns the machine of the strings of several tables, for another table.
func union(what string, tables []*table, m *meter) (*machine, error) {
	n := newNetwork(maxNodes, m)
	var starts []int32
	for _, t := range tables {
		starts = append(starts, t.addTo(n))
	}
	n.rule(what, n.split(starts...))
	u, err := newMachine(what, n, m)
	if err == nil {
		u.meter = m
	}
	return u, err
}

// addTo adds the strings of a table to a network, and returns the node at which they begin.
func (t *table) addTo(n *network) int32 {
	first := int32(len(n.nodes))
	for range t.kind {
		n.split()
	}
	end := n.end()
	for s := range t.kind {
		sets := map[int32]charset{}
		row := t.row(int32(s))
		var order []int32
		for piece, class := range t.alpha.pieces(0, unicode.MaxRune) {
			to := row[class]
			if to < 0 {
				continue
			}
			set := sets[to]
			if set == nil {
				order = append(order, to)
			}
			if last := len(set) - 1; last >= 0 && set[last].hi == piece.lo-1 {
				set[last].hi = piece.hi
			} else {
				set = append(set, piece)
			}
			sets[to] = set
		}
		if n.meter.charge(4*t.alpha.size()) != nil || n.full() {
			break
		}
		for _, to := range order {
			n.lead(first+int32(s), n.read(sets[to], first+to))
		}
		if t.kind[s] >= 0 {
			n.lead(first+int32(s), end)
		}
	}
	return first
}

func (t *table) clone() *table {
	return &table{alpha: t.alpha, classes: t.classes, next: slices.Clone(t.next),
		kind: slices.Clone(t.kind), kinds: t.kinds}
}

// few reports whether so many names, or fewer, follow some beginning of a name.
func (t *table) few(n int) bool { return t != nil && t.fewest <= n }
