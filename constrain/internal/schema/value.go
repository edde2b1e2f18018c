package schema

// Value: the allowed JSON values, compiled from the schemas that must hold; and which of them
// exist, so that no text is led to a value that cannot be written.

import (
	"slices"

	"picogpt/constrain/internal/automaton"
)

// A value is a set of JSON values, by their type.
type value struct {
	conj     []*schema // the schemas that it is compiled from
	scalars  []part    // before their first byte, in no frame: words, then numbers, then strings
	arrays   []*arraySpec
	objects  []*objectSpec
	possible bool // there is such a value
	least    least
}

// satisfy finds the possible values, by the least fixed point, and drops everything else.
func (c *compiler) satisfy() {
	list := slices.Clone(c.order)
	slices.Reverse(list) // usually parts before the values that contain them
	if !c.failed() {
		c.widen(list)
		c.findPossible(list)
	}
	for _, v := range list {
		if c.failed() {
			return
		}
		c.charge(4 * v.parts())
		v.arrays = slices.DeleteFunc(v.arrays, func(s *arraySpec) bool { return !s.exists() })
		v.objects = slices.DeleteFunc(v.objects, func(s *objectSpec) bool { return !s.exists(c.meter) })
		for _, s := range v.arrays {
			s.finish()
		}
		for _, s := range v.objects {
			s.finish(c.meter, c.vocab.Plainly)
		}
		v.objects = slices.DeleteFunc(v.objects, func(s *objectSpec) bool {
			return !s.feasible(&frame{object: s})
		})
	}
	for _, v := range list {
		for _, s := range v.arrays {
			if s.unique {
				c.unique(s)
			}
		}
	}
}

// findPossible marks the possible values, and no others. A value that is not marked is visited again
// when one of its parts is marked.
func (c *compiler) findPossible(list []*value) {
	wholes := map[*value][]*value{} // the values that contain a value as a part
	for _, v := range list {
		if v.possible = false; !c.charge(4 + 4*v.parts()) {
			return
		}
		v.eachPart(func(part *value) { wholes[part] = append(wholes[part], v) })
	}
	waiting := map[*value]bool{}
	for todo := list; len(todo) > 0; {
		var next []*value
		for _, v := range todo {
			delete(waiting, v)
			if v.possible {
				continue
			}
			if !c.charge(8 + 2*v.parts()) {
				return
			}
			if !v.exists(c.meter) {
				continue
			}
			v.possible = true
			c.charge(4 * len(wholes[v]))
			for _, whole := range wholes[v] {
				if !whole.possible && !waiting[whole] {
					waiting[whole], next = true, append(next, whole)
				}
			}
		}
		todo = next
	}
}

// eachPart calls f with the values of names and items; it may call f several times for a value.
func (v *value) eachPart(f func(*value)) {
	for _, s := range v.arrays {
		for _, item := range s.prefix {
			f(item)
		}
		f(s.items)
		s.tally.each(f)
	}
	for _, s := range v.objects {
		s.each(func(_ int, v *value) { f(v) })
	}
}

// each calls f with what the value of each name can be; other names are -1.
func (s *objectSpec) each(f func(name int, v *value)) {
	for i := range s.names {
		for _, claim := range s.names[i].claims {
			f(i, claim.value)
		}
	}
	for _, o := range s.others {
		for _, other := range o.values {
			if other != nil {
				f(-1, other)
			}
		}
	}
}

// add adds a kind of scalars, once.
func (v *value) add(p part) {
	if !slices.Contains(v.scalars, p) {
		v.scalars = append(v.scalars, p)
	}
}

// addTexts adds a list, if there are any texts.
func (v *value) addTexts(texts []string) {
	if texts = sortedTexts(texts); len(texts) > 0 {
		v.add(listPart(&texts))
	}
}

// listPart returns the part of some texts of JSON, which are sorted. Of a text with quotes the first
// one is before it.
func listPart(texts *[]string) part {
	p := part{kind: partList, texts: texts, hi: int32(len(*texts))}
	if (*texts)[0][0] == '"' {
		p.rest, p.at = `"`, 1
	}
	return p
}

// parts returns the number of calls that eachPart makes.
func (v *value) parts() (n int) {
	v.eachPart(func(*value) { n++ })
	return n
}

