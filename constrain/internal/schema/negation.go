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
func (c *compiler) negate(s *schema) *schema {
	if n := c.negated[s]; n != nil {
		return n
	}
	c.charge(64)
	n := c.newSchema(s.from)
	c.negated[s] = n
	if s.never || c.failed() {
		return n
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
	if n.anyOf = b.union; b.union == nil {
		n.never = true
	}
	return n
}

// A negation collects what some keyword of a schema leaves out.
type negation struct {
	c     *compiler
	of    *schema
	union []*schema
}

// add adds what set makes of a new schema of some types, if is holds.
func (b *negation) add(is bool, t types, set func(n *schema)) {
	if !is || b.c.failed() {
		return
	}
	n := b.c.newSchema(b.of.from)
	n.types, n.beside = t, true
	set(n)
	b.union = append(b.union, n)
}

// cannot says that a keyword cannot be negated.
func (b *negation) cannot(keyword string) {
	b.c.fail(fmt.Errorf("%s: keyword %s is not supported under not, if, and in branches of oneOf of "+
		"which two can hold", b.of.at(), keyword))
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
		b.union = append(b.union, b.c.negate(part))
	}
	if s.ref != nil {
		b.union = append(b.union, b.c.negate(s.ref))
	}
	for i, list := range [][]*schema{s.anyOf, s.oneOf} {
		if list == nil {
			continue
		}
		var none []*schema
		for j, part := range list {
			none = append(none, b.c.negate(part))
			for _, before := range list[:j] {
				if i == 1 && !b.c.failed() { // of oneOf, two
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
			b.union = append(b.union, b.c.allOf(s.from, s.when, b.c.negate(s.then)))
		}
		if s.otherwise != nil {
			b.union = append(b.union, b.c.allOf(s.from, b.c.negate(s.when), b.c.negate(s.otherwise)))
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
			b.add(true, numberType, func(n *schema) { n.besides = []*big.Rat{big.NewRat(1, 1)} })
		}
		b.add(left != 0, left, func(*schema) {})
	}
	if s.hasEnum {
		b.list()
	}
	b.add(s.multiple != nil, numberType, func(n *schema) { n.besides = []*big.Rat{s.multiple} })
	for _, m := range s.besides {
		b.add(true, numberType, func(n *schema) { n.multiple = m })
	}
	b.add(s.minimum != nil, numberType, func(n *schema) { n.exclusiveMax = s.minimum })
	b.add(s.maximum != nil, numberType, func(n *schema) { n.exclusiveMin = s.maximum })
	b.add(s.exclusiveMin != nil, numberType, func(n *schema) { n.maximum = s.exclusiveMin })
	b.add(s.exclusiveMax != nil, numberType, func(n *schema) { n.minimum = s.exclusiveMax })
}

// list negates enum and const: other strings, the numbers between, and other types.
func (b *negation) list() {
	left := anyType
	var texts []string
	var numbers []*decimal
	yes, no := true, true
	var objects, arrays []*schema
	for _, v := range b.of.enum {
		left &^= kindTypes[v.kind]
		switch v.kind {
		case '"':
			texts = append(texts, regexp.QuoteMeta(v.text))
		case '0':
			numbers = append(numbers, b.c.decimal(v))
		case 't':
			yes = false
		case 'f':
			no = false
		case '{':
			objects = append(objects, b.c.negate(b.c.constant(v)))
		case '[':
			arrays = append(arrays, b.c.negate(b.c.constant(v)))
		}
	}
	b.add(left != 0, left, func(*schema) {})
	b.add(objects != nil, objectType, func(n *schema) { n.allOf = objects })
	b.add(arrays != nil, arrayType, func(n *schema) { n.allOf = arrays })
	b.add(left&booleanType == 0 && (yes || no), booleanType, func(n *schema) {
		n.texts, n.hasTexts = []string{fmt.Sprint(yes)}, true
	})
	b.add(texts != nil, stringType, func(n *schema) {
		n.unlike = "^(?:" + strings.Join(texts, "|") + ")$"
	})
	if numbers == nil || b.c.failed() {
		return
	}
	slices.SortFunc(numbers, (*decimal).cmp)
	b.add(true, numberType, func(n *schema) { n.exclusiveMax = numbers[0] })
	for i, d := range numbers {
		b.add(true, numberType, func(n *schema) {
			if n.exclusiveMin = d; i+1 < len(numbers) {
				n.exclusiveMax = numbers[i+1]
			}
		})
	}
}

func (b *negation) strings() {
	s, f := b.of, formats()[b.of.format]
	b.add(s.minLength > 0, stringType, func(n *schema) { n.maxLength = s.minLength - 1 })
	b.add(s.maxLength >= 0, stringType, func(n *schema) { n.minLength = s.maxLength + 1 })
	b.add(s.pattern != nil, stringType, func(n *schema) { n.unlike = *s.pattern })
	b.add(s.unlike != "", stringType, func(n *schema) { n.pattern = &s.unlike })
	for _, p := range f.patterns {
		b.add(true, stringType, func(n *schema) { n.unlike = p })
	}
	b.add(f.max > 0, stringType, func(n *schema) { n.minLength = f.max + 1 })
}

func (b *negation) arrays() {
	s := b.of
	b.add(s.minItems > 0, arrayType, func(n *schema) { n.maxItems = s.minItems - 1 })
	b.add(s.maxItems >= 0, arrayType, func(n *schema) { n.minItems = s.maxItems + 1 })
	whatever := b.c.newSchema(s.from)
	for i, item := range s.prefix {
		b.add(!item.trivial() && b.c.charge(4*i), arrayType, func(n *schema) {
			n.minItems = i + 1
			n.prefix = append(slices.Repeat([]*schema{whatever}, i), b.c.negate(item))
		})
	}
	if s.unique {
		b.cannot("uniqueItems")
	}
	b.add(s.items.restricts(), arrayType, func(n *schema) {
		if s.items.never {
			n.minItems = len(s.prefix) + 1
		} else {
			n.counts = []count{{b.c.negate(s.items), len(s.prefix), 1, -1}}
		}
	})
	for _, k := range s.counts {
		fewer, more := count{k.of, k.from, 0, k.min - 1}, count{k.of, k.from, k.max + 1, -1}
		b.add(k.min > 0, arrayType, func(n *schema) { n.counts = []count{fewer} })
		b.add(k.max >= 0, arrayType, func(n *schema) { n.counts = []count{more} })
	}
}

func (b *negation) objects() {
	s := b.of
	b.add(s.minProperties > 0, objectType, func(n *schema) { n.maxProperties = s.minProperties - 1 })
	b.add(s.maxProperties >= 0, objectType, func(n *schema) { n.minProperties = s.maxProperties + 1 })
	for _, name := range s.required {
		b.add(true, objectType, func(n *schema) { n.properties = []property{{name, b.c.nothing()}} })
	}
	for _, p := range s.properties {
		b.add(p.value.restricts(), objectType, func(n *schema) {
			n.required = []string{p.name}
			n.properties = []property{{p.name, b.c.negate(p.value)}}
		})
	}
	some := func(restricts *schema, other bool, names func(in *schema) (of *schema)) {
		if restricts.restricts() {
			in := b.c.newSchema(s.from)
			of := names(in)
			b.add(true, objectType, func(n *schema) { n.somes = []some{{in, of, other}} })
		}
	}
	for _, p := range s.patterns {
		some(p.value, false, func(in *schema) *schema {
			in.patterns = []property{p}
			return b.c.negate(p.value)
		})
	}
	some(s.names, true, func(in *schema) *schema {
		in.names = s.names
		return b.c.newSchema(s.from)
	})
	some(s.additional, true, func(in *schema) *schema {
		in.properties, in.patterns = s.properties, s.patterns
		return b.c.negate(s.additional)
	})
	for _, m := range s.somes { // no property is: those in it, or the others
		b.add(true, objectType, func(n *schema) { m.none(n, b) })
	}
}
