package schema

// Negation: the schema of all values that a schema does not accept, for not, if, and oneOf.

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// negate returns the schema of what s does not accept: the union of what each keyword of s leaves
// out. A keyword of which that cannot be said is an error.
func (c *compiler) negate(s *schema) (*schema, error) {
	if n := c.negated[s]; n != nil {
		return n, nil
	}
	if err := c.meter.Charge(64); err != nil {
		return nil, err
	}
	n := c.newSchema(s.from)
	c.negated[s] = n
	if s.never {
		return n, nil
	}
	b := &negation{c: c, of: s}
	b.parts()
	b.scalars()
	b.strings()
	b.arrays()
	b.objects()
	if s.rest != nil || s.restItems != nil {
		b.cannot("unevaluatedProperties or unevaluatedItems")
	}
	if b.err != nil {
		return nil, b.err
	}
	if n.anyOf = b.union; b.union == nil {
		n.never = true
	}
	return n, nil
}

// A negation collects what some keyword of a schema leaves out.
type negation struct {
	c     *compiler
	of    *schema
	union []*schema
	err   error
}

// add adds what set makes of a new schema of some types.
func (b *negation) add(t types, set func(n *schema)) {
	if b.err == nil {
		b.err = b.c.meter.Failed()
	}
	if b.err != nil {
		return
	}
	n := b.c.newSchema(b.of.from)
	n.types, n.beside = t, true
	set(n)
	b.union = append(b.union, n)
}

// not returns the negation of a part.
func (b *negation) not(s *schema) *schema {
	n, err := b.c.negate(s)
	if err != nil && b.err == nil {
		b.err = err
	}
	return n
}

// cannot says that a keyword cannot be negated.
func (b *negation) cannot(keyword string) {
	if b.err == nil {
		b.err = fmt.Errorf("%s: keyword %s is not supported under not, if, and in branches of oneOf of "+
			"which two can hold", b.of.at(), keyword)
	}
}

// all returns a schema under which all of some hold.
func (c *compiler) allOf(from *jsonValue, parts ...*schema) *schema {
	s := c.newSchema(from)
	s.allOf = parts
	return s
}

// parts negates what other schemas say.
func (b *negation) parts() {
	s := b.of
	for _, part := range slices.Concat(s.allOf, s.also) {
		b.union = append(b.union, b.not(part))
	}
	if s.ref != nil {
		b.union = append(b.union, b.not(s.ref))
	}
	for i, list := range [][]*schema{s.anyOf, s.oneOf} {
		if list == nil {
			continue
		}
		var none []*schema
		for j, part := range list {
			none = append(none, b.not(part))
			for _, before := range list[:j] {
				if b.err == nil {
					b.err = b.c.meter.Failed()
				}
				if i == 1 && b.err == nil { // of oneOf, two
					b.union = append(b.union, b.c.allOf(s.from, before, part))
				}
			}
		}
		b.union = append(b.union, b.c.allOf(s.from, none...))
	}
	if s.not != nil {
		b.union = append(b.union, s.not)
	}
	if s.when != nil {
		if s.then != nil {
			b.union = append(b.union, b.c.allOf(s.from, s.when, b.not(s.then)))
		}
		if s.otherwise != nil {
			b.union = append(b.union, b.c.allOf(s.from, b.not(s.when), b.not(s.otherwise)))
		}
	}
}

const anyType = nullType | booleanType | numberType | stringType | arrayType | objectType

// scalars negates types, lists and bounds of numbers.
func (b *negation) scalars() {
	s := b.of
	if s.types != 0 {
		left := anyType &^ s.types
		if s.types&integerType != 0 && s.types&numberType == 0 {
			left &^= numberType
			b.add(numberType, func(n *schema) { n.besides = []*big.Rat{big.NewRat(1, 1)} })
		}
		if left != 0 {
			b.add(left, func(*schema) {})
		}
	}
	if s.hasEnum {
		b.list()
	}
	if s.multiple != nil {
		b.add(numberType, func(n *schema) { n.besides = []*big.Rat{s.multiple} })
	}
	for _, m := range s.besides {
		b.add(numberType, func(n *schema) { n.multiple = m })
	}
	if s.minimum != nil {
		b.add(numberType, func(n *schema) { n.exclusiveMax = s.minimum })
	}
	if s.maximum != nil {
		b.add(numberType, func(n *schema) { n.exclusiveMin = s.maximum })
	}
	if s.exclusiveMin != nil {
		b.add(numberType, func(n *schema) { n.maximum = s.exclusiveMin })
	}
	if s.exclusiveMax != nil {
		b.add(numberType, func(n *schema) { n.minimum = s.exclusiveMax })
	}
}

