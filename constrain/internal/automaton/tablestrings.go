package automaton

// Table: the strings that follow a state: their number, where they end, and their lengths.

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unicode"
)

// countStrings counts the strings from each state; the number is unbounded if there is a cycle. A
// class counts as many times as it has characters.
func (t *Table) countStrings() {
	width := make([]int, t.classes)
	for piece, c := range t.Alpha.Pieces(0, unicode.MaxRune) {
		width[c] += int(piece.Hi-piece.Lo) + 1
	}
	before, left := t.before(nil), make([]int, t.states()) // steps to states that are not counted yet
	for _, states := range before {
		for _, s := range states {
			left[s]++
		}
	}
	t.Count = slices.Repeat([]int{Unbounded}, t.states()) // what leads to a cycle keeps it
	var todo []int32
	for s, n := range left {
		if n == 0 {
			todo = append(todo, int32(s))
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		s := todo[0]
		if t.Count[s] = 0; t.Kind[s] >= 0 {
			t.Count[s] = 1
		}
		for c, n := range t.Row(s) {
			switch {
			case n < 0:
			case t.Count[n] >= Unbounded || t.Count[n] > (Unbounded-t.Count[s])/width[c]:
				t.Count[s] = Unbounded
			default:
				t.Count[s] += t.Count[n] * width[c]
			}
		}
		for _, p := range before[s] {
			if left[p]--; left[p] == 0 {
				todo = append(todo, p)
			}
		}
	}
}

// before returns the predecessors of each state by characters of some classes; nil: of all.
func (t *Table) before(asked []bool) [][]int32 {
	before := make([][]int32, t.states())
	for s := range t.Kind {
		for c, n := range t.Row(int32(s)) {
			if n >= 0 && (asked == nil || asked[c]) {
				before[n] = append(before[n], int32(s))
			}
		}
	}
	return before
}

// steps returns how many characters of some classes (nil: all) lead at least from each state to one
// that is marked; -1 if none do.
func (t *Table) steps(marked func(s int32) bool, asked []bool) []int32 {
	before, far := t.before(asked), slices.Repeat([]int32{-1}, t.states())
	var todo []int32
	for s := range far {
		if marked(int32(s)) {
			far[s], todo = 0, append(todo, int32(s))
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, p := range before[todo[0]] {
			if far[p] < 0 {
				far[p], todo = far[todo[0]]+1, append(todo, p)
			}
		}
	}
	return far
}

// ends reports whether a string may end in a state.
func (t *Table) ends(s int32) bool { return t.Kind[s] >= 0 }

// endless returns the states from which no sequence of characters of some classes (nil: all) leads
// to a state where no string continues.
func (t *Table) endless(classes []uint16) []bool {
	var asked []bool
	if classes != nil {
		asked = make([]bool, t.classes)
		for _, c := range classes {
			asked[c] = true
		}
	}
	ends := func(s int32) (is bool) { // a character after which no string continues
		for c, n := range t.Row(s) {
			is = is || n < 0 && (asked == nil || asked[c])
		}
		return is
	}
	states := make([]bool, t.states())
	for s, n := range t.steps(ends, asked) {
		states[s] = n < 0
	}
	return states
}

// Measure computes the lengths of strings from each state, up to most characters (-1: all lengths).
func (t *Table) Measure(what string, most int, m *Meter) {
	loose := *t
	words := (t.states() + 63) / 64
	ending := make([]uint64, words) // the states from which a string ends after n characters
	for s, k := range t.Kind {
		if k >= 0 {
			ending[s/64] |= 1 << (s % 64)
		}
	}
	everywhere := !slices.ContainsFunc(t.Kind, func(k int32) bool { return k < 0 })
	after, edges := t.after()
	rows, seen := [][]uint64{ending}, map[string]int{bitKey(ending): 0}
	t.loop = -1
	for n := 0; most < 0 || n < most; n++ {
		if m.Charge(16+edges/2+8*words) != nil {
			return
		}
		set := make([]uint64, words)
		for s, states := range after {
			for _, to := range states {
				if ending[to/64]>>(to%64)&1 != 0 {
					set[s/64] |= 1 << (s % 64)
					break
				}
			}
		}
		key := bitKey(set)
		if i, ok := seen[key]; ok {
			if t.loop = i; n == 0 && everywhere {
				return // any number of characters may follow any state
			}
			break
		}
		if len(rows)*words > 1<<17 || n > 1<<14 {
			m.Fail(fmt.Errorf("%s: pattern and length together are too much", what))
		}
		seen[key] = n + 1
		rows, ending = append(rows, set), set
	}
	t.Loose, t.rows = &loose, len(rows)
	t.Lengths = make([][]uint64, t.states())
	for s := range t.Lengths {
		m.Charge(4 + t.rows/8)
		t.Lengths[s] = make([]uint64, (t.rows+63)/64)
		for n, row := range rows {
			t.Lengths[s][n/64] |= row[s/64] >> (s % 64) & 1 << (n % 64)
		}
	}
}

// after returns the successors of each state, without duplicates, and the number of all of them.
func (t *Table) after() (after [][]int32, edges int) {
	after = make([][]int32, t.states())
	for s := range after {
		states := slices.Compact(slices.Sorted(slices.Values(t.Row(int32(s)))))
		after[s] = slices.DeleteFunc(states, func(to int32) bool { return to < 0 })
		edges += len(after[s])
	}
	return after, edges
}

func bitKey(set []uint64) string {
	key := make([]byte, 0, 8*len(set))
	for _, w := range set {
		key = binary.LittleEndian.AppendUint64(key, w)
	}
	return string(key)
}

// Ends reports whether a string from a state can end after lo to hi characters; hi -1 means any
// number.
func (t *Table) Ends(s int32, lo, hi int) bool {
	lo = max(lo, 0)
	if n := int(t.near[s]); lo <= n {
		return hi < 0 || n <= hi
	}
	if hi < 0 {
		hi = max(lo, t.rows) + t.rows // beyond the rows, the lengths repeat
	}
	lengths := t.Lengths[s]
	if anyBit(lengths, lo, min(hi, t.rows-1)) {
		return true
	}
	if lo = max(lo, t.rows); t.loop < 0 || lo > hi {
		return false
	}
	period := t.rows - t.loop
	if hi-lo+1 >= period {
		return anyBit(lengths, t.loop, t.rows-1)
	}
	from, to := t.loop+(lo-t.loop)%period, t.loop+(hi-t.loop)%period
	if from <= to {
		return anyBit(lengths, from, to)
	}
	return anyBit(lengths, from, t.rows-1) || anyBit(lengths, t.loop, to)
}

// Nearest returns after how many characters, lo to hi of them, a string from a state ends first; hi
// -1 means any number. It is -1 if none does.
func (t *Table) Nearest(s int32, lo, hi int) int {
	n := max(lo, int(t.near[s]))
	if t.Lengths == nil { // any number of characters from the nearest on, or no bounds
		return n
	}
	for most := n + 2*t.rows; n <= most && (hi < 0 || n <= hi); n++ {
		if t.Ends(s, n, n) {
			return n
		}
	}
	return -1
}

// Within returns a number of characters within which a string of at least lo ends, whatever it
// begins with.
func (t *Table) Within(lo int) int { return lo + max(t.Far, t.rows) }

// anyBit reports whether a bit from lo to hi is set.
func anyBit(bits []uint64, lo, hi int) bool {
	for lo <= hi {
		w := bits[lo/64] >> (lo % 64) << (lo % 64)
		if end := lo | 63; end >= hi {
			return w<<(63-hi%64) != 0
		}
		if w != 0 {
			return true
		}
		lo = lo/64*64 + 64
	}
	return false
}

// Strings returns all strings of a table that is finished; ok is false if they are more than most.
func (t *Table) Strings(most int) (list []string, ok bool) {
	if t.Count[0] > most {
		return nil, false
	}
	var find func(s int32, text string)
	find = func(s int32, text string) {
		if t.Kind[s] >= 0 {
			list = append(list, text)
		}
		for piece, class := range t.Alpha.Pieces(0, unicode.MaxRune) {
			if to := t.Step(s, class); to >= 0 {
				for r := piece.Lo; r <= piece.Hi; r++ {
					find(to, text+string(r))
				}
			}
		}
	}
	find(0, "")
	return list, true
}
