package constrain

// Typed forms: the JSON of a Go type, as a schema. The tags are those of invopop/jsonschema. Its
// schemas let through what encoding/json cannot decode, so it is not used here.

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"picogpt/internal/strictjson"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// For returns the constraint that a text is JSON of a Go type: encoding/json decodes every text of
// it into a T, also with DisallowUnknownFields, and the value is as the tags say. [SchemaFor] has
// the schema, and says which types there are. The form is closed, whatever o says: a schema of a
// method JSONSchema that wants other names in an object has additionalProperties.
func For[T any](v *Vocabulary, o SchemaOptions) (*Constraint, error) {
	return ForType(context.Background(), Compiler{Vocabulary: v}, reflect.TypeFor[T](), o)
}

// ForType is For for a type that is known when the program runs, with a Compiler and a context.
func ForType(
	ctx context.Context, c Compiler, t reflect.Type, o SchemaOptions,
) (*Constraint, error) {
	text, err := schemaOfType(t)
	if err != nil {
		return nil, err
	}
	o.Closed = true
	form, err := c.JSONSchema(ctx, text, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", nameOf(t), err)
	}
	return form, nil
}

// SchemaFor returns the JSON Schema of a Go type, in draft 2020-12. Properties have the names, and
// come in the order, in which encoding/json writes the fields of a struct; there are no others.
//
//   - The tag json gives the name, and with "-" leaves a field out. With omitempty or omitzero a
//     property may be absent; others must be there. Option string is for whole numbers and booleans.
//   - The tag jsonschema is that of github.com/invopop/jsonschema: required, nullable, minimum,
//     maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern, format,
//     enum, minItems, maxItems, uniqueItems, oneof_required, anyof_required, oneof_type, anyof_type;
//     title, description, default, example, readOnly, writeOnly, deprecated and the tag
//     jsonschema_description restrict nothing. On a slice, what is not of arrays is of its items. A
//     comma in a value is \\,.
//   - Pointers may be null, unless the property may be absent. Slices and maps are never null: the
//     JSON of a nil one is not of the form.
//   - Integers have their type's bounds, and float32 too; arrays their length. []byte is base64,
//     time.Time RFC 3339, any and json.RawMessage any value. Types can lead back to themselves.
//     Numbers with a bound, and so all float32, have no exponent above 0, with which encoding/json
//     writes those from 1e21 on.
//   - A type with methods of its own for JSON or text has a method JSONSchema, without parameters,
//     whose result is the schema: JSON in a []byte or json.RawMessage, or a value that encoding/json
//     writes as one.
//
// Bound every string, slice and map, by maxLength and maxItems: a model may write on in one, until
// the bound on its tokens makes the text end.
//
// Of other types, and of tags that do not fit theirs, an error names the field.
func SchemaFor[T any]() ([]byte, error) { return schemaOfType(reflect.TypeFor[T]()) }

func schemaOfType(t reflect.Type) ([]byte, error) {
	seen := map[reflect.Type]bool{}
	for t.Kind() == reflect.Pointer && !seen[t] { // a text that is null says nothing
		seen[t], t = true, t.Elem()
	}
	c := &typeSchemas{open: map[reflect.Type]bool{}, names: map[reflect.Type]string{}}
	root := c.of(t, nameOf(t))
	if c.err != nil {
		return nil, c.err
	}
	if c.defs != nil {
		root.set("$defs", c.defs)
	}
	return marshal(root)
}

func nameOf(t reflect.Type) string {
	if t.Name() != "" && t.PkgPath() != "" {
		return t.Name()
	}
	return t.String()
}

// A members is a JSON object whose members stay in their order.
type members struct {
	keys   []string
	values map[string]any
}

// set sets a member.
func (m *members) set(key string, value any) {
	if m.values == nil {
		m.values = map[string]any{}
	}
	if _, ok := m.values[key]; !ok {
		m.keys = append(m.keys, key)
	}
	m.values[key] = value
}

