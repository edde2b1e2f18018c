// Package pickle reads Python pickles that hold plain values, and those objects that its caller
// knows. It executes nothing: a pickle is a program for a small stack machine, and of its opcodes
// only those are followed that such values need. Every other opcode, and every class or function
// that the caller has not named, is an error that names it.
//
// The values are nil, bool, int64, *big.Int, float64, string, Tuple, *List, *Dict, and what the
// caller's functions return. A value may be in several places and may hold itself, as in Python: do
// not walk them without a bound.
//
// Pickles are taken to be hostile. Memory is in proportion to a Budget and never to a number in the
// file, time is linear in the bytes, and nothing recurses. The protocols are those of Python's
// pickletools module, whose names the errors use.
package pickle

import (
	"fmt"
	"math/big"
)

// A Func is a class or a function that a pickle may call.
type Func func(args Tuple) (any, error)

// Options are what the caller knows.
type Options struct {
	// Global returns what the name of a module stands for: a Func, or a value that is compared and
	// passed on. collections.OrderedDict is known without it. nil knows nothing.
	Global func(module, name string) (any, error)

	// Persistent returns what a persistent id stands for. nil refuses them.
	Persistent func(id any) (any, error)
}

// Limits of one Decoder, all pickles together. They are far above what a checkpoint of GPT-2 XL
// with its optimizer needs: 2 MB and 300 kB.
const (
	maxMemory = 24 << 20 // bytes of values
	maxBytes  = 16 << 20 // of pickles
	maxHeight = 1 << 16  // of the stack
)

// A Decoder reads pickles that follow each other without a frame.
type Decoder struct {
	options Options
	data    []byte
	at      int
	memory  int // bytes that values may still take
}

// NewDecoder returns a Decoder of the pickles at the beginning of data. Nothing that it returns
// refers to data.
func NewDecoder(data []byte, o Options) *Decoder {
	return &Decoder{options: o, data: data, memory: maxMemory}
}

// Offset returns the number of bytes read.
func (d *Decoder) Offset() int { return d.at }

// Next reads one pickle. Its errors give the byte.
func (d *Decoder) Next() (any, error) {
	m := machine{Decoder: d, memo: map[uint32]any{}}
	v, err := m.run()
	if err != nil {
		return nil, fmt.Errorf("byte %d of the pickle: %w", m.opcode, err)
	}
	return v, nil
}

// Load reads data, which is one pickle and nothing after it.
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

// A Dict is a dict or an OrderedDict. Its keys are strings and int64s.
type Dict struct {
	Keys   []any // in the order in which they came
	values map[any]any
}

// Get returns the value of a key, if it is there.
func (d *Dict) Get(key any) (any, bool) {
	v, ok := d.values[key]
	return v, ok
}

func (d *Dict) set(key, value any) error {
	switch key.(type) {
	case string, int64:
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

// Kind says what a value is, for errors: "a list". Values of the caller may have a method Kind.
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
	case Tuple:
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
