package schema

// Closed: objects with no other names than those that their schemas have, where JSON Schema lets
// any name follow. Texts are made so; what judges a text compiles without it.

import (
	"fmt"
	"slices"
)

// closing notes what a keyword says about the names of a schema's objects: that it has some, or which
// others there are.
func (c *compiler) closing(s *schema, key string) {
	switch key {
	case "additionalProperties", "patternProperties", "unevaluatedProperties":
		s.opens = c.options.Closed
	case "properties", "dependentRequired":
		s.closes = c.options.Closed
	}
}

// open returns a schema with the same meaning that closes nothing, nor do the schemas in it: what
// not, if and the other branches of oneOf say is meant as it is written. It is s itself if nothing
// in it closes.
func (c *compiler) open(s *schema) *schema {
	if !c.options.Closed || s == nil || s.open {
		return s
	}
	if o := c.opened[s]; o != nil {
		return o
	}
	o, same := c.newSchema(s.from), !s.closes && !s.opens
	id := o.id
	*o = *s
	o.index = nil
	o.id, o.open, o.closes, o.opens = id, true, false, false
	c.opened[s] = o
	if !c.charge(32 + 8*len(s.properties)) {
		return o
	}
	open := func(part *schema) *schema {
		opened := c.open(part)
		same = same && opened == part
		return opened
	}
	for _, part := range []**schema{&o.ref, &o.not, &o.when, &o.then, &o.otherwise, &o.additional,
		&o.names, &o.items, &o.rest, &o.restItems, &o.muted, &o.contains} {
		*part = open(*part)
	}
	for _, list := range []*[]*schema{&o.allOf, &o.anyOf, &o.oneOf, &o.also, &o.prefix} {
		*list = slices.Clone(*list)
		for i, part := range *list {
			(*list)[i] = open(part)
		}
	}
	o.counts, o.somes = slices.Clone(o.counts), slices.Clone(o.somes)
	for i := range o.counts {
		o.counts[i].of = open(o.counts[i].of)
	}
	for i := range o.somes {
		o.somes[i].of = open(o.somes[i].of)
	}
	for _, list := range []*[]property{&o.properties, &o.patterns} {
		*list = slices.Clone(*list)
		for i, p := range *list {
			(*list)[i].value = open(p.value)
		}
	}
	if same {
		c.opened[s] = s
		return s
	}
	return o
}

// close returns the spec of the objects of an alternative that have no other names than those that
// its schemas have, or s itself if none of them names any, or one says which others there are.
func (c *compiler) close(s *objectSpec, a alternative) *objectSpec {
	var from *schema
	names := map[string]bool{}
	for _, id := range a {
		p := c.all[id]
		if p.opens || p.additional != nil && !p.open {
			return s
		}
		if p.closes && from == nil {
			from = p
		}
		if p.beside {
			continue
		}
		for _, property := range p.properties {
			names[property.name] = true
		}
		for _, name := range slices.Concat(p.required, p.dependents) {
			names[name] = true
		}
	}
	if from == nil {
		return s
	}
	closed := *s
	closed.wide, closed.from = s, from
	closed.others = nil
	closed.names = slices.Clone(s.names)
	for i := range closed.names {
		if !names[s.names[i].name] {
			none := c.valueOf(c.nothing())
			closed.names[i].value, closed.names[i].claims = none, []claim{{0, none}}
		}
	}
	c.charge(8 * len(s.names))
	return &closed
}

// widen opens the objects of the values that no closed object has, though an open one has: first
// those that themselves need other names, then those that an endless chain of closed ones leads
// from. It leaves the possible values marked.
func (c *compiler) widen(list []*value) {
	closed := slices.DeleteFunc(slices.Clone(list), func(v *value) bool {
		return !slices.ContainsFunc(v.objects, func(s *objectSpec) bool { return s.wide != nil })
	})
	if len(closed) == 0 {
		return
	}
	narrow := map[*value][]*objectSpec{}
	for _, v := range closed {
		narrow[v] = v.objects
		v.objects = widest(v.objects)
	}
	c.findPossible(list)
	exists := func(s *objectSpec) bool { return s.exists(c.meter) }
	var could []*value // an open object has them
	for _, v := range closed {
		if !slices.ContainsFunc(v.objects, exists) {
			continue
		}
		could = append(could, v)
		if slices.ContainsFunc(narrow[v], exists) {
			v.objects = narrow[v]
		}
	}
	c.findPossible(list)
	for _, v := range could {
		if !slices.ContainsFunc(v.objects, exists) {
			v.objects = widest(v.objects)
		}
	}
	c.noteClosed(closed, narrow)
	for _, v := range closed {
		for _, s := range v.objects {
			s.wide = nil
		}
	}
}

// widest returns the open ones of some specs.
func widest(specs []*objectSpec) (open []*objectSpec) {
	for _, s := range specs {
		if s.wide != nil {
			s = s.wide
		}
		open = append(open, s)
	}
	return open
}

// noteClosed notes that objects are closed, and which had to stay open.
func (c *compiler) noteClosed(values []*value, narrow map[*value][]*objectSpec) {
	var first *schema
	open := map[string]bool{}
	for _, v := range values {
		for i, s := range narrow[v] {
			switch {
			case s.wide == nil:
			case v.objects[i] != s:
				if at := s.from.at(); !open[at] {
					open[at] = true
					c.note(at+": no object has only the names that the schema has",
						"so others are open")
				}
			case first == nil || s.from.id < first.id:
				first = s.from
			}
		}
	}
	if first != nil {
		c.notes = append(c.notes, fmt.Sprintf("%s: objects have only the names that the schema has; "+
			"additionalProperties true allows others", first.at()))
	}
}
