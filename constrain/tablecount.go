package constrain

// Table: the number of strings that follow a state.

// countStrings counts the strings from each state; the number is unbounded if there is a cycle. A
// class counts as many times as it has characters.
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
	type visit struct {
		state int32
		class int
	}
	for path := []visit{{}}; len(path) > 0; {
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
			if len(path) > 0 { // the predecessor has advanced beyond this class
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
			path = append(path, visit{state: n})
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

// spread sets the count of each state that leads to a cycle to unbounded.
func (t *table) spread() {
	before := t.before()
	var todo []int32
	for s := range t.kind {
		if t.count[s] == unbounded {
			todo = append(todo, int32(s))
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range before[s] {
			if t.count[p] != unbounded {
				t.count[p], todo = unbounded, append(todo, p)
			}
		}
	}
}

// before returns the predecessors of each state.
func (t *table) before() [][]int32 {
	before := make([][]int32, t.states())
	for s := range t.kind {
		for _, n := range t.row(int32(s)) {
			if n >= 0 {
				before[n] = append(before[n], int32(s))
			}
		}
	}
	return before
}

// never returns the states from which no sequence of characters of some classes (nil: of all) leads
// to a state where no string continues.
func (t *table) never(classes []uint16) []bool {
	asked := make([]bool, t.classes)
	for _, c := range classes {
		asked[c] = true
	}
	before := make([][]int32, t.states())
	is := make([]bool, t.states())
	var todo []int32 // states that were found not to be in the result
	for s := range is {
		is[s] = true
		for c, n := range t.row(int32(s)) {
			switch {
			case classes != nil && !asked[c]:
			case n >= 0:
				before[n] = append(before[n], int32(s))
			case is[s]:
				is[s], todo = false, append(todo, int32(s))
			}
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range before[s] {
			if is[p] {
				is[p], todo = false, append(todo, p)
			}
		}
	}
	return is
}

// farthest returns the number of characters within which a string can end from any state.
func (t *table) farthest() (most int) {
	before := t.before()
	far := make([]int, t.states())
	var todo []int32
	for s := range far {
		if far[s] = -1; t.kind[s] >= 0 {
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
