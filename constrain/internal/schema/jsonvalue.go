package schema

// JSON values in schemas: members in order, numbers as they are written; read as what a keyword
// wants: types, numbers, lists of names.

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"picogpt/constrain/internal/automaton"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A jsonValue is a value in a schema's text.
type jsonValue struct {
	kind  byte   // {, [, ", 0 for any number, t, f or n
	text  string // of a string: its characters; of a number: its digits
	keys  []string
	items []*jsonValue
	index map[string]*jsonValue // of keys, if there are many, once it is asked

	up      *jsonValue // the value around it; nil for the whole text
	name    string     // its key or index there
	pointer int        // length of its JSON pointer, in bytes

	scope *scope // of a schema, where a draft has schemas
}

// parseJSON reads one value.
func parseJSON(text string, m *automaton.Meter) (*jsonValue, error) {
	r := strictjson.NewReader(text)
	v := readJSON(r, nil, "", m)
	m.Fail(r.End())
	return v, m.Failed()
}

func readJSON(r *strictjson.Reader, up *jsonValue, name string, m *automaton.Meter) *jsonValue {
	v := &jsonValue{kind: r.Kind(), up: up, name: name}
	if up != nil {
		v.pointer = up.pointer + 1 + len(name)
	}
	if v.pointer > maxPointer {
		m.Fail(fmt.Errorf("the schema nests too deeply: want JSON pointers of %d bytes at most",
			maxPointer))
	}
	err := m.Charge(8 + len(name)/4)
	switch kind := v.kind; {
	case err != nil:
	case kind == '{':
		err = r.Object(func(key string) error {
			key = strings.Clone(key)
			v.keys, v.items = append(v.keys, key), append(v.items, readJSON(r, v, key, m))
			return m.Failed()
		})
	case kind == '[':
		err = r.Array(func(i int) error {
			v.items = append(v.items, readJSON(r, v, strconv.Itoa(i), m))
			return m.Failed()
		})
	case kind == '"':
		v.text, err = r.String()
		v.text = strings.Clone(v.text)
		m.Charge(len(v.text) / 4)
	default:
		var scalar *strictjson.Reader
		if scalar, err = r.Value(); err == nil {
			v.text = scalar.Text()
		}
	}
	m.Fail(err)
	return v
}

// member returns the value of a key of an object, or nil.
func (v *jsonValue) member(key string) *jsonValue {
	if v == nil || v.kind != '{' {
		return nil
	}
	return find(key, len(v.keys), &v.index, func(i int) (string, *jsonValue) {
		return v.keys[i], v.items[i]
	})
}

// find returns the value of a key, of n of them. It makes an index if they are many.
func find[V any](key string, n int, index *map[string]V, at func(i int) (string, V)) (of V) {
	const few = 8
	for i := 0; i < n && n <= few; i++ {
		if is, v := at(i); is == key {
			return v
		}
	}
	if n > few && *index == nil {
		*index = make(map[string]V, n)
		for i := range n {
			is, v := at(i)
			(*index)[is] = v
		}
	}
	return (*index)[key]
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

// yes reports whether a value is true.
func (v *jsonValue) yes() bool { return v != nil && v.kind == 't' }

// is returns the kind of a value, for errors.
func (v *jsonValue) is() string {
	kinds := map[byte]string{'{': "an object", '[': "an array", '"': "a string"}
	return cmp.Or(kinds[v.kind], quote.Plain(v.text, 40))
}

func (v *jsonValue) want(what string) error {
	return fmt.Errorf("%s: want %s, found %s", v.at(), what, v.is())
}

// string returns the characters of a string, "" of anything else and of nil.
func (v *jsonValue) string() string {
	if v == nil || v.kind != '"' {
		return ""
	}
	return v.text
}

// kindTypes are the types of values, by their kinds.
var kindTypes = map[byte]types{'n': nullType, 't': booleanType, 'f': booleanType, '0': numberType,
	'"': stringType, '[': arrayType, '{': objectType}

// orEach returns the items of an array, or a value that is none.
func (v *jsonValue) orEach() []*jsonValue {
	if v.kind == '[' {
		return v.items
	}
	return []*jsonValue{v}
}

// Where a value is not as a keyword wants it, the compiler fails.

func (c *compiler) want(v *jsonValue, kind byte, what string) {
	if v.kind != kind {
		c.fail(v.want(what))
	}
}

func (c *compiler) types(v *jsonValue) (t types) {
	for _, item := range v.orEach() {
		bit := typeNames[item.text]
		if item.kind != '"' || bit == 0 {
			c.fail(fmt.Errorf("%s: want null, boolean, number, integer, string, array or object; "+
				"found %s", v.at(), quote.Short(item.text, 40)))
		}
		t |= bit
	}
	if t == 0 {
		c.fail(v.want("a type or several"))
	}
	return t
}

// count reads a whole number from 0, such as 3 or 3.0. Numbers above 2^30 are all treated alike.
func (c *compiler) count(v *jsonValue) int {
	d, err := v.decimal()
	if err != nil || d.neg && !d.zero() || !d.whole() {
		c.fail(v.want("a whole number from 0"))
		return 0
	}
	const most = 1 << 30
	if d.point > 10 {
		return most
	}
	return int(min(d.units(d.point).Int64(), most))
}

func (c *compiler) strings(v *jsonValue) (list []string) {
	c.want(v, '[', "an array of strings")
	seen := map[string]bool{}
	for _, item := range v.items {
		c.want(item, '"', "a string")
		if !seen[item.text] {
			seen[item.text] = true
			list = append(list, item.text)
		}
	}
	return list
}

func (c *compiler) decimal(v *jsonValue) *decimal {
	d, err := v.decimal()
	c.fail(err)
	return d
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
func (c *compiler) divisor(v *jsonValue) *big.Rat {
	d := c.decimal(v)
	switch {
	case d == nil:
	case d.neg || d.zero() || d.point > 400 || d.point < -400 || len(d.digits) > 400:
		c.fail(v.want("a number above 0"))
	default:
		return d.rat()
	}
	return nil
}
