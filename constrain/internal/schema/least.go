package schema

// Least: the shortest text of each value, so far as is known. A form finds them once a text asks for
// ends.

import (
	"slices"
	"sync"

	"picogpt/constrain/internal/automaton"
)

// ends are what a form knows of the ends of its texts, once a text has asked.
type ends struct {
	once   sync.Once
	known  bool                            // each state has an end
	growth size                            // what an id adds at most to what its containers need
	comma  int                             // tokens of a comma with what follows it
	lines  []int                           // of what begins a line in so many containers
	chars  map[*automaton.Table][][]string // of each class, some characters in JSON
	worst  map[*stringSpec]int
}

// A size is what a text needs: more in more containers, if a layout has lines.
type size struct {
	need   int // tokens, piece by piece, those of a line as in one container
	lines  int
	height int // containers around the deepest line
}

// A least is the shortest text of a value, so far as is known.
type least struct {
	size
	text   string // of what is no container
	array  *arraySpec
	object *objectSpec
}

// better makes other the least text if it needs fewer tokens, and reports whether it does.
func (l *least) better(need size, other least) bool {
	if need.need >= l.need {
		return false
	}
	*l, l.size = other, need
	return true
}

// most returns the greater of both in all that they are.
func (s size) most(t size) size {
	return size{max(s.need, t.need), max(s.lines, t.lines), max(s.height, t.height)}
}

// times returns what some texts need together.
func (s size) times(n int) size {
	fit := func(k int) int { return min(k, tooMany/max(n, 1)) * n }
	return size{fit(s.need), fit(s.lines), s.height}
}

// line returns the tokens of what begins a line in some containers.
func (x *ends) line(depth int) int {
	if x.lines == nil {
		return 0
	}
	last := len(x.lines) - 1
	return x.lines[min(depth, last)] + max(0, depth-last)*x.lines[1]
}

// layout counts the tokens of the layout. More containers never need fewer for a line.
func (e *ender) layout() {
	j, x := e.j, &e.j.ends
	x.comma = e.count("," + j.comma)
	for f := (*frame)(nil); j.line != "" && len(x.lines) < mostLines; f = f.open(nil, &arraySpec{}) {
		x.lines = append(x.lines, e.count(j.begin(f)))
		x.lines[len(x.lines)-1] = slices.Max(x.lines)
	}
}

// prepare finds the least values, by the least fixed point.
func (j *Form) prepare() {
	x := &j.ends
	x.chars, x.worst = map[*automaton.Table][][]string{}, map[*stringSpec]int{}
	e, all := j.ender(), []*value{j.first}
	e.flat = true
	e.layout()
	at := map[*value]int{j.first: 0}
	for i := 0; i < len(all); i++ {
		all[i].eachPart(func(part *value) {
			if _, ok := at[part]; !ok && part.possible {
				at[part], all = len(all), append(all, part)
			}
		})
	}
	x.known = e.fix(all)
	for _, v := range all {
		x.known = x.known && v.least.need < tooMany
	}
	if x.known {
		names := e.dear(all)
		x.known = e.grow(all, at, names)
	}
}