// MarshalJSON implements json.Marshaler.
func (m *members) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, key := range m.keys {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := marshal(key)
		if err != nil {
			return nil, err
		}
		value, err := marshal(m.values[key])
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// marshal is json.Marshal without escapes of HTML.
func marshal(v any) ([]byte, error) {
	b, err := strictjson.Line(v)
	return bytes.TrimSpace(b), err
}

// schemaWith returns a schema of keywords, each followed by its value.
func schemaWith(pairs ...any) *members {
	m := &members{}
	for i := 0; i < len(pairs); i += 2 {
		m.set(pairs[i].(string), pairs[i+1])
	}
	return m
}

func schemaOfKind(kind string) *members { return schemaWith("type", kind) }

// A typeSchemas makes the schemas of types.
type typeSchemas struct {
	open  map[reflect.Type]bool   // types that are being described
	names map[reflect.Type]string // in defs, of those that lead back to themselves
	defs  *members
	err   error // the first
}

// fail keeps an error about what path leads to, if it is the first.
func (c *typeSchemas) fail(path, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%s: "+format, append([]any{path}, args...)...)
	}
}

// mostFloat32 is the greatest float32 as encoding/json writes it, which is a little more than it
// is.
const mostFloat32 = "3.4028235e+38"

// timePattern is what encoding/json reads of the format date-time.
const timePattern = `^[0-9-]{10}T[0-9:]{6}[0-5][0-9](\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$`

// of returns the schema of a type, which path leads to.
func (c *typeSchemas) of(t reflect.Type, path string) *members {
	if s := c.own(t, path); s != nil {
		return s
	}
	if t.Name() == "" {
		return c.ofKind(t, path)
	}
	ref := func() *members { return schemaWith("$ref", "#/$defs/"+c.names[t]) }
	if c.open[t] { // its name is found when it is first needed
		if c.names[t] == "" {
			c.names[t] = c.name(t)
		}
		return ref()
	}
	if c.names[t] != "" {
		return ref()
	}
	c.open[t] = true
	s := c.ofKind(t, path)
	delete(c.open, t)
	if c.names[t] == "" {
		return s
	}
	c.defs.set(c.names[t], s)
	return ref()
}

// name returns a new name in defs.
func (c *typeSchemas) name(t reflect.Type) string {
	if c.defs == nil {
		c.defs = &members{}
	}
	plain := regexp.MustCompile(`\W`).ReplaceAllString(t.Name(), "_")
	name := plain
	for n := 2; ; n++ {
		if _, ok := c.defs.values[name]; !ok {
			c.defs.set(name, nil)
			return name
		}
		name = plain + strconv.Itoa(n)
	}
}

// own returns the schema of a type that has JSON of its own, or nil.
func (c *typeSchemas) own(t reflect.Type, path string) *members {
	switch t {
	case reflect.TypeFor[time.Time]():
		return schemaWith("type", "string", "format", "date-time", "pattern", timePattern)
	case reflect.TypeFor[json.Number]():
		return schemaOfKind("number")
	case reflect.TypeFor[json.RawMessage]():
		return &members{}
	}
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return nil
	}
	m, ok := reflect.PointerTo(t).MethodByName("JSONSchema")
	if ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 {
		return c.ownSchema(reflect.New(t).MethodByName("JSONSchema").Call(nil)[0].Interface(), path)
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
		reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	} {
		if reflect.PointerTo(t).Implements(of) {
			c.fail(path, "type %s has a method %s: want a method JSONSchema that returns its schema, or "+
				"another type", t, of.Method(0).Name)
			return &members{}
		}
	}
	return nil
}

// ownSchema reads what a method JSONSchema returned.
func (c *typeSchemas) ownSchema(schema any, path string) *members {
	text, ok := schema.([]byte)
	if raw, is := schema.(json.RawMessage); is {
		text, ok = raw, true
	}
	var err error
	if !ok {
		text, err = json.Marshal(schema)
	}
	s := &members{}
	if err == nil {
		err = strictjson.Members(text, func(key string, value json.RawMessage) error {
			s.set(key, value)
			return nil
		})
	}
	if err != nil {
		c.fail(path, "JSONSchema: want a schema, an object of JSON: %w", err)
	}
	return s
}

