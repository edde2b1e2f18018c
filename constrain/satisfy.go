package constrain

// Satisfy: which values exist at all, so that no text is led to where none does.

import "slices"

// satisfy finds the values that are possible, the least set that follows from itself, and drops
// everything else.
func (c *schemaCompiler) satisfy() error {
	list := slices.Clone(c.order)
	slices.Reverse(list) // most parts before their wholes
	if err := c.findPossible(list); err != nil {
		return err
	}
	for _, v := range list {
		if err := c.meter.charge(4 * v.parts()); err != nil {
			return err
		}
		v.arrays = slices.DeleteFunc(v.arrays, func(s *arraySpec) bool { return !s.exists() })
		v.objects = slices.DeleteFunc(v.objects, func(s *objectSpec) bool { return !s.exists(c.meter) })
		for _, s := range v.arrays {
			s.finish()
		}
		for _, s := range v.objects {
			s.finish(c.meter, c.plain)
		}
		v.objects = slices.DeleteFunc(v.objects, func(s *objectSpec) bool {
			return !s.feasible(&frame{object: s})
		})
	}
	return c.meter.failed()
}

// findPossible marks the values that are possible. Those that are not yet are looked at again when
// a part of them is found to be.
func (c *schemaCompiler) findPossible(list []*value) error {
	wholes := map[*value][]*value{} // those that a value is a part of
	for _, v := range list {
		if err := c.meter.charge(4 + 4*v.parts()); err != nil {
			return err
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
			if err := c.meter.charge(8 + 2*v.parts()); err != nil {
				return err
			}
			if !v.exists(c.meter) {
				continue
			}
			v.possible = true
			c.meter.charge(4 * len(wholes[v]))
			for _, whole := range wholes[v] {
				if !whole.possible && !waiting[whole] {
					waiting[whole], next = true, append(next, whole)
				}
			}
		}
		todo = next
	}
	return nil
}

// eachPart calls f with the values of names and items, of each at least once.
func (v *value) eachPart(f func(*value)) {
	for _, s := range v.arrays {
		for _, item := range s.prefix {
			f(item)
		}
		f(s.items)
	}
	for _, s := range v.objects {
		for i := range s.names {
			f(s.names[i].value)
		}
		for _, other := range s.values {
			f(other)
		}
	}
}

// parts returns how many there are.
func (v *value) parts() (n int) {
	for _, s := range v.arrays {
		n += len(s.prefix) + 1
	}
	for _, s := range v.objects {
		n += len(s.names) + len(s.values)
	}
	return n
}

// exists says whether a value is possible, as far as its parts are known to be.
func (v *value) exists(m *meter) bool {
	return v.null || v.yes || v.no || len(v.numbers) > 0 || len(v.strings) > 0 ||
		slices.ContainsFunc(v.arrays, (*arraySpec).exists) ||
		slices.ContainsFunc(v.objects, func(s *objectSpec) bool { return s.exists(m) })
}

func (s *arraySpec) exists() bool {
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

// finish limits the length to the items that are possible.
func (s *arraySpec) finish() {
	for i := range len(s.prefix) + 1 {
		if !s.item(i).possible && (s.max < 0 || i < s.max) {
			s.max = i
		}
	}
}

// exists says whether there is such an object.
func (s *objectSpec) exists(m *meter) bool {
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
	return (s.max < 0 || needed <= s.max) &&
		(possible >= s.min || possible+s.countOthers(m) >= s.min)
}

// countOthers returns how many names there can be besides those that are known, at most unbounded.
func (s *objectSpec) countOthers(m *meter) int {
	if s.others == nil {
		return 0
	}
	t := s.others.table
	if t == nil {
		if s.values[0].possible {
			return unbounded
		}
		return 0
	}
	possible := func(kind int) bool { return s.values[kind].possible }
	if !slices.ContainsFunc(s.values, func(v *value) bool { return v.possible }) {
		return 0
	}
	u := t.clone()
	if ok, err := u.finish(m, nil, possible); !ok || err != nil {
		return 0
	}
	return u.count[0] - s.known(m, u)
}

// known returns how many of the names a table of other names has too.
func (s *objectSpec) known(m *meter, t *table) (n int) {
	if t.count[0] >= unbounded {
		return 0
	}
	spec := &stringSpec{table: t, max: -1}
	for i := range s.names {
		m.charge(4 + len(s.names[i].name))
		if spec.has(s.names[i].name) {
			n++
		}
	}
	return n
}

func (t *table) clone() *table {
	return &table{alpha: t.alpha, classes: t.classes, next: slices.Clone(t.next),
		kind: slices.Clone(t.kind), kinds: t.kinds}
}

// finish counts, once it is known which values are possible.
func (s *objectSpec) finish(m *meter, plain charset) {
	if s.countOthers(m) == 0 {
		s.others = nil
	} else if t := s.others.table; t != nil {
		t = t.clone()
		t.finish(m, plain, func(kind int) bool { return s.values[kind].possible })
		s.others.table = t
		s.inOther = s.known(m, t)
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
