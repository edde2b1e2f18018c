package schema

// JSON values in schemas: members in order, numbers as they are written.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"picogpt/constrain/internal/meter"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A jsonValue is a value in a schema's text.
type jsonValue struct {
	kind  byte   // {, [, ", 0 for any number, t, f or n
	text  string // of a string: its characters; of a number: its digits
	keys  []string
	items []*jsonValue
	index map[string]int // of keys, if there are many

	up      *jsonValue // the value around it; nil for the whole text
	name    string     // its key or index there
	pointer int        // length of its JSON pointer, in bytes

	scope *scope // of a schema, where a draft has schemas
}

// parseJSON reads one value.
func parseJSON(text string, m *meter.Meter) (*jsonValue, error) {
	r := strictjson.NewReader(text)
	v, err := readJSON(r, nil, "", m)
	if err != nil {
		return nil, err
	}
	return v, r.End()
}

func readJSON(r *strictjson.Reader, up *jsonValue, name string, m *meter.Meter) (*jsonValue, error) {
	v := &jsonValue{kind: r.Kind(), up: up, name: name}
	if up != nil {
		v.pointer = up.pointer + 1 + len(name)
	}
	if v.pointer > maxPointer {
		return nil, fmt.Errorf("the schema nests too deeply: want JSON pointers of %d bytes at most",
			maxPointer)
	}
	if err := m.Charge(8 + len(name)/4); err != nil {
		return nil, err
	}
	var err error
	switch v.kind {
	case '{':
		err = r.Object(func(key string) error {
			key = strings.Clone(key)
			item, err := readJSON(r, v, key, m)
			v.keys, v.items = append(v.keys, key), append(v.items, item)
			return err
		})
		v.lookUp()
	case '[':
		err = r.Array(func(i int) error {
			item, err := readJSON(r, v, strconv.Itoa(i), m)
			v.items = append(v.items, item)
			return err
		})
	case '"':
		v.text, err = r.String()
		v.text = strings.Clone(v.text)
		m.Charge(len(v.text) / 4)
	default:
		var scalar *strictjson.Reader
		if scalar, err = r.Value(); err == nil {
			v.text = scalar.Text()
		}
	}
	return v, err
}

// lookUp builds the index of an object with many keys.
func (v *jsonValue) lookUp() {
	if len(v.keys) <= 8 {
		return
	}
	v.index = make(map[string]int, len(v.keys))
	for i, key := range v.keys {
		v.index[key] = i
	}
}

// member returns the value of a key of an object, or nil.
func (v *jsonValue) member(key string) *jsonValue {
	if v.kind != '{' {
		return nil
	}
	if v.index != nil {
		if i, ok := v.index[key]; ok {
			return v.items[i]
		}
		return nil
	}
	if i := slices.Index(v.keys, key); i >= 0 {
		return v.items[i]
	}
	return nil
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// at returns the JSON pointer to a value, for errors. Of a long pointer it returns the beginning.
func (v *jsonValue) at() string {
	var names []string
	for ; v != nil && v.up != nil; v = v.up {
		names = append(names, v.name)
	}
	at := "#"
	for _, name := range slices.Backward(names) {
		if at += "/" + pointerEscape.Replace(name); len(at) > 120 {
			return quote.Plain(at, 120)
		}
	}
	return quote.Plain(at, 120)
}

// is returns the kind of a value, for errors.
func (v *jsonValue) is() string {
	switch v.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	}
	return quote.Plain(v.text, 40)
}
