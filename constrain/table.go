package constrain

// Table: several patterns as one automaton over characters, complete before it is used.

import (
	"encoding/binary"
	"fmt"
	"slices"
)

const (
	maxTable       = 1 << 18 // cells of a table
	maxTableStates = 10000
)

// A table is a deterministic automaton for strings. State 0 is the first.
type table struct {
	alpha   *alphabet
	classes int
	next    []int32 // [state, class]; -1 where no string follows
	kind    []int32 // [state] which patterns a string that ends here matches; -1: it may not end
	kinds   [][]bool
	all     []bool     // [state] any string may follow, and all are of its kind
	count   []int      // [state] how many strings follow; unbounded for infinitely many
	exact   [][]uint64 // [n] the states from which a string ends after exactly n characters
	loop    int        // exact[loop] follows the last again
}

const unbounded = 1 << 30

// newTable runs machines side by side. With all set a string must match all of them, else the
// kinds say which it matches.
func newTable(what string, machines []*machine, all bool) (*table, error) {
	var sets []charset
	for _, m := range machines {
		sets = append(sets, m.net.sets...)
	}
	t := &table{alpha: newAlphabet(sets)}
	t.classes = len(t.alpha.members)
	b := &tableBuilder{t: t, machines: machines, all: all, states: map[string]int32{},
		kinds: map[string]int32{}, numbers: map[*set]uint32{}}
	for _, m := range machines {
		m.begin()
		b.starts = append(b.starts, m.closure([]place{{node: m.net.rules[0].start}}))
	}
	return t, b.build(what)
}

