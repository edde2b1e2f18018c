package automaton

// Table: the number of strings that follow a state, and where they end.

import "unicode"

// countStrings counts the strings from each state; the number is unbounded if there is a cycle. A
// class counts as many times as it has characters.
func (t *Table) countStrings() {
	width := make([]int, t.classes)
	for piece, c := range t.Alpha.Pieces(0, unicode.MaxRune) {
		width[c] += int(piece.Hi-piece.Lo) + 1
	}
	t.Count = make([]int, t.states())
	const open = 1
	color := make([]uint8, t.states())
	type visit struct {
		state int32
		class int
	}
	for path := []visit{{}}; len(path) > 0; {
		at := &path[len(path)-1]
		if at.class == 0 {
			color[at.state] = open
			if t.Kind[at.state] >= 0 {
				t.Count[at.state] = 1
			}
		}
		if at.class == t.classes {
			color[at.state]++
			path = path[:len(path)-1]
			if len(path) > 0 { // the predecessor has advanced beyond this class
				up := path[len(path)-1]
				t.add(up.state, at.state, width[up.class-1])
			}
			continue
		}
		n := t.Row(at.state)[at.class]
		from, w := at.state, width[at.class]
		at.class++
		switch {
		case n < 0:
		case color[n] == 0:
			path = append(path, visit{state: n})
		case color[n] == open:
			t.Count[from] = Unbounded
		default:
			t.add(from, n, w)
		}
	}
	cycles := make([]bool, t.states())
	for s, n := range t.Count {
		cycles[s] = n == Unbounded
	}
	t.leading(cycles, nil)
	for s, leads := range cycles {
		if leads {
			t.Count[s] = Unbounded
		}
	}
}

func (t *Table) add(to, from int32, width int) {
	if n := t.Count[from]; n >= Unbounded || n > (Unbounded-t.Count[to])/width {
		t.Count[to] = Unbounded
	} else {
		t.Count[to] += n * width
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

// leading marks the states from which characters of some classes (nil: all) lead to a marked one.
func (t *Table) leading(marked, asked []bool) {
	before := t.before(asked)
	var todo []int32
	for s, is := range marked {
		if is {
			todo = append(todo, int32(s))
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range before[s] {
			if !marked[p] {
				marked[p], todo = true, append(todo, p)
			}
		}
	}
}

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
	states := make([]bool, t.states()) // the others, at first
	for s := range states {
		for c, n := range t.Row(int32(s)) {
			states[s] = states[s] || n < 0 && (asked == nil || asked[c])
		}
	}
	t.leading(states, asked)
	for s := range states {
		states[s] = !states[s]
	}
	return states
}

// farthest returns the number of characters within which a string can end from any state.
func (t *Table) farthest() (most int) {
	before := t.before(nil)
	far := make([]int, t.states())
	var todo []int32
	for s := range far {
		if far[s] = -1; t.Kind[s] >= 0 {
			far[s], todo = 0, append(todo, int32(s))
		}
	}
	for i := 0; i < len(todo); i++ {
		s := todo[i]
		most = max(most, far[s])
		for _, p := range before[s] {
			if far[p] < 0 {
				far[p], todo = far[s]+1, append(todo, p)
			}
		}
	}
	return most
}
