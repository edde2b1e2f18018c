package schema

// Leftover: unevaluatedProperties and unevaluatedItems hold for what no schema beside them says
// anything of. Which these are depends on the branches that hold, so each alternative has its own.

import "slices"

// A leftover is what a schema says of properties and items that no schema of an alternative
// evaluates; nil restricts nothing.
type leftover struct {
	properties, items *schema
	within            alternative
	either            *schema // items, or what contains evaluates
}

// leave adds to each alternative of a schema what it says of the rest.
func (c *compiler) leave(s *schema, alts []alternative) {
	for i, a := range alts {
		u := c.newSchema(s.from)
		u.left = &leftover{properties: s.rest, items: s.restItems, within: a}
		alts[i] = a.and(alternative{u.id})
	}
}

// evaluates reports whether a schema of an alternative says something of a property.
func (p *schema) evaluates(name string, known bool, matches []bool, number map[string]int) bool {
	if p.mute || p.beside {
		return false
	}
	return known && p.property(name) != nil || p.additional != nil ||
		p.left != nil && p.left.properties != nil ||
		slices.ContainsFunc(p.patterns, func(of property) bool {
			i, ok := number[of.name]
			return ok && matches[i]
		})
}

// leftItem returns what a leftover says of the i-th item. contains evaluates what it holds for.
func (c *compiler) leftItem(l *leftover, i int) []*schema {
	found := []*schema{l.items}
	for _, id := range l.within {
		switch p := c.all[id]; {
		case p.mute || p.beside:
		case i < len(p.prefix) || p.items != nil || p.left != nil && p.left.items != nil:
			return nil
		case p.contains != nil:
			found = append(found, p.contains)
		}
	}
	if len(found) == 1 {
		return found
	}
	if l.either == nil {
		l.either = c.newSchema(l.items.from)
		l.either.anyOf = found
	}
	return []*schema{l.either}
}

// tells reports whether some schema of an alternative evaluates anything.
func (c *compiler) tells(a alternative) bool {
	return slices.ContainsFunc(a, func(id int) bool {
		p := c.all[id]
		return !p.mute && !p.beside && (p.properties != nil || p.patterns != nil || p.additional != nil ||
			p.prefix != nil || p.items != nil || p.left != nil || p.contains != nil)
	})
}

// union adds alternatives to those before. If more than one hold they evaluate more, so where that
// counts some of them together are alternatives too.
func (c *compiler) union(s *schema, before, more []alternative) []alternative {
	both := append(before, more...)
	if !c.document.leftovers {
		return both
	}
	telling := func(list []alternative) []alternative {
		return slices.DeleteFunc(slices.Clone(list), func(a alternative) bool { return !c.tells(a) })
	}
	return append(both, c.cross(s, telling(before), telling(more))...)
}

// mute returns a schema with the same meaning that evaluates nothing, as under not.
func (c *compiler) mute(s *schema) *schema {
	if !c.document.leftovers {
		return s
	}
	m := c.newSchema(s.from)
	m.muted = s
	return m
}

// silent returns alternatives whose schemas evaluate nothing.
func (c *compiler) silent(alts []alternative) (silent []alternative) {
	for _, a := range alts {
		var b alternative
		for _, id := range a {
			p := *c.all[id]
			if !p.mute {
				p.mute = true
				c.identify(&p)
			}
			b = append(b, p.id)
		}
		slices.Sort(b)
		silent = append(silent, b)
	}
	return silent
}
