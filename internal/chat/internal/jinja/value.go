package jinja

// The values of Python: nil, bool, int, float64, string, []any (a list), and the types here.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"picogpt/internal/strictjson"
)

type tuple []any

// A Dict is a dict of Python: it keeps the order of its keys.
type Dict struct {
	keys   []any
	values map[any]any
}

// NewDict returns an empty Dict.
func NewDict() *Dict { return &Dict{values: map[any]any{}} }

// Set sets the value of a key, and returns the Dict.
func (d *Dict) Set(key string, v any) *Dict {
	d.put(key, v)
	return d
}

// With sets what other has, which may be nil, and returns the Dict.
func (d *Dict) With(other *Dict) *Dict {
	if other != nil {
		for _, key := range other.keys {
			d.put(key, other.values[key])
		}
	}
	return d
}

// Without returns what a Dict has beside a key.
func (d *Dict) Without(key string) *Dict {
	rest := NewDict()
	for _, k := range d.keys {
		if k != key {
			rest.put(k, d.values[k])
		}
	}
	return rest
}

// Get returns the value of a key.
func (d *Dict) Get(key string) (v any, ok bool) {
	v, ok = d.values[key]
	return v, ok
}

func (d *Dict) put(key, v any) {
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = v
}

// hash returns what stands for a key: 1, 1.0 and true are one key.
func (x *run) hash(key any) (any, bool) {
	switch k := key.(type) {
	case nil, int, string:
		return k, x.err == nil
	case bool:
		return toInt(k), true
	case float64:
		if n := int(k); float64(n) == k {
			return n, true
		}
		return k, true
	}
	x.fail("%s as a key", typeName(key))
	return nil, false
}

// find returns the value of a key.
func (x *run) find(d *Dict, key any) (v any, has bool) {
	k, ok := x.hash(key)
	v, has = d.values[k]
	return v, ok && has
}

// put sets a value of a dict that is being made.
func (x *run) put(d *Dict, key, v any) {
	if k, ok := x.hash(key); ok && x.make(48) {
		d.put(k, v)
	}
}

// An undefined is what a name without a value has: it is printed as nothing, and is an error where
// more is asked of it.
type undefined struct{ why string }

// A namespace is the one value that changes.
type namespace struct{ Dict }

// A generator is what filters return that can be looped over, and little else.
type generator []any

// typeNames are Python's names of types.
var typeNames = map[string]string{"<nil>": "None", "bool": "a bool", "int": "an int",
	"float64": "a float", "string": "a str", "[]interface {}": "a list", "jinja.tuple": "a tuple",
	"*jinja.Dict": "a dict", "jinja.generator": "a generator", "*jinja.namespace": "a namespace",
	"jinja.markup": "an escaped text", "*jinja.loop": "a loop"}

func typeName(v any) string {
	if u, ok := v.(undefined); ok {
		return u.why
	}
	return cmp.Or(typeNames[fmt.Sprintf("%T", v)], "a function")
}

// truth is Python's: what is empty or zero is false.
func truth(v any) bool {
	if f, ok := float(v); ok {
		return f != 0
	} else if s, ok := v.(string); ok {
		return s != ""
	}
	return v != nil && length(v) != 0
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// items returns what a loop over a value has.
func (x *run) items(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case tuple:
		return v
	case *Dict:
		return v.keys
	case undefined:
		return nil
	case generator:
		return v
	case string:
		n := utf8.RuneCountInString(v)
		if !x.make(32*n) || !x.work(n) {
			return nil
		}
		items := make([]any, 0, n)
		for len(v) > 0 {
			_, size := utf8.DecodeRuneInString(v)
			items = append(items, v[:size])
			v = v[size:]
		}
		return items
	}
	x.fail("%s cannot be looped over", typeName(v))
	return nil
}

// seq returns the items of a list or a tuple, and which of the two it is.
func seq(v any) (items []any, of string) {
	switch v := v.(type) {
	case []any:
		return v, "list"
	case tuple:
		return v, "tuple"
	}
	return nil, ""
}

// length returns the number of items, -1 of what has none.
func length(v any) int {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v)
	case markup:
		return utf8.RuneCountInString(string(v))
	case []any:
		return len(v)
	case tuple:
		return len(v)
	case *Dict:
		return len(v.keys)
	case undefined:
		return 0
	}
	return -1
}

// list returns items as a list of its own.
func (x *run) list(items []any) []any {
	if !x.make(16*len(items)) || !x.work(len(items)/8) {
		return nil
	}
	return slices.Clone(items)
}

// ReadJSON reads the next value of a text of JSON.
func ReadJSON(r *strictjson.Reader) (any, error) {
	switch r.Kind() {
	case '{':
		d := NewDict()
		err := r.Object(func(key string) error {
			v, err := ReadJSON(r)
			d.put(key, v)
			return err
		})
		return d, err
	case '[':
		list := []any{}
		err := r.Array(func(int) error {
			v, err := ReadJSON(r)
			list = append(list, v)
			return err
		})
		return list, err
	case '"':
		return r.String()
	case 't', 'f':
		return r.Bool()
	}
	raw, err := r.Raw()
	if err != nil || raw.Text() == "null" {
		return nil, err
	}
	text := raw.Text()
	if n, err := strconv.Atoi(text); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, r.Errorf("%s is too large a number", text)
	}
	return f, nil
}
