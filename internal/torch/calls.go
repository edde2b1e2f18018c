// The opcodes that name, call and complete objects. What the caller does not know stays inert.

package torch

import (
	"errors"
	"fmt"
	"strings"

	"picogpt/internal/quote"
)

// persistent replaces an id by the caller's value for it.
func (m *machine) persistent() error {
	id, err := m.pop()
	if err != nil {
		return err
	}
	if m.options.Persistent == nil {
		return errors.New("a persistent id, where only plain values are wanted")
	}
	v, err := m.options.Persistent(id)
	if err != nil {
		return err
	}
	return m.push(v, costOfContainer)
}

// longestName bounds the names of modules and classes, in bytes.
const longestName = 256

// line reads up to the end of a line: GLOBAL stores its names in this form.
func (m *machine) line() (string, error) {
	rest := string(m.data[m.at:min(m.at+longestName, len(m.data))])
	text, _, ended := strings.Cut(rest, "\n")
	switch {
	case !ended && len(rest) < longestName:
		return "", ErrShort
	case !ended:
		return "", fmt.Errorf("a name of more than %d bytes", longestName)
	}
	_, err := m.bytes(uint64(len(text) + 1))
	return text, err
}

// lines reads the module and the name of a global.
func (m *machine) lines() (module, name string, err error) {
	if module, err = m.line(); err == nil {
		name, err = m.line()
	}
	return module, name, err
}

// names is lines for a global whose names are on the stack.
func (m *machine) names() (module, name string, err error) {
	for _, to := range []*string{&name, &module} {
		v, err := m.pop()
		if err != nil {
			return "", "", err
		}
		text, ok := v.(string)
		if !ok {
			return "", "", fmt.Errorf("%s as a name, want a string", Kind(v))
		}
		*to = text
	}
	return module, name, nil
}

func (m *machine) global(module, name string, err error) error {
	if err != nil {
		return err
	}
	if module == "collections" && name == "OrderedDict" {
		return m.push(Func(orderedDict), costOfNumber)
	}
	if m.options.Global != nil {
		if v := m.options.Global(module, name); v != nil {
			return m.push(v, costOfNumber)
		}
	}
	if len(module)+len(name) > 2*longestName { // which each call looks at
		return fmt.Errorf("a name of more than %d bytes", 2*longestName)
	}
	c := &Class{module, name}
	if !mayName(c) {
		return errors.New(c.Kind())
	}
	return m.push(c, costOfContainer+len(module)+len(name))
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
func (m *machine) reduce(isNew bool) error {
	args, err := m.pop()
	if err != nil {
		return err
	}
	what, err := m.pop()
	if err != nil {
		return err
	}
	tuple, ok := args.(Tuple)
	if !ok {
		return fmt.Errorf("a call with %s, want a tuple of arguments", Kind(args))
	}
	var v any
	switch f := what.(type) {
	case Func:
		if v, err = f(tuple); err != nil {
			return err
		}
	case *Class:
		if isNew && mayMake(f, tuple) {
			v = &Object{Class: f, Args: tuple}
		} else if v, err = f.call(tuple, &m.memory); err != nil {
			return err
		}
	case *Object:
		return fmt.Errorf("a call of what %s has made: refused", f.Class)
	default:
		return fmt.Errorf("a call of %s, want a function", Kind(what))
	}
	return m.push(v, 2*costOfContainer+costOfItem*len(tuple))
}

// newObjectEx is reduce for a class that is called with arguments by name too. Nobody needs these,
// because the class is never called: they are left out.
func (m *machine) newObjectEx() error {
	named, err := m.pop()
	if err != nil {
		return err
	}
	if _, ok := named.(*Dict); !ok {
		return fmt.Errorf("a call with %s, want a dict of arguments by name", Kind(named))
	}
	items, err := m.take(2)
	if err != nil {
		return err
	}
	class, args := items[0], items[1]
	if _, ok := class.(*Class); !ok {
		return fmt.Errorf("an object of %s, want a class", Kind(class))
	}
	m.stack = append(m.stack, class, args)
	return m.reduce(true)
}

// build gives an object its state. It drops the attributes of a dict: an OrderedDict of tensors has
// one, _metadata, with versions of modules.
func (m *machine) build() error {
	state, err := m.pop()
	if err != nil {
		return err
	}
	to, err := m.pop()
	if err != nil {
		return err
	}
	if o, ok := to.(*Object); ok && o.State == nil {
		o.State = state
		return m.push(to, 0)
	}
	attributes, ok := state.(*Dict)
	if _, isDict := to.(*Dict); !isDict || !ok {
		return fmt.Errorf("BUILD of %s with %s, want it of a dict with a dict", Kind(to), Kind(state))
	}
	for _, key := range attributes.Keys {
		if key != "_metadata" {
			return fmt.Errorf("attribute %s of a dict, want _metadata alone", show(key))
		}
	}
	return m.push(to, 0)
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
