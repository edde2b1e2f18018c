package constrain

// Typed forms: the fields of a struct as encoding/json writes them, and their tags jsonschema, as
// github.com/invopop/jsonschema has them.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"picogpt/constrain/internal/schema"
	"picogpt/internal/quote"
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
func (c *typeSchemas) fieldsOf(t reflect.Type, path string) (fields []typedField) {
	all := c.embedded(t, path, nil, false, nil)
	rank := func(f typedField) int { return 2*len(f.index) + map[bool]int{true: -1}[f.tagged] }
	for i, f := range all {
		wins := true
		for j, g := range all {
			wins = wins && (i == j || g.name != f.name || rank(g) > rank(f))
		}
		if wins {
			fields = append(fields, f)
		}
	}
	slices.SortStableFunc(fields, func(a, b typedField) int { return slices.Compare(a.index, b.index) })
	return fields
}

// embedded returns the fields of a struct and of those that it embeds, with all that have equal
// names. around are the structs that embed it.
func (c *typeSchemas) embedded(
	t reflect.Type, path string, index []int, through bool, around []reflect.Type,
) (all []typedField) {
	if slices.Contains(around, t) {
		return nil // encoding/json reads each struct once
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
			c.fail(field.path, "an embedded pointer to %s, which is not exported: want the struct "+
				"itself", of)
		}
		if inner && name == "" {
			all = append(all, c.embedded(of, field.path, field.index, through || pointer, around)...)
			continue
		}
		for _, option := range strings.Split(options, ",") {
			field.absent = field.absent || option == "omitempty" || option == "omitzero"
			field.quoted = field.quoted || option == "string"
		}
		all = append(all, field)
	}
	return all
}

// validName reports whether encoding/json takes a name of a tag.
func validName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	})
}

// ofStruct returns the schema of a struct.
func (c *typeSchemas) ofStruct(t reflect.Type, path string) *members {
	s, properties := schemaOfKind("object"), &members{}
	required, groups := []string{}, map[string]*members{"oneOf": {}, "anyOf": {}}
	for _, f := range c.fieldsOf(t, path) {
		tags := c.readTags(&f)
		properties.set(f.name, c.ofField(&f, tags))
		if tags.required || !f.absent && !f.through {
			required = append(required, f.name)
		}
		for keyword, list := range tags.groups {
			for _, group := range list {
				names, _ := groups[keyword].values[group].([]string)
				groups[keyword].set(group, append(names, f.name))
			}
		}
	}
	s.set("properties", properties)
	if len(required) > 0 {
		s.set("required", required)
	}
	s.set("additionalProperties", false)
	for _, keyword := range []string{"oneOf", "anyOf"} {
		var ways []*members
		for _, group := range groups[keyword].keys {
			ways = append(ways, schemaWith("required", groups[keyword].values[group]))
		}
		if ways != nil {
			s.set(keyword, ways)
		}
	}
	return s
}

// ofField returns the schema of a field, with its tags.
func (c *typeSchemas) ofField(f *typedField, tags *typedTags) (s *members) {
	t, null := f.Type, tags.nullable
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t, null = t.Elem(), null || !f.absent || tags.required
	}
	switch {
	case tags.types != nil:
		s = c.either(tags, t, f.path)
	case f.quoted && (t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64 || t.Kind() == reflect.String):
		s = c.quoted(t, f.path)
	default:
		s = c.of(t, f.path)
	}
	for _, tag := range tags.rest { // beside a $ref, which stays as it is
		c.applyTag(s, tag, f.path, t)
	}
	if null {
		s = nullable(s)
	}
	return s
}

// typedTags are the tags of a field.
type typedTags struct {
	required, nullable bool
	groups             map[string][]string // by oneOf and anyOf: of oneof_required and anyof_required
	types              []string            // of oneof_type or anyof_type
	keyword            string              // oneOf or anyOf
	rest               []typedTag          // keywords of the field's schema
}

// A typedTag is a part of the tag jsonschema.
type typedTag struct {
	key, value string
	has        bool // it has a value
}