// ofKind returns the schema of a type without methods for JSON.
func (c *typeSchemas) ofKind(t reflect.Type, path string) *members {
	switch kind := t.Kind(); kind {
	case reflect.Bool:
		return schemaOfKind("boolean")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		least, most := integerBounds(t)
		return schemaWith("type", "integer", "minimum", least, "maximum", most)
	case reflect.Float32:
		return schemaWith("type", "number", "minimum", json.Number("-"+mostFloat32),
			"maximum", json.Number(mostFloat32))
	case reflect.Float64:
		return schemaOfKind("number")
	case reflect.String:
		return schemaOfKind("string")
	case reflect.Pointer:
		return nullable(c.of(t.Elem(), path))
	case reflect.Slice, reflect.Array:
		return c.ofItems(t, path)
	case reflect.Map:
		if t.Key().Kind() != reflect.String ||
			t.Key().Implements(reflect.TypeFor[encoding.TextMarshaler]()) ||
			reflect.PointerTo(t.Key()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			c.fail(path, "type %s: want a map with keys of type string", t)
		}
		return schemaWith("type", "object", "additionalProperties", c.of(t.Elem(), path+"[]"))
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return &members{}
		}
	case reflect.Struct:
		return c.ofStruct(t, path)
	}
	c.fail(path, "type %s has no JSON that can be decoded: want another type, or the tag "+
		`json:"-"`, t)
	return &members{}
}

// ofItems returns the schema of a slice or an array.
func (c *typeSchemas) ofItems(t reflect.Type, path string) *members {
	item := t.Elem()
	if t.Kind() == reflect.Slice && item.Kind() == reflect.Uint8 && c.own(item, path) == nil {
		return schemaWith("type", "string", "format", "byte", "contentEncoding", "base64")
	}
	s := schemaWith("type", "array", "items", c.of(item, path+"[]"))
	if t.Kind() == reflect.Array {
		s.set("minItems", t.Len())
		s.set("maxItems", t.Len())
	}
	return s
}

// nullable returns a schema of the values of another one and null.
func nullable(s *members) *members {
	if len(s.keys) == 0 {
		return s
	}
	return schemaWith("anyOf", []any{s, schemaOfKind("null")})
}

// integerBounds returns the least and the greatest value of a type of integers.
func integerBounds(t reflect.Type) (least int64, most uint64) {
	most = math.MaxUint64 >> (64 - t.Bits())
	if t.Kind() <= reflect.Int64 {
		most >>= 1
		least = -int64(most) - 1
	}
	return least, most
}

// quoted returns the schema of a field with the option string of the tag json.
func (c *typeSchemas) quoted(t reflect.Type, path string) *members {
	switch {
	case t.Kind() == reflect.Bool:
		return schemaWith("type", "string", "enum", []string{"true", "false"})
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr:
		least, most := integerBounds(t)
		pattern := upTo(fmt.Sprint(most))
		if least < 0 {
			pattern += `|-(` + upTo(fmt.Sprint(least)[1:]) + `)`
		}
		return schemaWith("type", "string", "pattern", `^(`+pattern+`)$`)
	}
	c.fail(path, "type %s with the option string of the tag json: want it without the option", t)
	return &members{}
}

// upTo returns the regex of the whole numbers from 0 to a number.
func upTo(most string) string {
	ways := []string{"0"}
	if n := len(most); n > 1 {
		ways = append(ways, fmt.Sprintf(`[1-9][0-9]{0,%d}`, n-2))
	}
	for i := range most { // those that are less at this digit first
		least := byte('0')
		if i == 0 {
			least = '1'
		}
		if most[i] > least {
			ways = append(ways, fmt.Sprintf(`%s[%c-%c][0-9]{%d}`, most[:i], least, most[i]-1, len(most)-1-i))
		}
	}
	return strings.Join(append(ways, most), "|")
}
