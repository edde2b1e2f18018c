package schema

// Schema: the keywords of one JSON Schema, parsed and checked.

import (
	"fmt"
	"math/big"
	"strings"
)

// A schema holds the keywords of one schema object. Its parts are schemas of their own.
type schema struct {
	id    int        // in the order in which schemas are found
	from  *jsonValue // its text; nil if it has none
	never bool       // the schema false

	ref                 *schema
	allOf, anyOf, oneOf []*schema
	also                []*schema    // more that must hold
	enum                []*jsonValue // nil if there is none
	hasEnum             bool

	not                   *schema
	when, then, otherwise *schema // if, then, else

	types types // 0 means any

	minimum, maximum           *decimal
	exclusiveMin, exclusiveMax *decimal
	multiple                   *big.Rat
	besides                    []*big.Rat // it is a multiple of none of these
	texts                      []string   // of numbers and strings: only these
	hasTexts                   bool

	minLength, maxLength int // maxLength -1: none
	pattern              *string
	unlike               string // a pattern that must not match; "" for none
	format               string

	properties    []property
	index         map[string]*schema // of properties, if there are many, once it is asked
	patterns      []property         // each name is a pattern
	additional    *schema            // nil: others are allowed
	names         *schema            // propertyNames
	required      []string
	free          bool // names come in any order
	beside        bool // properties of other schemas give the order, and say which names there are
	minProperties int
	maxProperties int
	dependents    []string // the names in dependentRequired
	closes, opens bool     // with Options.Closed: it names properties; it says which others there are
	open          bool     // it closes nothing

	prefix             []*schema
	items              *schema
	minItems, maxItems int
	unique             bool
	counts             []count
	contains           *schema // which evaluates items
	somes              []some

	// unevaluatedProperties and unevaluatedItems; of a plain schema, what they say beside others
	rest, restItems *schema
	left            *leftover
	mute            bool    // what it says of properties and items leaves them unevaluated
	muted           *schema // this one, but mute
}

type property struct {
	name  string
	value *schema
}

// types is a set of JSON's types. integerType is the set of whole numbers in numberType.
type types uint8

const (
	nullType types = 1 << iota
	booleanType
	numberType
	integerType
	stringType
	arrayType
	objectType
)

var typeNames = map[string]types{"null": nullType, "boolean": booleanType, "number": numberType,
	"integer": integerType, "string": stringType, "array": arrayType, "object": objectType}

// IsType reports whether a name is one of JSON Schema's types.
func IsType(name string) bool { return typeNames[name] != 0 }

// schemaOf returns the schema of a JSON value. It parses each value once.
func (c *compiler) schemaOf(v *jsonValue) *schema {
	way := c.way
	defer func() { c.way = way }()
	c.way = c.enter(v)
	if s := c.schemas[reached{v, c.way}]; s != nil {
		return s
	}
	defer c.deeper(v)()
	c.charge(16 + len(v.keys))
	s := c.newSchema(v)
	c.schemas[reached{v, c.way}] = s
	switch v.kind {
	case 't', 'f':
		s.never = v.kind == 'f'
		return s
	case '{':
	default:
		c.fail(fmt.Errorf("%s: want a schema: an object, true or false; found %s", v.at(), v.is()))
	}
	of := c.scopeOf(v)
	for i, key := range v.keys {
		if c.failed() {
			return s
		}
		if !c.ignores(of, v, key) {
			c.closing(s, key)
			c.keyword(s, v, key, v.items[i])
		}
	}
	s.closes = s.closes || c.options.Closed && len(s.required)+len(s.dependents) > 0
	c.discriminate(s, v)
	return s
}

