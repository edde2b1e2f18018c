package schema

// Keywords that are more than one value: those with older spellings, and those beside others.

import (
	"fmt"
	"strings"
)

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
func (c *compiler) items(s *schema, in *jsonValue, key string, v *jsonValue) (err error) {
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
func (c *compiler) branch(s *schema, in *jsonValue, key string, v *jsonValue) (err error) {
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
func (c *compiler) dependencies(s *schema, in *jsonValue, key string, v *jsonValue) error {
	if v.kind != '{' {
		return v.want("an object")
	}
	for i, name := range v.keys {
		item := v.items[i]
		without, with := c.newSchema(item), c.newSchema(item)
		without.beside = true
		without.properties = []property{{name, c.never(item)}}
		with.types, with.required, with.beside = objectType, []string{name}, true
		switch {
		case key != "dependentSchemas" && item.kind == '[':
			names, err := item.strings()
			if err != nil {
				return err
			}
			with.required = append(with.required, names...)
			s.dependents = append(s.dependents, with.required...)
		case key != "dependentSchemas" && key == "dependencies" && item.kind == '"': // draft 3
			with.required = append(with.required, item.text)
			s.dependents = append(s.dependents, with.required...)
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

// typeOf reads type. In draft 3 it may be any, and schemas may stand among the names.
func (c *compiler) typeOf(s *schema, in, v *jsonValue) (err error) {
	if c.scopeOf(in).draft != draft3 {
		s.types, err = readTypes(v)
		return err
	}
	items := []*jsonValue{v}
	if v.kind == '[' {
		items = v.items
	}
	for _, item := range items {
		one := c.newSchema(item)
		switch {
		case item.kind == '{':
			one, err = c.schemaOf(item)
		case item.string() != "any":
			one.types, err = readTypes(item)
		}
		if err != nil {
			return err
		}
		s.anyOf = append(s.anyOf, one)
	}
	return nil
}

// requiredOf returns the names of properties that say in draft 3 that they are required.
func requiredOf(draft drafts, properties *jsonValue) (names []string) {
	if draft != draft3 {
		return nil
	}
	for i, name := range properties.keys {
		if r := properties.items[i].member("required"); r != nil && r.kind == 't' {
			names = append(names, name)
		}
	}
	return names
}

// dynamic reads a reference whose target depends on the schemas that led to it. Where the text has
// one schema that it could lead to, it is a $ref.
func (c *compiler) dynamic(s *schema, in *jsonValue, key string, v *jsonValue) error {
	one := c.document.recursive < 2
	if key == "$dynamicRef" {
		_, anchor, _ := strings.Cut(v.string(), "#")
		one = c.document.dynamic[anchor] < 2
	}
	if !one {
		return fmt.Errorf("%s: keyword %s is not supported where several schemas have its anchor", in.at(),
			key)
	}
	part, err := c.resolve(v)
	s.also = append(s.also, part)
	return err
}

// both adds const to a schema that also has enum, as another schema that must hold.
func (c *compiler) both(s *schema, in *jsonValue) {
	also := c.newSchema(in)
	also.enum, also.hasEnum = []*jsonValue{in.member("const")}, true
	s.also = append(s.also, also)
}