// exists reports whether a value is possible, from what is known of its parts.
func (v *value) exists(m *automaton.Meter) bool {
	return len(v.scalars) > 0 ||
		slices.ContainsFunc(v.arrays, (*arraySpec).exists) ||
		slices.ContainsFunc(v.objects, func(s *objectSpec) bool { return s.exists(m) })
}

func (s *arraySpec) exists() bool {
	if s.tally != nil {
		return s.measure().reaches(s, 0, 0)
	}
	for i := 0; i < s.min; i++ {
		if !s.item(i).possible {
			return false
		}
		if i > len(s.prefix) {
			break
		}
	}
	return true
}

// finish limits the length to the possible items.
func (s *arraySpec) finish() {
	if s.tally != nil {
		s.tally = s.measure()
		return
	}
	for i := range len(s.prefix) + 1 {
		if !s.item(i).possible && (s.max < 0 || i < s.max) {
			s.max = i
		}
	}
}

// exists reports whether there is such an object.
func (s *objectSpec) exists(m *automaton.Meter) bool {
	needed, possible := 0, 0
	for i := range s.names {
		n := &s.names[i]
		if n.value.possible {
			possible++
		} else if n.required {
			return false
		}
		if n.required {
			needed++
		}
	}
	if s.somes > 0 {
		for i := range s.others {
			s.others[i].str = s.others[i].names(m, s.unknown, nil)
		}
		needed += s.cover(&frame{object: s})
	}
	return (s.max < 0 || needed <= s.max) && needed < automaton.Unbounded &&
		(possible >= s.min || possible+s.countOthers(m) >= s.min)
}

// countOthers returns the number of possible names besides the known ones, at most unbounded.
func (s *objectSpec) countOthers(m *automaton.Meter) int {
	var names *stringSpec
	if len(s.others) > 0 {
		names = s.others[0].names(m, s.unknown, nil)
	}
	switch {
	case names == nil:
		return 0
	case names.table == nil:
		return automaton.Unbounded
	}
	return names.table.Count[0] - s.known(m, names.table)
}

// known returns how many of the known names a table of other names contains too.
func (s *objectSpec) known(m *automaton.Meter, t *automaton.Table) (n int) {
	if t.Count[0] >= automaton.Unbounded {
		return 0
	}
	spec := &stringSpec{table: t, max: -1}
	for i := range s.names {
		m.Charge(4 + len(s.names[i].name))
		if spec.has(s.names[i].name) {
			n++
		}
	}
	return n
}

// finish computes the counts after the possible values are known.
func (s *objectSpec) finish(m *automaton.Meter, plain automaton.Set) {
	if s.countOthers(m) == 0 {
		s.others = nil
	}
	for i := range s.others {
		s.others[i].str = s.others[i].names(m, s.unknown, plain)
	}
	if o := s.other(); o != nil && o.table != nil {
		s.inOther = s.known(m, o.table)
	}
	s.neededFrom = make([]int, s.ordered+1)
	s.possibleFrom = make([]int, s.ordered+1)
	for i := len(s.names) - 1; i >= 0; i-- {
		n := &s.names[i]
		needed, possible := 0, 0
		if n.required {
			needed = 1
		}
		if n.value.possible {
			possible = 1
		}
		if i < s.ordered {
			s.neededFrom[i] = s.neededFrom[i+1] + needed
			s.possibleFrom[i] = s.possibleFrom[i+1] + possible
		} else {
			s.neededFree += needed
			s.possibleFree += possible
		}
	}
}

// weigh returns the memory of some values; it counts each once.
func weigh(values []*value) (n int) {
	tables := map[*automaton.Table]bool{}
	ofString := func(s *stringSpec) {
		if s != nil && s.table != nil && !tables[s.table] {
			tables[s.table] = true
			n += s.table.Bytes()
		}
	}
	for _, v := range values {
		n += 240
		for _, p := range v.scalars {
			if n += 400; p.kind == partNumber && p.number.modulus > 1 {
				n += 80 * maxReachable
			}
			for i := range p.hi {
				n += 16 + len(p.text(i))
			}
			ofString(p.str)
		}
		for _, s := range v.arrays {
			n += 64 + 8*len(s.prefix)
		}
		for _, s := range v.objects {
			n += 240
			for i := range s.names {
				n += 120 + 2*len(s.names[i].name)
			}
			ofString(s.other())
		}
	}
	return n
}
