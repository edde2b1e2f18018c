package schema

// Value: the allowed JSON values, compiled from the schemas that must hold.

import "slices"

// A value is a set of JSON values, by their type.
type value struct {
	conj     []*schema // the schemas that it is compiled from
	null     bool
	yes, no  bool
	numbers  []*numberSpec
	strings  []*stringSpec
	arrays   []*arraySpec
	objects  []*objectSpec
	possible bool // there is such a value
}

// trivial reports whether a schema accepts everything.
func (s *schema) trivial() bool {
	return !s.never && !s.plain() && !s.hasEnum && s.ref == nil && s.allOf == nil &&
		s.anyOf == nil && s.oneOf == nil && s.also == nil && s.not == nil && s.when == nil
}

// allows reports whether the lists of an alternative contain a word.
func (c *compiler) allows(a alternative, word string) bool {
	for _, id := range a {
		s := c.all[id]
		c.meter.Charge(len(s.texts))
		if s.hasTexts && !slices.Contains(s.texts, word) {
			return false
		}
	}
	return true
}

// An arraySpec says which arrays are allowed.
type arraySpec struct {
	prefix   []*value
	items    *value
	min, max int // max -1: any number
	unique   bool
	from     *schema // for errors
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
	prefix := 0
	for _, id := range a {
		p := c.all[id]
		s.min = max(s.min, p.minItems)
		if p.unique {
			s.unique, s.from = true, p
		}
		s.max = tighter(s.max, p.maxItems)
		prefix = max(prefix, len(p.prefix))
	}
	if s.max >= 0 && s.min > s.max {
		return
	}
	for i := range prefix + 1 {
		if c.meter.Charge(4+4*len(a)) != nil {
			return // build returns the error
		}
		var conj []*schema
		for _, id := range a {
			switch p := c.all[id]; {
			case i < len(p.prefix):
				conj = append(conj, p.prefix[i])
			case p.items != nil:
				conj = append(conj, p.items)
			}
		}
		if item := c.valueOf(conj...); i < prefix {
			s.prefix = append(s.prefix, item)
		} else {
			s.items = item
		}
	}
	v.arrays = append(v.arrays, s)
}
