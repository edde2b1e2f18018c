package pickle

// The opcodes that name, call and complete objects. The caller decides which names are allowed.

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

// line reads up to the end of a line: GLOBAL stores its names in this form.
func (m *machine) line() (string, error) {
	const longest = 256
	rest := string(m.data[m.at:min(m.at+longest, len(m.data))])
	text, _, ended := strings.Cut(rest, "\n")
	if !ended {
		return "", fmt.Errorf("a name of more than %d bytes", longest)
	}
	_, err := m.bytes(uint64(len(text) + 1))
	return text, err
}

// names reads the module and the name of a global.
func (m *machine) names(op byte) (module, name string, err error) {
	if op == opGlobal {
		if module, err = m.line(); err == nil {
			name, err = m.line()
		}
		return module, name, err
	}
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

func (m *machine) global(op byte) error {
	module, name, err := m.names(op)
	if err != nil {
		return err
	}
	if module == "collections" && name == "OrderedDict" {
		return m.push(Func(orderedDict), costOfNumber)
	}
	if m.options.Global == nil {
		return &GlobalError{module, name}
	}
	v, err := m.options.Global(module, name)
	if err != nil {
		return err
	}
	return m.push(v, costOfNumber)
}

// A GlobalError says that a pickle uses a class or a function that is not allowed. Nothing was
// called.
type GlobalError struct{ Module, Name string }

func (e *GlobalError) Error() string {
	return fmt.Sprintf("%s.%s, which is code and no weights: refused",
		quote.Plain(e.Module, 50), quote.Plain(e.Name, 50))
}

func (m *machine) reduce() error {
	args, err := m.pop()
	if err != nil {
		return err
	}
	what, err := m.pop()
	if err != nil {
		return err
	}
	f, ok := what.(Func)
	if !ok {
		return fmt.Errorf("a call of %s, want a function", Kind(what))
	}
	tuple, ok := args.(Tuple)
	if !ok {
		return fmt.Errorf("a call with %s, want a tuple of arguments", Kind(args))
	}
	v, err := f(tuple)
	if err != nil {
		return err
	}
	return m.push(v, costOfContainer+costOfItem*len(tuple))
}

// build drops the attributes of a dict: an OrderedDict of tensors has one, _metadata, with versions
// of modules.
func (m *machine) build() error {
	state, err := m.pop()
	if err != nil {
		return err
	}
	to, err := m.pop()
	if err != nil {
		return err
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
