package torch

// Python's pickles, of plain values and of objects that the caller knows. No code is executed: a
// pickle is a program for a small stack machine, and only the opcodes
// that such values need are supported. Every other opcode is an error that names it. A name or a
// call that would be code in Python is an error wherever it stands (names.go). Another class or
// function that the caller does not know becomes a Class, and what it makes an Object: values that
// do nothing.
//
// The values are nil, bool, int64, *big.Int, float64, string, []byte, Tuple, *List (sets are lists),
// *Dict, *Class, *Object, and the values that the caller's functions return. As in Python, a value
// may occur several times and may contain itself: a program that walks values needs a bound.
//
// Pickles may be hostile. Memory is bounded and does not depend on a number in the file, time is
// linear in the bytes, and nothing recurses. The protocols are those of Python's pickletools
// module, whose names the errors use.

import (
	"fmt"
	"math/big"
)

// A Func is a class or a function that a pickle may call.
type Func func(args Tuple) (any, error)

// Options say what a pickle may refer to.
type Options struct {
	// Global returns the value of a module's name: a Func, a value that is compared and passed on,
	// or nil if it is not known. collections.OrderedDict is known without it.
	Global func(module, name string) any

	// Persistent returns the value of a persistent id. nil refuses all ids.
	Persistent func(id any) (any, error)
}

// Limits of one Decoder, for all its pickles together. They are far above the need of a checkpoint
// of GPT-2 XL with its optimizer: 2 MB and 300 kB.
const (
	maxMemory = 24 << 20 // bytes of values
	maxBytes  = 16 << 20 // of pickles
	maxHeight = 1 << 16  // of the stack
)

// A Decoder reads pickles that follow one another without a frame.
type Decoder struct {
	options Options
	data    []byte
	at      int
	memory  int // bytes that values may still take
}

// NewDecoder returns a Decoder of the pickles at the beginning of data. No value that it returns
// refers to data.
func NewDecoder(data []byte, o Options) *Decoder {
	return &Decoder{options: o, data: data, memory: maxMemory}
}

// Offset returns the number of bytes read.
func (d *Decoder) Offset() int { return d.at }

// Next reads one pickle. Its errors name the byte.
func (d *Decoder) Next() (any, error) {
	m := machine{Decoder: d, memo: map[uint32]any{}}
	v, err := m.run()
	if err != nil {
		return nil, fmt.Errorf("byte %d of the pickle: %w", m.opcode, err)
	}
	return v, nil
}

// Load reads data, which must be exactly one pickle.
func Load(data []byte, o Options) (any, error) {
	d := NewDecoder(data, o)
	v, err := d.Next()
	if err == nil && d.at != len(data) {
		err = fmt.Errorf("%d bytes after the end of the pickle", len(data)-d.at)
	}
	return v, err
}

// A Tuple is a tuple.
type Tuple []any

// A List is a list.
type List struct{ Items []any }

// A Dict is a dict or an OrderedDict. Its keys are nil, bools, int64s, float64s, strings, values that
// have a method Kind and, for tuples, *Tuples.
type Dict struct {
	Keys   []any // in the order in which they came
	values map[any]any
}

// Get returns the value of a key, and whether there is one. A Dict that is nil has none.
func (d *Dict) Get(key any) (any, bool) {
	if d == nil {
		return nil, false
	}
	v, ok := d.values[key]
	return v, ok
}

func (d *Dict) set(key, value any) error {
	switch k := key.(type) {
	case nil, bool, int64, float64, string, interface{ Kind() string }:
	case Tuple: // which Go cannot compare
		key = &k
	default:
		return fmt.Errorf("%s as a key, want a string or a number", Kind(key))
	}
	if _, ok := d.values[key]; ok {
		return fmt.Errorf("key %s comes twice in a dict", show(key))
	}
	d.values[key] = value
	d.Keys = append(d.Keys, key)
	return nil
}

// Kind returns the kind of a value for errors, for example "a list". A caller's types may have a
// method Kind.
func Kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int64, *big.Int:
		return "an integer"
	case float64:
		return "a float"
	case string:
		return "a string"
	case []byte:
		return "bytes"
	case Tuple, *Tuple:
		return "a tuple"
	case *List:
		return "a list"
	case *Dict:
		return "a dict"
	case Func:
		return "a function"
	case interface{ Kind() string }:
		return v.Kind()
	}
	return "an object"
}
