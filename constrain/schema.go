package constrain

// Schema: the keywords of one JSON Schema, parsed and checked.

import (
	"fmt"
	"math/big"

	"picogpt/internal/quote"
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
	fraction                   bool     // not whole
	texts                      []string // of numbers and strings: only these
	hasTexts                   bool

	minLength, maxLength int // maxLength -1: none
	pattern              *string
	unlike               string // a pattern that must not match; "" for none
	format               string

	properties    []property
	index         map[string]*schema // of properties, if there are many
	patterns      []property         // each name is a pattern
	additional    *schema            // nil: others are allowed
	names         *schema            // propertyNames
	required      []string
	free          bool // names come in any order
	beside        bool // properties of other schemas give the order, and say which names there are
	minProperties int
	maxProperties int

	prefix             []*schema
	items              *schema
	minItems, maxItems int
	unique             bool
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

// annotations are keywords that restrict nothing.
var annotations = map[string]bool{"title": true, "description": true, "default": true,
	"examples": true, "deprecated": true, "readOnly": true, "writeOnly": true, "$comment": true,
	"$schema": true, "$anchor": true, "$defs": true, "definitions": true,
	"contentEncoding": true, "contentMediaType": true, "contentSchema": true}

// refused are keywords that restrict and that this package does not support.
var refused = map[string]bool{
	"contains": true, "minContains": true, "maxContains": true,
	"unevaluatedItems": true, "unevaluatedProperties": true,
	"$dynamicRef": true, "$dynamicAnchor": true, "$recursiveRef": true, "$recursiveAnchor": true,
	"divisibleBy": true, "disallow": true, "extends": true,
	"$vocabulary": true}

// schemaOf returns the schema of a JSON value. It parses each value once.
func (c *schemaCompiler) schemaOf(v *jsonValue) (*schema, error) {
	if s := c.schemas[v]; s != nil {
		return s, nil
	}
	if err := c.deeper(v); err != nil {
		return nil, err
	}
	defer func() { c.depth-- }()
	if err := c.meter.charge(16 + len(v.keys)); err != nil {
		return nil, err
	}
	s := c.newSchema(v)
	c.schemas[v] = s
	if v.kind == 't' || v.kind == 'f' {
		s.never = v.kind == 'f'
		return s, nil
	}
	if v.kind != '{' {
		return nil, fmt.Errorf("%s: want a schema: an object, true or false; found %s",
			v.at(), v.is())
	}
	for i, key := range v.keys {
		if err := c.keyword(s, v, key, v.items[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// deeper counts one level of nested schemas.
func (c *schemaCompiler) deeper(v *jsonValue) error {
	if c.depth++; c.depth > maxDepth {
		return fmt.Errorf("%s: more than %d schemas lead to one another", v.at(), maxDepth)
	}
	return nil
}

// at returns the JSON pointer to a schema, for errors.
func (s *schema) at() string { return s.from.at() }

func (c *schemaCompiler) newSchema(from *jsonValue) *schema {
	s := &schema{id: len(c.all), from: from, maxLength: -1, maxProperties: -1, maxItems: -1}
	c.all = append(c.all, s)
	return s
}

// keyword reads one keyword of a schema.
func (c *schemaCompiler) keyword(s *schema, in *jsonValue, key string, v *jsonValue) (err error) {
	switch key {
	case "type":
		s.types, err = readTypes(v)
	case "enum":
		if v.kind != '[' {
			return v.want("an array")
		}
		s.enum, s.hasEnum = append(s.enum, v.items...), true
		if in.member("const") != nil { // both must hold
			err = c.both(s, in)
		}
	case "const":
		if in.member("enum") == nil {
			s.enum, s.hasEnum = []*jsonValue{v}, true
		}
	case "$ref":
		s.ref, err = c.resolve(v)
	case "allOf":
		s.allOf, err = c.schemasOf(v)
	case "anyOf":
		s.anyOf, err = c.schemasOf(v)
	case "oneOf":
		s.oneOf, err = c.schemasOf(v)
	case "minimum":
		s.minimum, err = v.decimal()
	case "maximum":
		s.maximum, err = v.decimal()
	case "exclusiveMinimum":
		s.exclusiveMin, err = exclusiveOf(v, in.member("minimum"))
	case "exclusiveMaximum":
		s.exclusiveMax, err = exclusiveOf(v, in.member("maximum"))
	case "multipleOf":
		s.multiple, err = v.divisor()
	case "minLength":
		s.minLength, err = v.count()
	case "maxLength":
		s.maxLength, err = v.count()
	case "minItems":
		s.minItems, err = v.count()
	case "maxItems":
		s.maxItems, err = v.count()
	case "minProperties":
		s.minProperties, err = v.count()
	case "maxProperties":
		s.maxProperties, err = v.count()
	case "pattern":
		if v.kind != '"' {
			return v.want("a string")
		}
		s.pattern = &v.text
	case "format":
		err = c.formatOf(s, in, v)
	case "required":
		s.required, err = v.strings()
	case "properties":
		s.properties, err = c.propertiesOf(v)
		s.lookUp()
	case "patternProperties":
		s.patterns, err = c.propertiesOf(v)
	case "additionalProperties":
		s.additional, err = c.schemaOf(v)
	case "uniqueItems":
		s.unique = v.kind == 't'
	case "propertyNames":
		s.names, err = c.schemaOf(v)
	case "prefixItems":
		s.prefix, err = c.schemasOf(v)
	case "items", "additionalItems":
		err = c.items(s, in, key, v)
	case "not":
		s.not, err = c.schemaOf(v)
	case "if":
		if in.member("then") != nil || in.member("else") != nil {
			s.when, err = c.schemaOf(v)
		}
	case "then", "else":
		err = c.branch(s, in, key, v)
	case "dependentRequired", "dependentSchemas", "dependencies":
		err = c.dependencies(s, in, key, v)
	default:
		if annotations[key] || !refused[key] {
			return nil
		}
		err = fmt.Errorf("%s: keyword %s is not supported", in.at(), key)
	}
	return err
}

// exclusiveOf reads an exclusive bound: a number or, in draft 4, true beside the bound.
func exclusiveOf(v, bound *jsonValue) (*decimal, error) {
	switch {
	case v.kind == 'f':
		return nil, nil
	case v.kind == 't' && bound != nil:
		return bound.decimal()
	}
	return v.decimal()
}

// items reads items and additionalItems: until draft 2019-09, items could be an array of schemas,
// which is now prefixItems, and additionalItems was what is now items.
func (c *schemaCompiler) items(s *schema, in *jsonValue, key string, v *jsonValue) (err error) {
	tuple := in.member("items") != nil && in.member("items").kind == '['
	switch {
	case tuple && in.member("prefixItems") != nil:
		err = fmt.Errorf("%s: items: want a schema beside prefixItems, found an array", in.at())
	case tuple && key == "items" && len(v.items) > 0:
		s.prefix, err = c.schemasOf(v)
	case !tuple && key == "items" || tuple && key == "additionalItems":
		s.items, err = c.schemaOf(v)
	}
	return err
}

// branch reads then or else, which restrict nothing without if.
func (c *schemaCompiler) branch(s *schema, in *jsonValue, key string, v *jsonValue) (err error) {
	switch {
	case in.member("if") == nil:
	case key == "then":
		s.then, err = c.schemaOf(v)
	default:
		s.otherwise, err = c.schemaOf(v)
	}
	return err
}

// dependencies reads what a property asks for: other properties, or a schema for the object. Each
// is two alternatives, one without the property.
func (c *schemaCompiler) dependencies(s *schema, in *jsonValue, key string, v *jsonValue) error {
	if v.kind != '{' {
		return v.want("an object")
	}
	for i, name := range v.keys {
		item := v.items[i]
		without, with := c.newSchema(item), c.newSchema(item)
		without.beside = true
		without.properties = []property{{name, c.never(item)}}
		with.types, with.required = objectType, []string{name}
		switch {
		case key != "dependentSchemas" && item.kind == '[':
			names, err := item.strings()
			if err != nil {
				return err
			}
			with.required = append(with.required, names...)
		case key != "dependentSchemas" && key == "dependencies" && item.kind == '"': // draft 3
			with.required = append(with.required, item.text)
		case key == "dependentRequired":
			return item.want("an array of strings")
		default:
			part, err := c.schemaOf(item)
			if err != nil {
				return err
			}
			with.allOf = []*schema{part}
		}
		also := c.newSchema(item)
		also.anyOf = []*schema{without, with}
		s.also = append(s.also, also)
	}
	return nil
}

// both adds const to a schema that also has enum, as another schema that must hold.
func (c *schemaCompiler) both(s *schema, in *jsonValue) error {
	also := c.newSchema(in)
	also.enum, also.hasEnum = []*jsonValue{in.member("const")}, true
	s.also = append(s.also, also)
	return nil
}

func (v *jsonValue) want(what string) error {
	return fmt.Errorf("%s: want %s, found %s", v.at(), what, v.is())
}

func readTypes(v *jsonValue) (t types, err error) {
	items := []*jsonValue{v}
	if v.kind == '[' {
		items = v.items
	}
	for _, item := range items {
		bit := typeNames[item.text]
		if item.kind != '"' || bit == 0 {
			return 0, fmt.Errorf("%s: want null, boolean, number, integer, string, array or "+
				"object; found %s", v.at(), quote.Short(item.text, 40))
		}
		t |= bit
	}
	if t == 0 {
		return 0, v.want("a type or several")
	}
	return t, nil
}

// count reads a whole number from 0, such as 3 or 3.0. Numbers above 2^30 are all treated alike.
func (v *jsonValue) count() (int, error) {
	d, err := v.decimal()
	if err != nil || d.neg && !d.zero() || !d.whole() {
		return 0, v.want("a whole number from 0")
	}
	const most = 1 << 30
	if d.point > 10 {
		return most, nil
	}
	n := 0
	for _, digit := range d.integer() {
		n = n*10 + int(digit-'0')
	}
	return min(n, most), nil
}

func (v *jsonValue) strings() (list []string, err error) {
	if v.kind != '[' {
		return nil, v.want("an array of strings")
	}
	seen := map[string]bool{}
	for _, item := range v.items {
		if item.kind != '"' {
			return nil, item.want("a string")
		}
		if !seen[item.text] {
			seen[item.text] = true
			list = append(list, item.text)
		}
	}
	return list, nil
}

func (v *jsonValue) decimal() (*decimal, error) {
	if v.kind != '0' {
		return nil, v.want("a number")
	}
	d, err := parseDecimal(v.text)
	if err != nil {
		return nil, fmt.Errorf("%s: %v", v.at(), err)
	}
	return d, nil
}

// divisor reads a number above 0 for multipleOf.
func (v *jsonValue) divisor() (*big.Rat, error) {
	d, err := v.decimal()
	if err != nil {
		return nil, err
	}
	if d.neg || d.zero() || d.point > 400 || d.point < -400 || len(d.digits) > 400 {
		return nil, v.want("a number above 0")
	}
	return d.rat(), nil
}

func (c *schemaCompiler) schemasOf(v *jsonValue) (list []*schema, err error) {
	if v.kind != '[' || len(v.items) == 0 {
		return nil, v.want("an array of schemas")
	}
	for _, item := range v.items {
		s, err := c.schemaOf(item)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (c *schemaCompiler) propertiesOf(v *jsonValue) (list []property, err error) {
	if v.kind != '{' {
		return nil, v.want("an object of schemas")
	}
	for i, name := range v.keys {
		s, err := c.schemaOf(v.items[i])
		if err != nil {
			return nil, err
		}
		list = append(list, property{name, s})
	}
	return list, nil
}

// lookUp builds the index of many properties.
func (s *schema) lookUp() {
	if len(s.properties) <= 8 {
		return
	}
	s.index = make(map[string]*schema, len(s.properties))
	for _, p := range s.properties {
		s.index[p.name] = p.value
	}
}

// property returns the schema of a property, or nil if properties does not contain the name.
func (s *schema) property(name string) *schema {
	if s.index != nil {
		return s.index[name]
	}
	for _, p := range s.properties {
		if p.name == name {
			return p.value
		}
	}
	return nil
}