// discriminate gives each branch that is a reference what OpenAPI's discriminator says of it: the
// name of its schema, or those that the mapping has for it.
func (c *compiler) discriminate(s *schema, v *jsonValue) {
	d := v.member("discriminator")
	name := d.member("propertyName").string()
	if name == "" || !c.options.OpenAPI {
		return
	}
	for _, list := range [][]*schema{s.oneOf, s.anyOf} {
		for i, part := range list {
			ref := part.from.member("$ref").string()
			if ref == "" {
				continue
			}
			is, last := c.newSchema(d), ref[strings.LastIndexByte(ref, '/')+1:]
			if mapping := d.member("mapping"); mapping != nil && mapping.kind == '{' {
				for j, key := range mapping.keys {
					if to := mapping.items[j].string(); to == ref || to == last {
						is.enum = append(is.enum, &jsonValue{kind: '"', text: key, up: d})
					}
				}
			}
			if is.hasEnum = true; is.enum == nil {
				is.enum = []*jsonValue{{kind: '"', text: last, up: d}}
			}
			tag := c.newSchema(d)
			tag.types, tag.required, tag.beside = objectType, []string{name}, true
			tag.properties = []property{{name, is}}
			list[i] = c.allOf(part.from, part, tag)
		}
	}
}

// deeper counts one level of nested schemas, until what it returns is called.
func (c *compiler) deeper(v *jsonValue) (done func()) {
	if c.depth++; c.depth > maxDepth {
		c.fail(fmt.Errorf("%s: more than %d schemas lead to one another", v.at(), maxDepth))
	}
	return func() { c.depth-- }
}

// at returns the JSON pointer to a schema, for errors.
func (s *schema) at() string { return s.from.at() }

func (c *compiler) newSchema(from *jsonValue) *schema {
	s := &schema{from: from, maxLength: -1, maxProperties: -1, maxItems: -1}
	c.identify(s)
	return s
}

// identify gives a schema its id. The bytes of a text do not bound how many negations and ways
// there are, and each takes up to a KiB with what is in it: so the work bounds the memory.
func (c *compiler) identify(s *schema) {
	c.charge(256)
	s.id = len(c.all)
	c.all = append(c.all, s)
}

// keyword reads one keyword of a schema.
func (c *compiler) keyword(s *schema, in *jsonValue, key string, v *jsonValue) {
	switch key {
	case "type":
		c.typeOf(s, in, v)
	case "disallow":
		s.not = c.newSchema(in)
		c.typeOf(s.not, in, v)
	case "enum":
		c.want(v, '[', "an array")
		s.enum, s.hasEnum = v.items, true
	case "const":
		to := s
		if in.member("enum") != nil { // both must hold
			to = c.newSchema(in)
			s.also = append(s.also, to)
		}
		to.enum, to.hasEnum = []*jsonValue{v}, true
	case "$ref":
		if target := c.target(v); target != nil {
			s.ref = c.schemaOf(target)
		}
	case "$recursiveRef", "$dynamicRef":
		c.dynamic(s, in, key, v)
	case "extends":
		for _, item := range v.orEach() {
			s.allOf = append(s.allOf, c.schemaOf(item))
		}
	case "allOf":
		s.allOf = c.schemasOf(v)
	case "anyOf":
		s.anyOf = c.schemasOf(v)
	case "oneOf":
		s.oneOf = c.schemasOf(v)
	case "minimum":
		s.minimum = c.decimal(v)
	case "maximum":
		s.maximum = c.decimal(v)
	case "exclusiveMinimum":
		s.exclusiveMin = c.exclusiveOf(v, in.member("minimum"))
	case "exclusiveMaximum":
		s.exclusiveMax = c.exclusiveOf(v, in.member("maximum"))
	case "multipleOf", "divisibleBy":
		s.multiple = c.divisor(v)
	case "minLength":
		s.minLength = c.count(v)
	case "maxLength":
		s.maxLength = c.count(v)
	case "minItems":
		s.minItems = c.count(v)
	case "maxItems":
		s.maxItems = c.count(v)
	case "minProperties":
		s.minProperties = c.count(v)
	case "maxProperties":
		s.maxProperties = c.count(v)
	case "pattern":
		c.want(v, '"', "a string")
		s.pattern = &v.text
	case "format":
		c.formatOf(s, in, v)
	case "required":
		if draft := c.scopeOf(in).draft; draft != draft3 { // there the object's properties say it
			s.required = c.strings(v)
		}
	case "properties":
		s.properties = c.propertiesOf(v)
		for i, name := range v.keys {
			if c.scopeOf(in).draft == draft3 && v.items[i].member("required").yes() {
				s.required = append(s.required, name)
			}
		}
	case "patternProperties":
		s.patterns = c.propertiesOf(v)
	case "additionalProperties":
		s.additional = c.schemaOf(v)
	case "uniqueItems":
		s.unique = v.kind == 't'
	case "propertyNames":
		s.names = c.schemaOf(v)
	case "prefixItems":
		s.prefix = c.schemasOf(v)
	case "items", "additionalItems":
		c.items(s, in, key, v)
	case "not":
		s.not = c.schemaOf(v)
	case "if":
		if c.document.leftovers || in.member("then") != nil || in.member("else") != nil {
			s.when = c.schemaOf(v)
		}
	case "then": // which restricts nothing without if, nor does else
		if in.member("if") != nil {
			s.then = c.schemaOf(v)
		}
	case "else":
		if in.member("if") != nil {
			s.otherwise = c.schemaOf(v)
		}
	case "dependentRequired", "dependentSchemas", "dependencies":
		c.dependencies(s, in, key, v)
	case "unevaluatedProperties":
		s.rest = c.schemaOf(v)
	case "unevaluatedItems":
		s.restItems = c.schemaOf(v)
	case "contains":
		c.containsOf(s, in, v)
	}
}

