package constrain

// Expand: references and combinations of schemas as alternatives of plain ones.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	maxAlternatives = 2048
	maxValues       = 20000
	maxSchemaBytes  = 4 << 20
)

// An alternative is the ids of plain schemas, ascending, all of which hold: their $ref, allOf,
// anyOf, oneOf, enum and const count no more.
type alternative []int

// A schemaCompiler makes the values of a schema.
type schemaCompiler struct {
	options   SchemaOptions
	root      *jsonValue
	all       []*schema
	schemas   map[*jsonValue]*schema
	also      map[*schema]*schema // a const beside an enum
	constants map[*jsonValue]*schema
	expanded  map[*schema][]alternative
	expanding map[*schema]bool
	values    map[string]*value
	order     []*value // the values as they were made, parts after wholes
	todo      []*value
	oneOf     []exclusive
	tables    map[string]*table
	anyString *stringSpec
	anyNumber map[bool]*numberSpec
	missing   string // a name that is required and forbidden, for an error
}

// An exclusive is two branches of a oneOf, and what is true of both: nothing may be.
type exclusive struct {
	at   string
	i, j int
	both *value
}

// expand returns the alternatives of a schema.
func (c *schemaCompiler) expand(s *schema) (alts []alternative, err error) {
	if alts, ok := c.expanded[s]; ok {
		return alts, nil
	}
	if c.expanding[s] {
		return nil, fmt.Errorf("%s: $ref leads back here without a part of the value between", s.at)
	}
	c.expanding[s] = true
	defer delete(c.expanding, s)
	if s.never {
		c.expanded[s] = nil
		return nil, nil
	}
	alts = []alternative{{}}
	if s.plain() {
		alts = []alternative{{s.id}}
	}
	if s.hasEnum {
		if alts, err = c.cross(s.at, alts, c.enumerated(s.enum)); err != nil {
			return nil, err
		}
	}
	all := slices.Clone(s.allOf)
	if s.ref != nil {
		all = append(all, s.ref)
	}
	if also := c.also[s]; also != nil {
		all = append(all, also)
	}
	for _, part := range all {
		more, err := c.expand(part)
		if err != nil {
			return nil, err
		}
		if alts, err = c.cross(s.at, alts, more); err != nil {
			return nil, err
		}
	}
	for _, choice := range [][]*schema{s.anyOf, s.oneOf} {
		if choice == nil {
			continue
		}
		var union []alternative
		for _, part := range choice {
			more, err := c.expand(part)
			if err != nil {
				return nil, err
			}
			union = append(union, more...)
		}
		if alts, err = c.cross(s.at, alts, union); err != nil {
			return nil, err
		}
	}
	c.expanded[s] = alts
	return alts, c.exclude(s)
}

// exclude notes that no two branches of a oneOf may hold together.
func (c *schemaCompiler) exclude(s *schema) error {
	if len(s.oneOf) < 2 {
		return nil
	}
	if len(s.oneOf) > 100 {
		return fmt.Errorf("%s: oneOf of %d branches, want 100 at most", s.at, len(s.oneOf))
	}
	rest := *s // all that holds besides
	rest.id, rest.oneOf = len(c.all), nil
	c.all = append(c.all, &rest)
	for i := range s.oneOf {
		for j := range i {
			both := c.valueOf(&rest, s.oneOf[i], s.oneOf[j])
			c.oneOf = append(c.oneOf, exclusive{s.at, j, i, both})
		}
	}
	return nil
}

// plain says whether a schema restricts by itself.
func (s *schema) plain() bool {
	return s.types != 0 || s.hasTexts || s.minimum != nil || s.maximum != nil ||
		s.exclusiveMin != nil || s.exclusiveMax != nil || s.multiple != nil || s.minLength > 0 ||
		s.maxLength >= 0 || s.pattern != nil || s.format != "" || s.isObject() || s.isArray()
}

func (s *schema) isObject() bool {
	return len(s.properties) > 0 || len(s.patterns) > 0 || s.additional != nil ||
		len(s.required) > 0 || s.minProperties > 0 || s.maxProperties >= 0
}

func (s *schema) isArray() bool {
	return len(s.prefix) > 0 || s.items != nil || s.minItems > 0 || s.maxItems >= 0
}

// cross returns the alternatives in which one of a and one of b hold.
func (c *schemaCompiler) cross(at string, a, b []alternative) (both []alternative, err error) {
	seen := map[string]bool{}
	for _, x := range a {
		for _, y := range b {
			z := append(slices.Clone(x), y...)
			slices.Sort(z)
			z = slices.Compact(z)
			if key := z.key(); !seen[key] && c.possible(z) {
				seen[key] = true
				both = append(both, z)
			}
			if len(both) > maxAlternatives {
				return nil, fmt.Errorf("%s: more than %d combinations of alternatives", at,
					maxAlternatives)
			}
		}
	}
	return both, nil
}

func (a alternative) key() string {
	var b strings.Builder
	for _, id := range a {
		b.WriteString(strconv.Itoa(id))
		b.WriteByte(' ')
	}
	return b.String()
}

// possible says whether some type is left.
func (c *schemaCompiler) possible(a alternative) bool {
	allowed, _ := c.typesOf(a)
	return allowed != 0
}

// typesOf returns the types that all schemas of an alternative leave, without integerType, and
// whether numbers must be whole.
func (c *schemaCompiler) typesOf(a alternative) (allowed types, whole bool) {
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

// enumerated returns the alternatives of an enum: one for its strings, its numbers and each other.
func (c *schemaCompiler) enumerated(values []*jsonValue) (alts []alternative) {
	groups := map[types]*schema{}
	add := func(t types, text string, v *jsonValue) {
		s := groups[t]
		if s == nil {
			s = c.newSchema(v.at)
			s.types, s.hasTexts = t, true
			groups[t] = s
			alts = append(alts, alternative{s.id})
		}
		s.texts = append(s.texts, text)
	}
	for _, v := range values {
		switch v.kind {
		case '"':
			add(stringType, v.text, v)
		case '0':
			add(numberType, canonicalNumber(v.text), v)
		case 't', 'f':
			add(booleanType, v.text, v)
		case 'n':
			add(nullType, v.text, v)
		default:
			alts = append(alts, alternative{c.constant(v).id})
		}
	}
	return alts
}

// constant returns a plain schema that only a value equals.
func (c *schemaCompiler) constant(v *jsonValue) *schema {
	if s := c.constants[v]; s != nil {
		return s
	}
	s := c.newSchema(v.at)
	c.constants[v] = s
	var parts []*schema
	for _, item := range v.items {
		part := c.newSchema(item.at)
		part.enum, part.hasEnum = []*jsonValue{item}, true
		parts = append(parts, part)
	}
	switch v.kind {
	case '{':
		s.types, s.free, s.required = objectType, true, v.keys
		s.additional = c.never(v.at)
		for i, key := range v.keys {
			s.properties = append(s.properties, property{key, parts[i]})
		}
	case '[':
		s.types, s.prefix = arrayType, parts
		s.minItems, s.maxItems = len(parts), len(parts)
	}
	return s
}

// canonicalNumber writes a number as texts have it: whole ones in digits, others as encoding/json
// does if that is the same number.
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
