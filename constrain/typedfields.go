package constrain

// Typed forms: the fields of structs, as encoding/json has them.

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// A typedField is a field that encoding/json writes.
type typedField struct {
	reflect.StructField
	name    string // in JSON
	path    string // in Go
	index   []int
	tagged  bool // the name is that of a tag
	absent  bool // it may be absent
	quoted  bool // the value stands in a string
	through bool // an embedded pointer leads to it: it is absent where that is nil
}

// fieldsOf returns the fields of a struct in their order, also those of embedded structs. Of fields
// with one name, the one that is embedded least deeply counts; among those the one with a tag; if
// there are several, none.
func fieldsOf(t reflect.Type, path string) ([]typedField, error) {
	all, err := embedded(t, path, nil, false, nil)
	if err != nil {
		return nil, err
	}
	better := func(a, b *typedField) int {
		n := cmp.Compare(len(a.index), len(b.index))
		if n == 0 && a.tagged != b.tagged {
			n = 1
			if a.tagged {
				n = -1
			}
		}
		return n
	}
	var fields []typedField
	for i := range all {
		wins := true
		for j := range all {
			if i != j && all[i].name == all[j].name && better(&all[i], &all[j]) >= 0 {
				wins = false
			}
		}
		if wins {
			fields = append(fields, all[i])
		}
	}
	slices.SortStableFunc(fields, func(a, b typedField) int { return slices.Compare(a.index, b.index) })
	return fields, nil
}

// embedded returns the fields of a struct and of those that it embeds, with all that have equal
// names. around are the structs that embed it.
func embedded(
	t reflect.Type, path string, index []int, through bool, around []reflect.Type,
) (all []typedField, err error) {
	if slices.Contains(around, t) {
		return nil, nil // encoding/json reads each struct once
	}
	around = append(around[:len(around):len(around)], t)
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		of, pointer := f.Type, f.Type.Kind() == reflect.Pointer && f.Type.Name() == ""
		if pointer {
			of = of.Elem()
		}
		inner := f.Anonymous && of.Kind() == reflect.Struct
		if tag == "-" || f.Tag.Get("jsonschema") == "-" || !f.IsExported() && !inner {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !validName(name) {
			name = ""
		}
		field := typedField{StructField: f, name: cmp.Or(name, f.Name), path: path + "." + f.Name,
			index: append(index[:len(index):len(index)], i), tagged: name != "", through: through}
		if pointer && !f.IsExported() {
			return nil, fmt.Errorf("%s: an embedded pointer to %s, which is not exported: want the struct "+
				"itself", field.path, of)
		}
		if inner && name == "" {
			more, err := embedded(of, field.path, field.index, through || pointer, around)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
			continue
		}
		for _, option := range strings.Split(options, ",") {
			field.absent = field.absent || option == "omitempty" || option == "omitzero"
			field.quoted = field.quoted || option == "string"
		}
		all = append(all, field)
	}
	return all, nil
}

// validName reports whether encoding/json takes a name of a tag.
func validName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	})
}

// ofStruct returns the schema of a struct.
func (c *typeSchemas) ofStruct(t reflect.Type, path string) (*members, error) {
	fields, err := fieldsOf(t, path)
	if err != nil {
		return nil, err
	}
	s, properties := schemaOfKind("object"), &members{}
	required, groups := []string{}, map[string]*requiredGroups{}
	for i := range fields {
		f := &fields[i]
		tags, err := readTags(f)
		if err != nil {
			return nil, err
		}
		property, err := c.ofField(f, tags)
		if err != nil {
			return nil, err
		}
		properties.set(f.name, property)
		if tags.required || !f.absent && !f.through {
			required = append(required, f.name)
		}
		for keyword, group := range tags.groups {
			if groups[keyword] == nil {
				groups[keyword] = &requiredGroups{}
			}
			groups[keyword].add(group, f.name)
		}
	}
	s.set("properties", properties)
	if len(required) > 0 {
		s.set("required", required)
	}
	s.set("additionalProperties", false)
	for _, keyword := range []string{"oneOf", "anyOf"} {
		if g := groups[keyword]; g != nil {
			s.set(keyword, g.list)
		}
	}
	return s, nil
}

// requiredGroups are alternatives of required properties: the tags oneof_required, anyof_required.
type requiredGroups struct {
	names []string
	list  []*members
}

func (g *requiredGroups) add(groups []string, property string) {
	for _, name := range groups {
		i := slices.Index(g.names, name)
		if i < 0 {
			i = len(g.list)
			m := &members{}
			m.set("required", []string{})
			g.names, g.list = append(g.names, name), append(g.list, m)
		}
		names := g.list[i].values["required"].([]string)
		g.list[i].set("required", append(names, property))
	}
}

// ofField returns the schema of a field, with its tags.
func (c *typeSchemas) ofField(f *typedField, tags *typedTags) (*members, error) {
	t, null := f.Type, tags.nullable
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t, null = t.Elem(), null || !f.absent || tags.required
	}
	s, err := (*members)(nil), error(nil)
	switch {
	case tags.types != nil:
		s, err = tags.either(t, f.path)
	case f.quoted && t.Kind() != reflect.Pointer && scalar(t):
		s, err = quoted(t, f.path)
	default:
		s, err = c.of(t, f.path)
	}
	if err == nil {
		s, err = tags.apply(s, f.path, t)
	}
	if err == nil && null {
		s = nullable(s)
	}
	return s, err
}

// scalar reports whether the option string of the tag json has an effect on a type.
func scalar(t reflect.Type) bool {
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64 || t.Kind() == reflect.String
}