type tableBuilder struct {
	t        *table
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
		for _, r := range t.alpha.members {
			class[i] = append(class[i], m.alpha.of(r))
		}
	}
	b.state(b.starts)
	for i := 0; i < len(b.tuples); i++ {
		for c := range t.classes {
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

// state returns the number of a tuple of states.
func (b *tableBuilder) state(tuple []*set) int32 {
	if b.all && slices.Contains(tuple, deadSet) {
		return -1
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

// kind returns which machines accept.
func (b *tableBuilder) kind(tuple []*set) int32 {
	accepts, any := make([]bool, len(tuple)), true
	var key []byte
	for i, s := range tuple {
		accepts[i] = s.accepts
		any = any && s.accepts
		if s.accepts {
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

// finish drops the kinds that no string may have and the states from which none can end, and finds
// what the lexer asks. It says whether there is any string.
func (t *table) finish(possible func(kind int) bool) bool {
	alive := make([]bool, t.states())
	before := make([][]int32, t.states())
	var todo []int32
	for s := range t.kind {
		if t.kind[s] >= 0 && !possible(int(t.kind[s])) {
			t.kind[s] = -1
		}
		if t.kind[s] >= 0 {
			alive[s] = true
			todo = append(todo, int32(s))
		}
		for _, n := range t.row(int32(s)) {
			if n >= 0 {
				before[n] = append(before[n], int32(s))
			}
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range before[s] {
			if !alive[p] {
				alive[p] = true
				todo = append(todo, p)
			}
		}
	}
	for i, n := range t.next {
		if n >= 0 && !alive[n] {
			t.next[i] = -1
		}
	}
	if !alive[0] {
		return false
	}
	t.minimize()
	t.countStrings()
	return true
}

// minimize joins the states that cannot be told apart.
func (t *table) minimize() {
	group := slices.Clone(t.kind)
	for groups, rounds := 0, 0; ; rounds++ {
		if rounds == 40 { // a long chain; nothing is lost but some room
			for s := range group {
				group[s] = int32(s)
			}
			break
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

// countStrings counts the strings from each state, unbounded where there is a cycle. A class of
// several characters counts as many.
func (t *table) countStrings() {
	width := make([]int, t.classes)
	for i, from := range t.alpha.starts {
		to := rune(0x110000)
		if i+1 < len(t.alpha.starts) {
			to = t.alpha.starts[i+1]
		}
		c := t.alpha.class[i]
		width[c] = min(unbounded, width[c]+int(to-from))
	}
	t.count = make([]int, t.states())
	const open = 1
	color := make([]uint8, t.states())
	type place struct {
		state int32
		class int
	}
	for path := []place{{}}; len(path) > 0; {
		at := &path[len(path)-1]
		if at.class == 0 {
			color[at.state] = open
			if t.kind[at.state] >= 0 {
				t.count[at.state] = 1
			}
		}
		if at.class == t.classes {
			color[at.state]++
			path = path[:len(path)-1]
			if len(path) > 0 { // the caller's class is the one before its next
				up := path[len(path)-1]
				t.add(up.state, at.state, width[up.class-1])
			}
			continue
		}
		n := t.row(at.state)[at.class]
		from, w := at.state, width[at.class]
		at.class++
		switch {
		case n < 0:
		case color[n] == 0:
			path = append(path, place{state: n})
		case color[n] == open:
			t.count[from] = unbounded
		default:
			t.add(from, n, w)
		}
	}
	t.spread()
}

func (t *table) add(to, from int32, width int) {
	if n := t.count[from]; n >= unbounded || n > (unbounded-t.count[to])/width {
		t.count[to] = unbounded
	} else {
		t.count[to] += n * width
	}
}

// spread makes unbounded what leads to a cycle.
func (t *table) spread() {
	for changed := true; changed; {
		changed = false
		for s := range t.kind {
			if t.count[s] == unbounded {
				continue
			}
			for _, n := range t.row(int32(s)) {
				if n >= 0 && t.count[n] == unbounded {
					t.count[s], changed = unbounded, true
				}
			}
		}
	}
}

// measure finds the lengths of strings from each state, up to most characters (-1: all lengths).
func (t *table) measure(what string, most int) error {
	words := (t.states() + 63) / 64
	first := make([]uint64, words)
	for s, k := range t.kind {
		if k >= 0 {
			first[s/64] |= 1 << (s % 64)
		}
	}
	t.exact = [][]uint64{first}
	seen := map[string]int{bitKey(first): 0}
	for n := 0; most < 0 || n < most; n++ {
		set := make([]uint64, words)
		for s := range t.kind {
			for _, to := range t.row(int32(s)) {
				if to >= 0 && t.exact[n][to/64]>>(to%64)&1 != 0 {
					set[s/64] |= 1 << (s % 64)
					break
				}
			}
		}
		if i, ok := seen[bitKey(set)]; ok {
			if t.loop = i; len(t.exact) == 1 && t.everywhere(first) {
				t.exact = nil // any number of characters may follow any state
			}
			return nil
		}
		if len(t.exact)*words > 1<<17 || n > 1<<14 {
			return fmt.Errorf("%s: pattern and length together are too much", what)
		}
		seen[bitKey(set)] = n + 1
		t.exact = append(t.exact, set)
	}
	t.loop = -1
	return nil
}

// everywhere says whether a set has all states.
func (t *table) everywhere(set []uint64) bool {
	for s := range t.kind {
		if set[s/64]>>(s%64)&1 == 0 {
			return false
		}
	}
	return true
}

func bitKey(set []uint64) string {
	var key []byte
	for _, w := range set {
		key = binary.LittleEndian.AppendUint64(key, w)
	}
	return string(key)
}

// ends says whether a string from a state can end after lo to hi characters; hi -1: any number.
func (t *table) ends(s int32, lo, hi int) bool {
	lo = max(lo, 0)
	if hi >= 0 && lo > hi {
		return false
	}
	period := len(t.exact) - t.loop
	for n, steps := lo, 0; (hi < 0 || n <= hi) && steps <= len(t.exact); n, steps = n+1, steps+1 {
		i := n
		if i >= len(t.exact) {
			if t.loop < 0 {
				return false
			}
			i = t.loop + (n-t.loop)%period
		}
		if t.exact[i][s/64]>>(s%64)&1 != 0 {
			return true
		}
	}
	return false
}
