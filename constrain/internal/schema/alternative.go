package schema

// Alternatives: combinations of plain schemas that must hold together, into which references, enum
// and combinations of schemas are expanded.

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// An alternative is the ids of plain schemas, ascending, all of which must hold. Their $ref, allOf,
// anyOf, oneOf, enum and const no longer count.
type alternative []int

// join returns the alternatives in which one of each list holds. Lists with only one entry come
// first, so that they are visited once and not with each combination.
func (c *compiler) join(s *schema, lists [][]alternative) ([]alternative, error) {
	common := alternative{}
	var choices [][]alternative
	for _, list := range lists {
		if len(list) == 1 {
			common = append(common, list[0]...)
		} else {
			choices = append(choices, list)
		}
	}
	if err := c.meter.Charge(8 + 8*len(common) + 2*len(lists)); err != nil {
		return nil, err
	}
	slices.Sort(common)
	common = slices.Compact(common)
	if allowed, _ := c.typesOf(common); allowed == 0 {
		return nil, nil
	}
	alts := []alternative{common}
	for _, list := range choices {
		var err error
		if alts, err = c.cross(s, alts, list); err != nil {
			return nil, err
		}
	}
	return alts, nil
}

// cross returns the alternatives in which one of a and one of b hold.
func (c *compiler) cross(s *schema, a, b []alternative) (both []alternative, err error) {
	left := make([]types, len(b))
	for j, y := range b {
		left[j], _ = c.typesOf(y)
		if err := c.meter.Charge(8 + len(y)); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for _, x := range a {
		allowed, _ := c.typesOf(x)
		if err := c.meter.Charge(len(x) + len(b)); err != nil {
			return nil, err
		}
		for j, y := range b {
			if allowed&left[j] == 0 {
				continue
			}
			if err := c.meter.Charge(16 + 2*len(x) + 2*len(y)); err != nil {
				return nil, err
			}
			z := x.and(y)
			if key := z.key(); !seen[key] {
				seen[key] = true
				both = append(both, z)
			}
			if len(both) > maxAlternatives {
				return nil, fmt.Errorf("%s: more than %d combinations of alternatives", s.at(),
					maxAlternatives)
			}
		}
	}
	return both, nil
}

// and returns the ids of both, ascending.
func (a alternative) and(b alternative) alternative {
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}

// key returns a string that is the same for equal alternatives and differs for others.
func (a alternative) key() string {
	b := make([]byte, 0, 4*len(a))
	for _, id := range a {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return string(b)
}

// typesOf returns the types that all schemas of an alternative allow, without integerType, and
// whether numbers must be whole.
func (c *compiler) typesOf(a alternative) (allowed types, whole bool) {
	allowed = nullType | booleanType | numberType | stringType | arrayType | objectType
	for _, id := range a {
		t := c.all[id].types
		if t == 0 {
			continue
		}
		if t&integerType != 0 && t&numberType == 0 {
			whole = true
			t |= numberType
		}
		allowed &= t &^ integerType
	}
	return allowed, whole
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

// expand returns the alternatives of a schema.
func (c *compiler) expand(s *schema) (alts []alternative, err error) {
	if alts, ok := c.expanded[s]; ok {
		return alts, nil
	}
	if c.expanding[s] {
		return nil, fmt.Errorf("%s: $ref leads back here without a part of the value between",
			s.at())
	}
	if err := c.deeper(s.from); err != nil {
		return nil, err
	}
	c.expanding[s] = true
	defer func() {
		c.depth--
		delete(c.expanding, s)
	}()
	if s.never {
		c.expanded[s] = nil
		return nil, nil
	}
	lists, err := c.lists(s)
	if err != nil {
		return nil, err
	}
	if alts, err = c.join(s, lists); err != nil {
		return nil, err
	}
	if s.rest != nil || s.restItems != nil {
		c.leave(s, alts)
	}
	c.expanded[s] = alts
	return alts, c.exclude(s)
}

// lists returns lists of alternatives; one of each list must hold.
func (c *compiler) lists(s *schema) (lists [][]alternative, err error) {
	if s.muted != nil {
		alts, err := c.expand(s.muted)
		return [][]alternative{c.silent(alts)}, err
	}
	if s.plain() {
		lists = append(lists, []alternative{{s.id}})
	}
	if s.hasEnum {
		alts, err := c.enumerated(s.enum)
		if err != nil {
			return nil, err
		}
		lists = append(lists, alts)
	}
	all := slices.Clone(s.allOf)
	if s.ref != nil {
		all = append(all, s.ref)
	}
	all = append(all, s.also...)
	if s.not != nil {
		none, err := c.negate(c.open(s.not))
		if err != nil {
			return nil, err
		}
		all = append(all, c.mute(none))
	}
	for _, part := range all {
		alts, err := c.expand(part)
		if err != nil {
			return nil, err
		}
		lists = append(lists, alts)
	}
	one, err := c.alone(s)
	if err != nil {
		return nil, err
	}
	cases, err := c.cases(s)
	if err != nil {
		return nil, err
	}
	for _, choice := range [][]*schema{s.anyOf, one, cases} {
		if choice == nil {
			continue
		}
		var union []alternative
		for _, part := range choice {
			alts, err := c.expand(part)
			if err != nil {
				return nil, err
			}
			if err := c.meter.Charge(4 + len(alts)); err != nil {
				return nil, err
			}
			if union, err = c.union(s, union, alts); err != nil {
				return nil, err
			}
		}
		lists = append(lists, union)
	}
	return lists, nil
}

// alone returns the branches of a oneOf, each without those that could hold with it.
func (c *compiler) alone(s *schema) ([]*schema, error) {
	one := slices.Clone(s.oneOf)
	for i := range one {
		parts := []*schema{one[i]}
		for _, j := range c.overlaps[s.from][i] {
			n, err := c.negate(c.open(s.oneOf[j]))
			if err != nil {
				return nil, fmt.Errorf("%s: oneOf of which branches %d and %d can both hold: %w", s.at(),
					min(i, j), max(i, j), err)
			}
			parts = append(parts, c.mute(n))
		}
		if len(parts) > 1 {
			one[i] = c.allOf(s.from, parts...)
		}
	}
	return one, nil
}

// cases returns the two alternatives of if: it holds with then, or does not hold with else.
func (c *compiler) cases(s *schema) ([]*schema, error) {
	if s.when == nil {
		return nil, nil
	}
	when := c.open(s.when)
	yes, no := []*schema{when}, []*schema{}
	if s.then != nil {
		yes = append(yes, s.then)
	}
	if s.then == nil && s.otherwise == nil { // it only says what is evaluated
		return []*schema{when, c.newSchema(s.from)}, nil
	}
	n, err := c.negate(when)
	if err != nil {
		return nil, err
	}
	n = c.mute(n)
	if no = append(no, n); s.otherwise != nil {
		no = append(no, s.otherwise)
	}
	return []*schema{c.allOf(s.from, yes...), c.allOf(s.from, no...)}, nil
}

// exclude records that no two branches of a oneOf may hold together.
func (c *compiler) exclude(s *schema) error {
	if len(s.oneOf) < 2 {
		return nil
	}
	rest := *s                           // all other keywords
	rest.oneOf = nil                     // the conditions too
	rest.rest, rest.restItems = nil, nil // which a branch may make hold
	c.identify(&rest)
	apart, pairs := c.tagged(s.oneOf), 0
	for i := range s.oneOf {
		for j := range i {
			if err := c.meter.Charge(2); err != nil {
				return err
			}
			if apart(i, j) {
				continue
			}
			if pairs++; pairs > maxPairs {
				return fmt.Errorf("%s: oneOf of %d branches, want a required property with another const "+
					"in each, or %d at most", s.at(), len(s.oneOf), maxBranches)
			}
			if slices.Contains(c.overlaps[s.from][i], j) {
				continue
			}
			both := c.valueOf(c.open(&rest), c.open(s.oneOf[i]), c.open(s.oneOf[j]))
			c.oneOf = append(c.oneOf, exclusive{s, j, i, both})
		}
	}
	return nil
}

// tagged returns a function that reports whether a property tells two branches apart: of all
// objects that a branch accepts it has one of some strings, and of those of the other it has none
// of these. The property is the one that most branches have.
func (c *compiler) tagged(branches []*schema) (apart func(i, j int) bool) {
	tags := make([]map[string][]string, len(branches))
	count := map[string]int{}
	best := ""
	for i, b := range branches {
		tags[i] = map[string][]string{}
		c.tags(b, tags[i], 0)
		for name := range tags[i] {
			count[name]++
		}
	}
	for name, n := range count {
		if n > count[best] || n == count[best] && name < best {
			best = name
		}
	}
	return func(i, j int) bool {
		a, b := tags[i][best], tags[j][best]
		return a != nil && b != nil && !slices.ContainsFunc(a, func(text string) bool {
			return slices.Contains(b, text)
		})
	}
}

// tags finds the required properties of a schema of objects that are one of a few strings.
func (c *compiler) tags(s *schema, tags map[string][]string, depth int) {
	const most, deepest = 8, 8 // strings of one tag, and schemas that lead to it
	if depth > deepest || c.meter.Charge(8+2*len(s.properties)) != nil {
		return
	}
	if s.ref != nil {
		c.tags(s.ref, tags, depth+1)
	}
	for _, part := range s.allOf {
		c.tags(part, tags, depth+1)
	}
	if s.types != objectType {
		return
	}
	for _, p := range s.properties {
		v := p.value
		if !v.hasEnum || len(v.enum) > most || !slices.Contains(s.required, p.name) {
			continue
		}
		texts := []string{}
		for _, item := range v.enum {
			if item.kind == '"' {
				texts = append(texts, item.text)
			}
		}
		if len(texts) == len(v.enum) {
			tags[p.name] = texts
		}
	}
}

// enumerated returns the alternatives of an enum: one for its strings, one for its numbers, and one
// for each other value.
func (c *compiler) enumerated(values []*jsonValue) (alts []alternative, err error) {
	groups := map[types]*schema{}
	add := func(t types, text string, v *jsonValue) {
		s := groups[t]
		if s == nil {
			s = c.newSchema(v)
			s.types, s.hasTexts = t, true
			groups[t] = s
			alts = append(alts, alternative{s.id})
		}
		s.texts = append(s.texts, text)
	}
	for _, v := range values {
		work := 4
		switch v.kind {
		case '"':
			add(stringType, v.text, v)
		case '0':
			text := canonicalNumber(v.text)
			work += 50 + len(text)
			add(numberType, text, v)
		case 't', 'f':
			add(booleanType, v.text, v)
		case 'n':
			add(nullType, v.text, v)
		default:
			work += 16 * len(v.items)
			alts = append(alts, alternative{c.constant(v).id})
		}
		if err := c.meter.Charge(work); err != nil {
			return nil, err
		}
	}
	return alts, nil
}

// constant returns a plain schema for a single value.
func (c *compiler) constant(v *jsonValue) *schema {
	if s := c.constants[v]; s != nil {
		return s
	}
	s := c.newSchema(v)
	c.constants[v] = s
	var parts []*schema
	for _, item := range v.items {
		part := c.newSchema(item)
		part.enum, part.hasEnum = []*jsonValue{item}, true
		parts = append(parts, part)
	}
	switch v.kind {
	case '{':
		s.mute = true
		s.types, s.free, s.required = objectType, true, v.keys
		s.additional = c.nothing()
		for i, key := range v.keys {
			s.properties = append(s.properties, property{key, parts[i]})
		}
	case '[':
		s.mute = true
		s.types, s.prefix = arrayType, parts
		s.minItems, s.maxItems = len(parts), len(parts)
	}
	return s
}

// canonicalNumber returns a number as texts write it: whole numbers in digits, others as
// encoding/json writes them if that is the same number.
func canonicalNumber(text string) string {
	d, err := parseDecimal(text)
	if err != nil || d.point > 4096 || d.point < -4096 {
		return text
	}
	sign := ""
	if d.neg && !d.zero() {
		sign = "-"
	}
	if d.whole() {
		return sign + d.integer()
	}
	f, _ := strconv.ParseFloat(text, 64)
	if b, err := json.Marshal(f); err == nil {
		if e, err := parseDecimal(string(b)); err == nil && e.cmp(d) == 0 {
			return string(b)
		}
	}
	return sign + d.integer() + "." + d.fraction()
}
