package schema

// Some: properties of which one must be as a schema says, because not says that not all are
// otherwise. A property counts for a kind or not when its value begins.

import (
	"fmt"
	"slices"

	"picogpt/constrain/internal/automaton"
)

// A some says that a property with one of some names has a value as a schema says.
type some struct {
	in    *schema // the names that its properties, patterns or propertyNames accept
	of    *schema
	other bool // the other names
}

// none gives a schema what it means that there is no such property.
func (m *some) none(n *schema, b *negation) {
	free := b.c.newSchema(b.of.from)
	switch {
	case m.in.names != nil:
		n.names = m.in.names
	case !m.other:
		n.patterns = []property{{m.in.patterns[0].name, b.c.negate(m.of)}}
	default:
		n.additional = b.c.negate(m.of)
		for _, p := range m.in.properties {
			n.properties = append(n.properties, property{p.name, free})
		}
		for _, p := range m.in.patterns {
			n.patterns = append(n.patterns, property{p.name, free})
		}
	}
}

// has reports whether a name is one of the names; its arguments are those of named.
func (m *some) has(name string, known bool, matches []bool, number map[string]int) bool {
	if m.in.names != nil {
		i, ok := number[m.in.namesKey()]
		return ok && (i < 0 || !matches[i])
	}
	found := known && m.in.property(name) != nil
	for _, p := range m.in.patterns {
		i, ok := number[p.name]
		found = found || ok && matches[i]
	}
	return found != m.other
}

// somesOf collects the kinds of properties that an object must have. Where only few names are of a
// kind, they become known names.
func (c *compiler) somesOf(
	s *objectSpec, a alternative, t *automaton.Table, number map[string]int,
) (somes []some) {
	for _, id := range a {
		somes = append(somes, c.all[id].somes...)
	}
	if s.somes = len(somes); s.somes == 0 || c.failed() {
		return nil
	}
	for _, m := range somes {
		for _, p := range m.in.properties {
			s.name(p.name)
		}
	}
	from := c.all[a[0]]
	if s.somes > maxCounts {
		c.fail(fmt.Errorf("%s: want %d of additionalProperties, patternProperties and propertyNames "+
			"at most under not, if, and in branches of oneOf of which two can hold", from.at(), maxCounts))
		return nil
	}
	if t == nil {
		return somes
	}
	for i := range somes {
		u := t.Those(c.meter, nil, func(kind int) bool {
			return somes[i].has("", false, t.Kinds[kind], number)
		})
		if u == nil || u.Count[0] >= automaton.Unbounded {
			continue
		}
		names, ok := u.Strings(maxFew)
		if !ok {
			c.fail(fmt.Errorf("%s: more than %d names, but not any number, under not, if, and in branches "+
				"of oneOf of which two can hold", from.at(), maxFew))
		}
		for _, name := range names {
			s.name(name)
		}
	}
	return somes
}

// claims returns what the value of a property can be so that it counts for kinds of properties that
// an object must have.
func (c *compiler) claims(somes []some, conj []*schema, name string, known bool, matches []bool,
	number map[string]int) (list []claim) {
	for bits := range 1 << len(somes) {
		all, ok := slices.Clip(conj), true
		for i := range somes {
			if bits>>i&1 != 0 {
				all, ok = append(all, somes[i].of), ok && somes[i].has(name, known, matches, number)
			}
		}
		if ok {
			list = append(list, claim{bits, c.valueOf(all...)})
		}
	}
	return list
}

// An otherNames is the other names whose property can count for some kinds.
type otherNames struct {
	bits   int
	values []*value    // of each kind of name in the table; nil if it does not count
	str    *stringSpec // the names whose values are possible; nil if there are none
}

// other returns the other names, nil if there can be none.
func (s *objectSpec) other() *stringSpec {
	if len(s.others) == 0 {
		return nil
	}
	return s.others[0].str
}

// claim adds what other names of a kind can count for.
func (s *objectSpec) claim(kind, kinds int, claims []claim) {
	for _, m := range claims {
		i := slices.IndexFunc(s.others, func(o otherNames) bool { return o.bits == m.bits })
		if i < 0 {
			i = len(s.others)
			s.others = append(s.others, otherNames{bits: m.bits, values: make([]*value, kinds)})
		}
		s.others[i].values[kind] = m.value
	}
}

// names returns the names whose values are possible, nil if there are none or, of those that count,
// not infinitely many.
func (o *otherNames) names(m *automaton.Meter, unknown *stringSpec, plain automaton.Set) *stringSpec {
	are := func(kind int) bool { return o.values[kind] != nil && o.values[kind].possible }
	names := &stringSpec{max: -1, escapes: unknown.escapes}
	switch t := unknown.table; {
	case t == nil && !are(0):
		return nil
	case t != nil:
		if names.table = t.Those(m, plain, are); names.table == nil ||
			o.bits != 0 && names.table.Count[0] < automaton.Unbounded {
			return nil
		}
	}
	return names
}

// cover returns how many properties an object needs besides the required ones, so that there is one
// of each kind; Unbounded if there cannot be.
func (s *objectSpec) cover(f *frame) int {
	best := make([]int, 1<<s.somes) // [kinds that have one] properties
	for i := range best {
		best[i] = automaton.Unbounded
	}
	best[f.tally] = 0
	add := func(claims []claim, cost int) {
		if len(claims) == 0 {
			return
		}
		next := slices.Clone(best)
		for _, m := range claims {
			for have, n := range best {
				if m.value.possible {
					next[have|m.bits] = min(next[have|m.bits], n+cost)
				}
			}
		}
		best = next
	}
	for i, n := range s.names {
		switch {
		case i < int(f.next) && i < s.ordered || i >= s.ordered && f.has(n.name):
		case n.required:
			add(n.claims, 0)
		default:
			add(n.claims, 1)
		}
	}
	for range s.somes {
		for _, o := range s.others {
			if o.str != nil {
				add([]claim{{o.bits, &value{possible: true}}}, 1)
			}
		}
	}
	return best[len(best)-1]
}