// readTags reads the tags of a field.
func (c *typeSchemas) readTags(f *typedField) *typedTags {
	t := &typedTags{groups: map[string][]string{}}
	if about := f.Tag.Get("jsonschema_description"); about != "" {
		t.rest = []typedTag{{"description", about, true}}
	}
	for _, part := range splitTag(f.Tag.Get("jsonschema")) {
		tag := typedTag{}
		tag.key, tag.value, tag.has = strings.Cut(part, "=")
		switch tag.key {
		case "":
		case "required":
			t.required = true
		case "nullable":
			t.nullable = true
		case "oneof_required", "anyof_required":
			keyword := tag.key[:3] + "Of"
			t.groups[keyword] = append(t.groups[keyword], tag.value)
		case "oneof_type", "anyof_type":
			t.keyword, t.types = tag.key[:3]+"Of", strings.Split(tag.value, ";")
		case "readOnly", "writeOnly", "deprecated", "anchor":
		case "oneof_ref", "anyof_ref", "type":
			c.failTag(f.path, tag.key, "want the Go type to say it")
		default:
			t.rest = append(t.rest, tag)
		}
	}
	return t
}

// splitTag splits a tag at its commas. After a backslash a comma is a part of a value.
func splitTag(tag string) (parts []string) {
	part := ""
	for i := 0; i < len(tag); i++ {
		switch {
		case tag[i] == '\\' && i+1 < len(tag) && tag[i+1] == ',':
			part += ","
			i++
		case tag[i] == ',':
			parts, part = append(parts, strings.TrimSpace(part)), ""
		default:
			part += tag[i : i+1]
		}
	}
	return append(parts, strings.TrimSpace(part))
}

func (c *typeSchemas) failTag(path, key, format string, args ...any) {
	c.fail(path, "jsonschema %s: "+format, append([]any{key}, args...)...)
}

// either returns the schema of oneof_type and anyof_type, on a field of any value.
func (c *typeSchemas) either(t *typedTags, of reflect.Type, path string) *members {
	key := strings.ToLower(t.keyword) + "_type"
	if of != reflect.TypeFor[any]() && of != reflect.TypeFor[json.RawMessage]() {
		c.failTag(path, key, "want a field of type any or json.RawMessage, found %s", of)
	}
	var list []*members
	for _, name := range t.types {
		if !schema.IsType(name) {
			c.failTag(path, key, "want types of JSON with ; between them, found %s",
				quote.Short(name, 40))
		}
		list = append(list, schemaOfKind(name))
	}
	return schemaWith(t.keyword, list)
}

// tagKinds are the types of JSON that a keyword restricts, and what its value is.
var tagKinds = map[string]struct {
	types []string
	value byte // n: a count, 0: a number, b: true or false, s: a string
}{
	"minLength": {[]string{"string"}, 'n'}, "maxLength": {[]string{"string"}, 'n'},
	"pattern": {[]string{"string"}, 's'}, "format": {[]string{"string", "integer", "number"}, 's'},
	"minimum": {numbers, '0'}, "maximum": {numbers, '0'}, "exclusiveMinimum": {numbers, '0'},
	"exclusiveMaximum": {numbers, '0'}, "multipleOf": {numbers, '0'},
	"minItems": {[]string{"array"}, 'n'}, "maxItems": {[]string{"array"}, 'n'},
	"uniqueItems": {[]string{"array"}, 'b'}, "minProperties": {[]string{"object"}, 'n'},
	"maxProperties": {[]string{"object"}, 'n'},
}

var numbers = []string{"integer", "number"}

// applyTag adds one keyword to a schema, or to that of the items.
func (c *typeSchemas) applyTag(s *members, tag typedTag, path string, of reflect.Type) {
	if tag.key == "title" || tag.key == "description" {
		s.set(tag.key, tag.value)
		return
	}
	kind, _ := s.values["type"].(string)
	known, ok := tagKinds[tag.key]
	value := tag.key == "enum" || tag.key == "default" || tag.key == "example"
	if items, is := s.values["items"].(*members); is && (!ok && tag.key == "enum" || ok &&
		!slices.Contains(known.types, kind)) {
		c.applyTag(items, tag, path+"[]", of.Elem())
		return
	}
	found := quote.Short(tag.value, 40)
	switch {
	case value:
		c.applyValue(s, tag, kind, path, of)
	case !ok:
		c.failTag(path, tag.key, "the keyword is not known")
	case !slices.Contains(known.types, kind):
		c.failTag(path, tag.key, "want a field of type %s of JSON, found Go's %s",
			strings.Join(known.types, " or "), of)
	case known.value == 's':
		if _, had := s.values[tag.key]; had {
			c.failTag(path, tag.key, "the type says it already")
		}
		s.set(tag.key, tag.value)
	case known.value == 'b':
		if tag.has && tag.value != "true" && tag.value != "false" {
			c.failTag(path, tag.key, "want true or false, found %s", found)
		}
		s.set(tag.key, tag.value != "false")
	case known.value == 'n':
		n, err := strconv.ParseUint(tag.value, 10, 31)
		if err != nil {
			c.failTag(path, tag.key, "want a whole number from 0, found %s", found)
		}
		if had, is := s.values[tag.key].(int); is && had != int(n) {
			c.failTag(path, tag.key, "want the array's length %d, found %d", had, n)
		}
		s.set(tag.key, n)
		c.between(s, tag, path)
	default:
		c.applyNumber(s, tag, path)
		c.between(s, tag, path)
	}
}