// list negates enum and const: other strings, the numbers between, and other types.
func (b *negation) list() {
	left := anyType
	var texts []string
	var numbers []*decimal
	yes, no := true, true
	var objects, arrays []*schema
	for _, v := range b.of.enum {
		switch v.kind {
		case '"':
			left &^= stringType
			texts = append(texts, regexp.QuoteMeta(v.text))
		case '0':
			left &^= numberType
			d, err := v.decimal()
			if err != nil && b.err == nil {
				b.err = err
			}
			numbers = append(numbers, d)
		case 'n':
			left &^= nullType
		case 't', 'f':
			left &^= booleanType
			yes, no = yes && v.kind != 't', no && v.kind != 'f'
		case '{':
			left &^= objectType
			objects = append(objects, b.not(b.c.constant(v)))
		case '[':
			left &^= arrayType
			arrays = append(arrays, b.not(b.c.constant(v)))
		}
	}
	if b.err != nil {
		return
	}
	if left != 0 {
		b.add(left, func(*schema) {})
	}
	if objects != nil {
		b.add(objectType, func(n *schema) { n.allOf = objects })
	}
	if arrays != nil {
		b.add(arrayType, func(n *schema) { n.allOf = arrays })
	}
	if left&booleanType == 0 && (yes || no) {
		b.add(booleanType, func(n *schema) { n.texts, n.hasTexts = []string{fmt.Sprint(yes)}, true })
	}
	if texts != nil {
		b.others("^(?:" + strings.Join(texts, "|") + ")$")
	}
	if numbers != nil {
		slices.SortFunc(numbers, (*decimal).cmp)
		b.add(numberType, func(n *schema) { n.exclusiveMax = numbers[0] })
		for i, d := range numbers {
			b.add(numberType, func(n *schema) {
				if n.exclusiveMin = d; i+1 < len(numbers) {
					n.exclusiveMax = numbers[i+1]
				}
			})
		}
	}
}

// others adds the strings that do not match a pattern.
func (b *negation) others(pattern string) {
	b.add(stringType, func(n *schema) { n.unlike = pattern })
}

func (b *negation) strings() {
	s := b.of
	if s.minLength > 0 {
		b.add(stringType, func(n *schema) { n.maxLength = s.minLength - 1 })
	}
	if s.maxLength >= 0 {
		b.add(stringType, func(n *schema) { n.minLength = s.maxLength + 1 })
	}
	if s.pattern != nil {
		b.others(*s.pattern)
	}
	if s.unlike != "" {
		b.add(stringType, func(n *schema) { n.pattern = &s.unlike })
	}
	if s.format != "" {
		f := formats()[s.format]
		for _, p := range f.patterns {
			b.others(p)
		}
		if f.max > 0 {
			b.add(stringType, func(n *schema) { n.minLength = f.max + 1 })
		}
	}
}

func (b *negation) arrays() {
	s := b.of
	if s.minItems > 0 {
		b.add(arrayType, func(n *schema) { n.maxItems = s.minItems - 1 })
	}
	if s.maxItems >= 0 {
		b.add(arrayType, func(n *schema) { n.minItems = s.maxItems + 1 })
	}
	whatever := b.c.newSchema(s.from)
	for i, item := range s.prefix {
		if item.trivial() {
			continue
		}
		b.c.meter.Charge(4 * i)
		b.add(arrayType, func(n *schema) {
			n.minItems = i + 1
			n.prefix = append(slices.Repeat([]*schema{whatever}, i), b.not(item))
		})
	}
	if s.unique {
		b.cannot("uniqueItems")
	}
	switch {
	case s.items == nil || s.items.trivial():
	case s.items.never:
		b.add(arrayType, func(n *schema) { n.minItems = len(s.prefix) + 1 })
	default:
		b.add(arrayType, func(n *schema) { n.counts = []count{{b.not(s.items), len(s.prefix), 1, -1}} })
	}
	for _, k := range s.counts {
		if k.min > 0 {
			b.add(arrayType, func(n *schema) { n.counts = []count{{k.of, k.from, 0, k.min - 1}} })
		}
		if k.max >= 0 {
			b.add(arrayType, func(n *schema) { n.counts = []count{{k.of, k.from, k.max + 1, -1}} })
		}
	}
}

func (b *negation) objects() {
	s := b.of
	if s.minProperties > 0 {
		b.add(objectType, func(n *schema) { n.maxProperties = s.minProperties - 1 })
	}
	if s.maxProperties >= 0 {
		b.add(objectType, func(n *schema) { n.minProperties = s.maxProperties + 1 })
	}
	for _, name := range s.required {
		b.add(objectType, func(n *schema) { n.without(name, b.c.nothing()) })
	}
	for _, p := range s.properties {
		if p.value.trivial() {
			continue
		}
		b.add(objectType, func(n *schema) {
			n.required = []string{p.name}
			n.without(p.name, b.not(p.value))
		})
	}
	some := func(in, of *schema, other bool) {
		b.add(objectType, func(n *schema) { n.somes = []some{{in, of, other}} })
	}
	for _, p := range s.patterns {
		if !p.value.trivial() {
			in := b.c.newSchema(s.from)
			in.patterns = []property{p}
			some(in, b.not(p.value), false)
		}
	}
	if s.names != nil && !s.names.trivial() {
		in := b.c.newSchema(s.from)
		in.names = s.names
		some(in, b.c.newSchema(s.from), true)
	}
	if s.additional != nil && !s.additional.trivial() {
		in := b.c.newSchema(s.from)
		in.properties, in.patterns = s.properties, s.patterns
		some(in, b.not(s.additional), true)
	}
	for _, m := range s.somes { // no property is: those in it, or the others
		b.add(objectType, func(n *schema) { m.none(n, b) })
	}
}

// without gives a name a value that s says of the object beside other schemas.
func (s *schema) without(name string, value *schema) {
	s.properties = append(s.properties, property{name, value})
}
