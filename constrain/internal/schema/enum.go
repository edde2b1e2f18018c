package schema

// Enum and const: lists of values as plain schemas.

import (
	"encoding/json"
	"strconv"
)

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
		s.types, s.free, s.required = objectType, true, v.keys
		s.additional = c.never(v)
		for i, key := range v.keys {
			s.properties = append(s.properties, property{key, parts[i]})
		}
		s.lookUp()
	case '[':
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
