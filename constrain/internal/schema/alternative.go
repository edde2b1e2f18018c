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
func (c *compiler) join(s *schema, lists [][]alternative) []alternative {
	common := alternative{}
	var choices [][]alternative
	for _, list := range lists {
		if len(list) == 1 {
			common = append(common, list[0]...)
		} else {
			choices = append(choices, list)
		}
	}
	c.charge(8 + 8*len(common) + 2*len(lists))
	slices.Sort(common)
	common = slices.Compact(common)
	if allowed, _ := c.typesOf(common); allowed == 0 {
		return nil
	}
	alts := []alternative{common}
	for _, list := range choices {
		alts = c.cross(s, alts, list)
	}
	return alts
}

// cross returns the alternatives in which one of a and one of b hold.
func (c *compiler) cross(s *schema, a, b []alternative) (both []alternative) {
	left := make([]types, len(b))
	for j, y := range b {
		left[j], _ = c.typesOf(y)
		c.charge(8 + len(y))
	}
	seen := map[string]bool{}
	for _, x := range a {
		allowed, _ := c.typesOf(x)
		c.charge(len(x) + len(b))
		for j, y := range b {
			if allowed&left[j] == 0 {
				continue
			}
			if !c.charge(16 + 2*len(x) + 2*len(y)) {
				return nil
			}
			z := x.and(y)
			if key := z.key(); !seen[key] {
				seen[key] = true
				both = append(both, z)
			}
			if len(both) > maxAlternatives {
				c.fail(fmt.Errorf("%s: more than %d combinations of alternatives", s.at(),
					maxAlternatives))
			}
		}
	}
	return both
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

// words are lists of the scalars that are no numbers and no strings.
var words = [...][]string{{"null"}, {"true"}, {"false"}}

// allows reports whether the types of an alternative allow a word, and its lists contain it.
func (c *compiler) allows(a alternative, word string) bool {
	if allowed, _ := c.typesOf(a); allowed&kindTypes[word[0]] == 0 {
		return false
	}
	for _, id := range a {
		s := c.all[id]
		c.charge(len(s.texts))
		if s.hasTexts && !slices.Contains(s.texts, word) {
			return false
		}
	}
	return true
}

// expand returns the alternatives of a schema.
func (c *compiler) expand(s *schema) []alternative {
	if alts, ok := c.expanded[s]; ok || s.never {
		return alts
	}
	if c.expanding[s] {
		c.fail(fmt.Errorf("%s: $ref leads back here without a part of the value between", s.at()))
	}
	defer c.deeper(s.from)()
	if c.failed() {
		return nil
	}
	c.expanding[s] = true
	alts := c.join(s, c.lists(s))
	delete(c.expanding, s)
	if s.rest != nil || s.restItems != nil {
		c.leave(s, alts)
	}
	c.expanded[s] = alts
	c.exclude(s)
	return alts
}

// lists returns lists of alternatives; one of each list must hold.
func (c *compiler) lists(s *schema) (lists [][]alternative) {
	if s.muted != nil {
		return [][]alternative{c.silent(c.expand(s.muted))}
	}
	if s.plain() {
		lists = append(lists, []alternative{{s.id}})
	}
	if s.hasEnum {
		lists = append(lists, c.enumerated(s.enum))
	}
	all := slices.Clone(s.allOf)
	if s.ref != nil {
		all = append(all, s.ref)
	}
	all = append(all, s.also...)
	if s.not != nil {
		all = append(all, c.mute(c.negate(c.open(s.not))))
	}
	for _, part := range all {
		lists = append(lists, c.expand(part))
	}
	for _, choice := range [][]*schema{s.anyOf, c.alone(s), c.cases(s)} {
		if choice == nil {
			continue
		}
		var union []alternative
		for _, part := range choice {
			alts := c.expand(part)
			c.charge(4 + len(alts))
			union = c.union(s, union, alts)
		}
		lists = append(lists, union)
	}
	return lists
}

// alone returns the branches of a oneOf, each without those that could hold with it.
func (c *compiler) alone(s *schema) []*schema {
	one := slices.Clone(s.oneOf)
	for i := range one {
		parts := []*schema{one[i]}
		for _, j := range c.overlaps[s.from][i] {
			before := c.failed()
			parts = append(parts, c.mute(c.negate(c.open(s.oneOf[j]))))
			if c.failed() && !before {
				c.meter.Say(fmt.Sprintf("%s: oneOf of which branches %d and %d can both hold", s.at(),
					min(i, j), max(i, j)))
			}
		}
		if len(parts) > 1 {
			one[i] = c.allOf(s.from, parts...)
		}
	}
	return one
}

// cases returns the two alternatives of if: it holds with then, or does not hold with else.
func (c *compiler) cases(s *schema) []*schema {
	if s.when == nil {
		return nil
	}
	when := c.open(s.when)
	if s.then == nil && s.otherwise == nil { // it only says what is evaluated
		return []*schema{when, c.newSchema(s.from)}
	}
	yes, no := []*schema{when}, []*schema{c.mute(c.negate(when))}
	if s.then != nil {
		yes = append(yes, s.then)
	}
	if s.otherwise != nil {
		no = append(no, s.otherwise)
	}
	return []*schema{c.allOf(s.from, yes...), c.allOf(s.from, no...)}
}

// exclude records that no two branches of a oneOf may hold together.
func (c *compiler) exclude(s *schema) {
	if len(s.oneOf) < 2 {
		return
	}
	rest := *s                           // all other keywords
	rest.oneOf = nil                     // the conditions too
	rest.rest, rest.restItems = nil, nil // which a branch may make hold
	c.identify(&rest)
	apart, pairs := c.tagged(s.oneOf), 0
	for i := range s.oneOf {
		for j := range i {
			if c.failed() {
				return
			}
			if c.charge(2); apart(i, j) {
				continue
			}
			if pairs++; pairs > maxPairs {
				c.fail(fmt.Errorf("%s: oneOf of %d branches, want a required property with another const "+
					"in each, or %d at most", s.at(), len(s.oneOf), maxBranches))
			}
			if slices.Contains(c.overlaps[s.from][i], j) {
				continue
			}
			both := c.valueOf(c.open(&rest), c.open(s.oneOf[i]), c.open(s.oneOf[j]))
			c.oneOf = append(c.oneOf, exclusive{s, j, i, both})
		}
	}
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
	if depth > deepest || !c.charge(8+2*len(s.properties)) {
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
func (c *compiler) enumerated(values []*jsonValue) (alts []alternative) {
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
		case '0':
			text := canonicalNumber(v.text)
			work += 50 + len(text)
			add(numberType, text, v)
		case '{', '[':
			work += 16 * len(v.items)
			alts = append(alts, alternative{c.constant(v).id})
		default:
			add(kindTypes[v.kind], v.text, v)
		}
		if !c.charge(work) {
			return nil
		}
	}
	return alts
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