// between fails where the bounds of a schema leave nothing.
func (c *typeSchemas) between(s *members, tag typedTag, path string) {
	for _, of := range [][2]string{
		{"minLength", "maxLength"}, {"minItems", "maxItems"}, {"minProperties", "maxProperties"},
		{"minimum", "maximum"}, {"exclusiveMinimum", "maximum"}, {"minimum", "exclusiveMaximum"},
		{"exclusiveMinimum", "exclusiveMaximum"},
	} {
		least, ok := jsonNumber(fmt.Sprint(s.values[of[0]]))
		most, ok2 := jsonNumber(fmt.Sprint(s.values[of[1]]))
		if !ok || !ok2 {
			continue
		}
		n := least.Cmp(most)
		if n > 0 || n == 0 && (of[0] == "exclusiveMinimum" || of[1] == "exclusiveMaximum") {
			c.failTag(path, tag.key, "want something between %s %v and %s %v, found nothing",
				of[0], s.values[of[0]], of[1], s.values[of[1]])
		}
	}
}

// applyNumber adds a keyword whose value is a number. Bounds of the type that are narrower stay.
func (c *typeSchemas) applyNumber(s *members, tag typedTag, path string) {
	got, ok := jsonNumber(tag.value)
	if !ok {
		c.failTag(path, tag.key, "want a number, found %s", quote.Short(tag.value, 40))
		return
	}
	if had, is := s.values[tag.key]; is {
		of, _ := jsonNumber(fmt.Sprint(had))
		if n := got.Cmp(of); tag.key == "minimum" && n < 0 || tag.key == "maximum" && n > 0 {
			return
		}
	}
	s.set(tag.key, json.Number(tag.value))
}

// jsonNumber reads a number as JSON has it.
func jsonNumber(text string) (*big.Rat, bool) {
	var n json.Number
	if len(text) > 40 || json.Unmarshal([]byte(text), &n) != nil || strings.HasPrefix(text, `"`) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// applyValue adds a value to enum, default or examples.
func (c *typeSchemas) applyValue(s *members, tag typedTag, kind, path string, of reflect.Type) {
	var value any = tag.value
	ok := true
	switch kind {
	case "string", "array", "object": // of the last two only as an annotation
	case "integer", "number":
		n, is := jsonNumber(tag.value)
		ok = is && (tag.key != "enum" || within(n, kind, s))
		value = json.Number(tag.value)
	case "boolean":
		ok = tag.value == "true" || tag.value == "false"
		value = tag.value == "true"
	default:
		ok = tag.key != "enum"
	}
	switch {
	case !ok && kind == "":
		c.failTag(path, tag.key, "want a field of type string, integer, number or boolean of JSON, found "+
			"Go's %s", of)
	case !ok, tag.key == "enum" && (kind == "array" || kind == "object"):
		c.failTag(path, tag.key, "want a value of the type %s of JSON, found %s",
			kind, quote.Short(tag.value, 40))
	case tag.key == "default":
		s.set("default", value)
	case tag.key == "example":
		list, _ := s.values["examples"].([]any)
		s.set("examples", append(list, value))
	default:
		list, _ := s.values["enum"].([]any)
		s.set("enum", append(list, value))
	}
}

// within reports whether a number is of a schema's type and between its bounds.
func within(n *big.Rat, kind string, s *members) bool {
	least, ok := jsonNumber(fmt.Sprint(s.values["minimum"]))
	most, ok2 := jsonNumber(fmt.Sprint(s.values["maximum"]))
	return (kind != "integer" || n.IsInt()) && (!ok || n.Cmp(least) >= 0) && (!ok2 || n.Cmp(most) <= 0)
}