// fix finds the least texts of values, and reports whether each state of theirs has an end.
func (e *ender) fix(all []*value) (known bool) {
	known = true
	var none *frame
	for _, v := range all {
		if e.work > e.bound {
			return false
		}
		v.least = least{size: size{need: tooMany}}
		known = e.leaves(v) && known
		for _, s := range v.objects {
			e.price(s)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, v := range slices.Backward(all) {
			if e.work > e.bound {
				return false
			}
			for _, s := range v.arrays {
				e.missing(s)
				is := e.trial(func() { e.container(none.open(nil, s)) })
				changed = v.least.better(is, least{array: s}) || changed
			}
			for _, s := range v.objects {
				is := e.trial(func() { e.container(none.open(s, nil)) })
				changed = v.least.better(is, least{object: s}) || changed
			}
		}
	}
	for _, v := range all { // where a kind is chosen in another way now, it may need more
		if s := v.least.object; s != nil && s.somes > 0 {
			known = known && e.trial(func() { e.container(none.open(s, nil)) }).need <= v.least.need
		}
	}
	return known
}

// price counts the tokens of an object's names.
func (e *ender) price(s *objectSpec) {
	s.costs = make([]int, len(s.names))
	for i, n := range s.names {
		name := n.text + ":" + e.j.colon
		if s.costs[i] = len(name) + 1 + len(e.j.comma); !n.required {
			continue
		}
		if s.costs[i] = e.count(name); e.j.line == "" {
			s.costs[i] = max(s.costs[i], e.count(","+e.j.comma+name))
		}
	}
}

// dear finds what the required names of objects need from each of them on, and what a part of a
// container needs at most. It returns what a name needs at most.
func (e *ender) dear(all []*value) (names int) {
	for _, v := range all {
		for _, s := range v.objects {
			property := func(name string, cost int, v *value, before size) size {
				return e.trial(func() {
					e.add(before, 0)
					e.label(&frame{object: s, deep: 1, count: 1}, false, name, cost)
					e.value(v, &frame{deep: 1})
				})
			}
			s.tail = make([]size, s.ordered+1)
			for i := s.ordered - 1; i >= 0; i-- {
				if s.tail[i] = s.tail[i+1]; s.names[i].required {
					s.tail[i] = property(s.names[i].text, s.costs[i], s.names[i].value, s.tail[i+1])
				}
			}
			other := 0
			if s.other() != nil {
				other = e.worst(stringPart(s.other())) + 8 + len(e.j.comma+e.j.colon)
			}
			s.each(func(name int, v *value) {
				cost := other
				if name >= 0 {
					cost = s.costs[name]
					names = max(names, cost)
				}
				if v.possible && (name >= 0 || s.other() != nil) {
					s.dear = s.dear.most(property("", cost, v, size{}))
				}
			})
		}
		for _, s := range v.arrays {
			if s.tally == nil {
				continue
			}
			for _, m := range s.tally.ends {
				if m.need < tooMany {
					s.dear = s.dear.most(m.size)
				}
			}
		}
	}
	return names
}

// grow finds what an id adds at most, by the peaks of values: what each may need after an id that
// opens so many containers in it.
func (e *ender) grow(all []*value, at map[*value]int, names int) bool {
	peaks := make([]size, len(all))
	for range e.j.vocab.nesting() + 1 {
		next := make([]size, len(all))
		if e.work > e.bound {
			return false
		}
		for i, v := range all {
			var most size
			v.eachPart(func(part *value) {
				if k, ok := at[part]; ok {
					most = most.most(peaks[k])
				}
			})
			next[i] = e.peak(v, most, names)
		}
		peaks = next
	}
	g := &e.j.ends.growth
	for _, p := range peaks {
		*g = g.most(p)
	}
	g.need, g.lines = g.need+names+16, g.lines+2
	return true
}

// leaves finds the least text of a value that is no container. It reports whether each state in it
// has an end.
func (e *ender) leaves(v *value) (known bool) {
	known = true
	for _, p := range v.scalars {
		text, ok := "", true
		switch p.kind {
		case partNumber:
			text, ok = e.number(p.number, numberState{}, 1, anyText)
			known = known && p.number.multiple <= 1000 // else there are too many remainders
		case partString:
			text, _, ok = e.ending(p.str, stringState{}, 1, anyText)
			text = `"` + text + `"`
		default:
			text = slices.MinFunc(*p.texts, func(a, b string) int { return len(a) - len(b) })
		}
		if known = known && ok; ok {
			v.least.better(size{need: e.count(text)}, least{text: text})
		}
	}
	for _, s := range v.arrays {
		if s.unique {
			_, ok := e.spareItem(s, 0, true)
			known = known && ok
		}
	}
	return known
}

func anyText(string) bool { return true }

// peak returns what a value may need after one of its beginnings, where its parts need most; names
// is what a name needs.
func (e *ender) peak(v *value, most size, names int) size {
	n := 5 // a word
	for _, p := range v.scalars {
		n = max(n, e.worst(p))
	}
	all := size{need: n}
	inner := most
	inner.lines += 2
	inner.height++
	container := func(f *frame, names int) {
		is := e.trial(func() { e.atMost(f) })
		all = all.most(size{is.need + names + inner.need, is.lines + inner.lines, max(is.height, inner.height)})
	}
	for _, s := range v.arrays {
		container((*frame)(nil).open(nil, s), 0)
	}
	for _, s := range v.objects {
		if container((*frame)(nil).open(s, nil), names); s.other() != nil {
			all.need = max(all.need, e.worst(stringPart(s.other()))+inner.need)
		}
	}
	all.need = min(all.need, tooMany)
	return all
}

// missing finds the least items that are missing, from each number of items on and for each state of
// the tally.
func (e *ender) missing(s *arraySpec) {
	t := s.tally
	if t == nil {
		return
	}
	rows, states := t.from+1, t.states()
	if s.max >= 0 {
		rows = s.max + 1
	}
	if rows > e.bound || rows*states<<len(t.counts) > e.bound-e.work {
		e.work = e.bound + 1
		return
	}
	e.work += rows * states << len(t.counts)
	t.ends, t.rows = make([]missing, rows*states), rows
	f := (*frame)(nil).open(nil, s)
	for i := rows - 1; i >= 0; i-- {
		for state := int32(states - 1); state >= 0; state-- { // items only raise it
			best := missing{size: size{need: tooMany}, claim: -1}
			if i >= s.min && t.enough(state) {
				best.need = 0
			}
			for k, o := range t.at(i) {
				next, ok := t.add(state, o.bits)
				if !ok || !o.value.possible || i == rows-1 && (s.max >= 0 || next == state) {
					continue
				}
				is := e.trial(func() {
					e.before(f, false)
					e.value(o.value, f)
					e.add(t.end(i+1, next).size, 0)
				})
				if is.need < best.need {
					best = missing{is, k}
				}
			}
			t.ends[i*states+int(state)] = best
		}
	}
}

// A missing is what an array needs before its end: from an item that one claim holds for; -1 is the
// end.
type missing struct {
	size
	claim int
}

// end returns what is missing after some items.
func (t *tally) end(items int, state int32) *missing {
	return &t.ends[min(items, t.rows-1)*t.states()+int(state)]
}

// worst returns how many bytes a scalar needs at most after any of its beginnings.
func (e *ender) worst(p part) (n int) {
	switch p.kind {
	case partNumber:
		return p.number.worst()
	case partList:
		for _, text := range *p.texts {
			n = max(n, len(text)+8)
		}
		return n
	}
	s := p.str
	if n, ok := e.j.ends.worst[s]; ok {
		return n
	}
	n, wide := s.min, 1
	if s.table != nil {
		for _, class := range e.chars(s.table) {
			if len(class) > 0 { // else it has surrogates only, which no text has
				wide = max(wide, len(class[0]))
			}
		}
		if n = s.table.Within(s.min); s.max >= 0 {
			n = min(n, s.max)
		}
	}
	if n = wide*n + aCharacter; e.flat { // later, several texts may read it
		e.j.ends.worst[s] = n
	}
	return n
}

// worst is that of strings. A number has to reach the length of a bound, and to leave the digits that
// it has in common with both, or with nines.
func (s *numberSpec) worst() int {
	n := 0
	for _, side := range []*bounds{s.pos, s.neg} {
		if side != nil && !s.wide {
			n = max(n, max(1, side.lo.point)+2*len(side.lo.digits)+max(0, -side.hi.point))
		}
	}
	return n + s.figures + s.scale + 8
}
