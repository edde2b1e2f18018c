package schema

// Arrays: their items.

// An arraySpec says which arrays are allowed.
type arraySpec struct {
	prefix   []*value
	items    *value
	min, max int // max -1: any number
	unique   bool
	from     *schema // for errors
	tally    *tally  // nil if items are not counted
	dear     size    // what is missing, if they are counted, needs at most
}

// item returns the value of the i-th item.
func (s *arraySpec) item(i int) *value {
	if i < len(s.prefix) {
		return s.prefix[i]
	}
	return s.items
}

// array adds the arrays of an alternative to a value.
func (c *compiler) array(v *value, a alternative) {
	s := &arraySpec{max: -1}
	var counts []count
	prefix := 0
	for _, id := range a {
		p := c.all[id]
		s.min = max(s.min, p.minItems)
		if p.unique {
			s.unique, s.from = true, p
		}
		s.max = tighter(s.max, p.maxItems)
		prefix = max(prefix, len(p.prefix))
		for _, k := range p.counts {
			counts, prefix = append(counts, k), max(prefix, k.from)
		}
	}
	if s.max >= 0 && s.min > s.max {
		return
	}
	s.tally = c.tallyOf(s, counts, a)
	for i := range prefix + 1 {
		if !c.charge(4 + 4*len(a)) {
			return
		}
		var conj []*schema
		for _, id := range a {
			switch p := c.all[id]; {
			case i < len(p.prefix):
				conj = append(conj, p.prefix[i])
			case p.items != nil:
				conj = append(conj, p.items)
			}
			if l := c.all[id].left; l != nil && l.items != nil {
				conj = append(conj, c.leftItem(l, i)...)
			}
		}
		if item := c.valueOf(conj...); i < prefix {
			s.prefix = append(s.prefix, item)
		} else {
			s.items = item
		}
		c.choices(s.tally, i, conj)
	}
	v.arrays = append(v.arrays, s)
}
