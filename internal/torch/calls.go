// The opcodes that name, call and complete objects. What the caller does not know stays inert.

package torch

import (
	"errors"
	"fmt"
	"strings"

	"picogpt/internal/quote"
)

// persistent replaces an id by the caller's value for it.
func (m *machine) persistent() {
	id := m.pop()
	if m.options.Persistent == nil {
		m.keep(errors.New("a persistent id, where only plain values are wanted"))
		return
	}
	v, err := m.options.Persistent(id)
	m.keep(err)
	m.push(v, costOfContainer)
}

// longestName bounds the names of modules and classes, in bytes.
const longestName = 256

// line reads up to the end of a line: GLOBAL stores its names in this form.
func (m *machine) line() string {
	rest := string(m.data[m.at:min(m.at+longestName, len(m.data))])
	text, _, ended := strings.Cut(rest, "\n")
	switch {
	case !ended && len(rest) < longestName:
		m.keep(ErrShort)
	case !ended:
		m.fail("a name of more than %d bytes", longestName)
	default:
		m.bytes(uint64(len(text) + 1))
	}
	return text
}

// name pops the module or the name of a global.
func (m *machine) name() string {
	v := m.pop()
	text, ok := v.(string)
	if !ok {
		m.fail("%s as a name, want a string", Kind(v))
	}
	return text
}

func (m *machine) global(module, name string) {
	if module == "collections" && name == "OrderedDict" {
		m.push(Func(orderedDict), costOfNumber)
		return
	}
	if m.options.Global != nil {
		if v := m.options.Global(module, name); v != nil {
			m.push(v, costOfNumber)
			return
		}
	}
	if len(module)+len(name) > 2*longestName { // which each call looks at
		m.fail("a name of more than %d bytes", 2*longestName)
		return
	}
	c := &Class{module, name}
	if !mayName(c) {
		m.keep(errors.New(c.Kind()))
	}
	m.push(c, costOfContainer+len(module)+len(name))
}

// A Class is a class or a function that a pickle may name and nobody knows. It is never called: a
// call of it is an Object.
type Class struct{ Module, Name string }

// Call returns what a pickle says of a call. It is an error if Python could run code with it.
func (c *Class) Call(args Tuple) (*Object, error) {
	left := maxArguments
	return c.call(args, &left)
}

// maxArguments bounds the values that Call looks at.
const maxArguments = 1024

func (c *Class) call(args Tuple, left *int) (*Object, error) {
	if !mayCall(c, args, left) {
		return nil, fmt.Errorf("a call of %s, which may be code: refused", c)
	}
	return &Object{Class: c, Args: args}, nil
}

// Kind returns the kind of a class for errors.
func (c *Class) Kind() string { return c.String() + ", which is code and no weights: refused" }

// String returns the name as Python writes it.
func (c *Class) String() string {
	return quote.Plain(c.Module, 50) + "." + quote.Plain(c.Name, 50)
}

// An Object is what a pickle says of an object whose Class is not known. Nothing was called.
type Object struct {
	Class *Class
	Args  Tuple // of the call that would make it
	State any   // for a usual object the *Dict of its attributes; nil if there is none
	Dict  *Dict // the entries if it is a kind of dict, or nil
	List  *List // the items if it is a kind of list or set, or nil
}

// Kind returns the kind of an object for errors.
func (o *Object) Kind() string {
	if o.Class.Name == "_reconstruct" {
		return "an array of NumPy"
	}
	if makesData(o.Class) {
		return "an object of " + o.Class.String()
	}
	return o.Class.Kind()
}

// reduce calls what the caller allows, and makes an Object of anything else. NEWOBJ makes one of
// any class that may be named: Python calls its __new__ alone.
func (m *machine) reduce(isNew bool) {
	args := m.pop()
	what := m.pop()
	tuple, ok := args.(Tuple)
	if !ok {
		m.fail("a call with %s, want a tuple of arguments", Kind(args))
		return
	}
	var v any
	var err error
	switch f := what.(type) {
	case Func:
		v, err = f(tuple)
	case *Class:
		if isNew && mayMake(f, tuple) {
			v = &Object{Class: f, Args: tuple}
		} else {
			v, err = f.call(tuple, &m.memory)
		}
	case *Object:
		err = fmt.Errorf("a call of what %s has made: refused", f.Class)
	default:
		err = fmt.Errorf("a call of %s, want a function", Kind(what))
	}
	m.keep(err)
	m.push(v, 2*costOfContainer+costOfItem*len(tuple))
}

// newObjectEx is reduce for a class that is called with arguments by name too. Nobody needs these,
// because the class is never called: they are left out.
func (m *machine) newObjectEx() {
	named := m.pop()
	if _, ok := named.(*Dict); !ok {
		m.fail("a call with %s, want a dict of arguments by name", Kind(named))
	}
	args := m.pop()
	class := m.pop()
	if _, ok := class.(*Class); !ok {
		m.fail("an object of %s, want a class", Kind(class))
	}
	m.stack = append(m.stack, class, args)
	m.reduce(true)
}

// build gives an object its state. It drops the attributes of a dict: an OrderedDict of tensors has
// one, _metadata, with versions of modules.
func (m *machine) build() {
	state := m.pop()
	to := m.below()
	if o, ok := to.(*Object); ok && o.State == nil {
		o.State = state
		return
	}
	attributes, ok := state.(*Dict)
	if _, isDict := to.(*Dict); !isDict || !ok {
		m.fail("BUILD of %s with %s, want it of a dict with a dict", Kind(to), Kind(state))
		return
	}
	for _, key := range attributes.Keys {
		if key != "_metadata" {
			m.fail("attribute %s of a dict, want _metadata alone", show(key))
		}
	}
}

func newDict() *Dict { return &Dict{values: map[any]any{}} }

func orderedDict(args Tuple) (any, error) {
	if len(args) != 0 {
		return nil, fmt.Errorf("OrderedDict with %d arguments, want none", len(args))
	}
	return newDict(), nil
}

// show prints a key.
func show(key any) string {
	if s, ok := key.(string); ok {
		return quote.Short(s, 80)
	}
	return fmt.Sprint(key)
}