func (c *compiler) schemasOf(v *jsonValue) (list []*schema) {
	if c.want(v, '[', "an array of schemas"); len(v.items) == 0 {
		c.fail(v.want("an array of schemas"))
	}
	for _, item := range v.items {
		list = append(list, c.schemaOf(item))
	}
	return list
}

func (c *compiler) propertiesOf(v *jsonValue) (list []property) {
	c.want(v, '{', "an object of schemas")
	for i, name := range v.keys {
		list = append(list, property{name, c.schemaOf(v.items[i])})
	}
	return list
}

// property returns the schema of a property, or nil if properties does not contain the name.
func (s *schema) property(name string) *schema {
	return find(name, len(s.properties), &s.index, func(i int) (string, *schema) {
		return s.properties[i].name, s.properties[i].value
	})
}

// Keywords that are more than one value: those with older spellings, and those beside others.

// exclusiveOf reads an exclusive bound: a number or, in draft 4, true beside the bound.
func (c *compiler) exclusiveOf(v, bound *jsonValue) *decimal {
	switch {
	case v.kind == 'f':
		return nil
	case v.kind == 't' && bound != nil:
		return c.decimal(bound)
	}
	return c.decimal(v)
}

// items reads items and additionalItems: until draft 2019-09, items could be an array of schemas,
// which is now prefixItems, and additionalItems was what is now items.
func (c *compiler) items(s *schema, in *jsonValue, key string, v *jsonValue) {
	tuple := in.member("items") != nil && in.member("items").kind == '['
	switch {
	case tuple && in.member("prefixItems") != nil:
		c.fail(fmt.Errorf("%s: items: want a schema beside prefixItems, found an array", in.at()))
	case tuple && key == "items" && len(v.items) > 0:
		s.prefix = c.schemasOf(v)
	case !tuple && key == "items" || tuple && key == "additionalItems":
		s.items = c.schemaOf(v)
	}
}

