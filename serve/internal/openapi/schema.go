// Package openapi makes documents of OpenAPI 3.1. It knows schemas, and nothing of the server.
//
//	Schema     a JSON Schema of what is read
//	Types      the schemas of Go types that are sent
//	Operation  a path with its method; a document is made of several
package openapi

import (
	"maps"
	"reflect"
	"strings"
)

// A Schema is a JSON Schema of draft 2020-12.
type Schema map[string]any

// Any is the schema of any value.
func Any() Schema { return Schema{} }

// Bool is the schema of true and false.
func Bool() Schema { return Schema{"type": "boolean"} }

// String is the schema of any string.
func String() Schema { return Schema{"type": "string"} }

// Text returns the schema of a string of least to most characters.
func Text(least, most int) Schema {
	s := Schema{"type": "string", "maxLength": most}
	if least > 0 {
		s["minLength"] = least
	}
	return s
}

// Words returns the schema of a string that is one of some.
func Words(words []string) Schema {
	return Schema{"type": "string", "enum": append([]string{}, words...)}
}

// Number returns the schema of a number from least to most.
func Number(least, most float64) Schema {
	return Schema{"type": "number", "minimum": least, "maximum": most}
}

// Whole returns the schema of a whole number from least to most.
func Whole[L, M int | int64 | uint64](least L, most M) Schema {
	return Schema{"type": "integer", "minimum": least, "maximum": most}
}

// List returns the schema of a list of any number of items.
func List(items Schema) Schema { return Schema{"type": "array", "items": items} }

// AtMost returns the schema of a list of at most so many items.
func AtMost(most int, items Schema) Schema {
	return Schema{"type": "array", "items": items, "maxItems": most}
}

// Object returns the schema of an object, which may have other members too.
func Object(members map[string]Schema, required []string) Schema {
	s := Schema{"type": "object", "properties": members}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// Either returns the schema of what one of some schemas accepts.
func Either(all ...Schema) Schema {
	if len(all) == 1 {
		return all[0]
	}
	return Schema{"anyOf": all}
}

// Nullable returns the schema of null and what another accepts.
func Nullable(s Schema) Schema {
	null := Schema{"type": "null"}
	kind, ofOne := s["type"].(string)
	all, either := s["anyOf"].([]Schema)
	if len(s) == 0 {
		return s
	} else if s["enum"] != nil || !ofOne && !either {
		return Either(s, null)
	}
	s = maps.Clone(s)
	if either {
		s["anyOf"] = append(all[:len(all):len(all)], null)
	} else {
		s["type"] = []string{kind, "null"}
	}
	return s
}

// Types makes schemas of the Go types whose JSON is sent. Structs with names have theirs in Named.
type Types struct {
	Named map[string]Schema

	// Like has, for types whose JSON does not show in Go, values of types that have the same JSON; of
	// several, one.
	Like map[reflect.Type][]any
}

// Of returns the schema of a type.
func (t *Types) Of(typ reflect.Type) Schema {
	if like, ok := t.Like[typ]; ok {
		var all []Schema
		for _, v := range like {
			all = append(all, t.Of(reflect.TypeOf(v)))
		}
		return Either(all...)
	}
	switch typ.Kind() {
	case reflect.Bool:
		return Bool()
	case reflect.String:
		return String()
	case reflect.Int, reflect.Int64:
		return Schema{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Pointer:
		return Nullable(t.Of(typ.Elem()))
	case reflect.Slice:
		item := typ.Elem()
		if item.Kind() == reflect.Pointer { // none of a list is nil
			item = item.Elem()
		}
		return List(t.Of(item))
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": t.Of(typ.Elem())}
	case reflect.Struct:
		return t.structOf(typ)
	}
	return Any()
}

// structOf returns the schema of a struct, or a reference to it.
func (t *Types) structOf(typ reflect.Type) Schema {
	name := typ.Name()
	if _, known := t.Named[name]; !known || name == "" {
		t.Named[name] = nil // it may have itself inside
		members, required := map[string]Schema{}, []string(nil)
		t.members(typ, false, func(name string, s Schema, always bool) {
			if members[name] = s; always {
				required = append(required, name)
			}
		})
		t.Named[name] = Object(members, required)
	}
	if name == "" {
		s := t.Named[name]
		delete(t.Named, name)
		return s
	}
	return Schema{"$ref": "#/components/schemas/" + name}
}

// members calls add for the members of a struct. maybe says that it may be absent as a whole.
func (t *Types) members(typ reflect.Type, maybe bool, add func(string, Schema, bool)) {
	for f := range typ.Fields() {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		optional, kind := strings.HasPrefix(rest, "omit"), f.Type
		if kind.Kind() == reflect.Pointer && (optional || f.Anonymous) { // nil is absent
			kind, optional = kind.Elem(), true
		}
		switch {
		case f.Anonymous && name == "":
			t.members(kind, maybe || optional, add)
		case f.IsExported() && name != "-":
			add(name, t.Of(kind), !maybe && !optional)
		}
	}
}