// dependencies reads what a property asks for: other properties, or a schema for the object. Each
// is two alternatives, one without the property.
func (c *compiler) dependencies(s *schema, in *jsonValue, key string, v *jsonValue) {
	c.want(v, '{', "an object")
	for i, name := range v.keys {
		item := v.items[i]
		without, with := c.newSchema(item), c.newSchema(item)
		without.beside = true
		without.properties = []property{{name, c.nothing()}}
		with.types, with.required, with.beside = objectType, []string{name}, true
		switch {
		case key != "dependentSchemas" && item.kind == '[':
			with.required = append(with.required, c.strings(item)...)
			s.dependents = append(s.dependents, with.required...)
		case key != "dependentSchemas" && key == "dependencies" && item.kind == '"': // draft 3
			with.required = append(with.required, item.text)
			s.dependents = append(s.dependents, with.required...)
		case key == "dependentRequired":
			c.fail(item.want("an array of strings"))
		default:
			with.allOf = []*schema{c.schemaOf(item)}
		}
		also := c.newSchema(item)
		also.anyOf = []*schema{without, with}
		s.also = append(s.also, also)
	}
}

// typeOf reads type. In draft 3 it may be any, and schemas may stand among the names.
func (c *compiler) typeOf(s *schema, in, v *jsonValue) {
	if c.scopeOf(in).draft != draft3 {
		if s.types = c.types(v); c.options.OpenAPI && in.member("nullable").yes() {
			s.types |= nullType
		}
		return
	}
	for _, item := range v.orEach() {
		one := c.newSchema(item)
		switch {
		case item.kind == '{':
			one = c.schemaOf(item)
		case item.string() != "any":
			one.types = c.types(item)
		}
		s.anyOf = append(s.anyOf, one)
	}
}

// dynamic reads a reference to the outermost schema that led here and has its anchor.
func (c *compiler) dynamic(s *schema, in *jsonValue, key string, v *jsonValue) {
	target := c.target(v)
	if target == nil {
		return
	}
	anchor := ""
	if key == "$dynamicRef" {
		_, anchor, _ = strings.Cut(v.text, "#")
	}
	if c.document.dynamic[c.scopeOf(target).base][anchor] == target {
		if outer := c.outermost(anchor); outer != nil {
			target = outer
		}
	}
	s.also = append(s.also, c.schemaOf(target))
}

// nothing returns a schema that accepts nothing, always the same one.
func (c *compiler) nothing() *schema {
	if c.none == nil {
		c.none = c.newSchema(c.document.root)
		c.none.never = true
	}
	return c.none
}

// restricts reports whether there is a schema, and it does not accept everything.
func (s *schema) restricts() bool { return s != nil && !s.trivial() }

// trivial reports whether a schema accepts everything.
func (s *schema) trivial() bool {
	return !s.never && !s.plain() && !s.hasEnum && s.ref == nil && s.allOf == nil &&
		s.anyOf == nil && s.oneOf == nil && s.also == nil && s.not == nil && s.when == nil &&
		s.rest == nil && s.restItems == nil && s.left == nil && s.muted == nil
}

// plain reports whether a schema itself restricts values.
func (s *schema) plain() bool {
	return s.types != 0 || s.hasTexts || s.besides != nil || s.minimum != nil || s.maximum != nil ||
		s.exclusiveMin != nil || s.exclusiveMax != nil || s.multiple != nil || s.minLength > 0 ||
		s.maxLength >= 0 || s.pattern != nil || s.unlike != "" || s.format != "" || s.isObject() || s.isArray()
}

func (s *schema) isObject() bool {
	return len(s.properties) > 0 || len(s.patterns) > 0 || s.additional != nil || s.names != nil ||
		len(s.required) > 0 || s.minProperties > 0 || s.maxProperties >= 0 || s.closes || s.opens ||
		s.somes != nil
}

func (s *schema) isArray() bool {
	return len(s.prefix) > 0 || s.items != nil || s.minItems > 0 || s.maxItems >= 0 || s.unique ||
		s.counts != nil || s.contains != nil
}
