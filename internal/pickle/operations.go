package pickle

// What the opcodes do.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/internal/quote"
)

func (m *machine) number(op byte) error {
	size := uint64(1)
	switch op {
	case opBinInt2:
		size = 2
	case opBinInt:
		size = 4
	case opBinFloat:
		size = 8
	}
	b, err := m.bytes(size)
	if err != nil {
		return err
	}
	switch op {
	case opBinInt:
		return m.push(int64(int32(binary.LittleEndian.Uint32(b))), costOfNumber)
	case opBinInt1:
		return m.push(int64(b[0]), costOfNumber)
	case opBinInt2:
		return m.push(int64(binary.LittleEndian.Uint16(b)), costOfNumber)
	case opBinFloat:
		return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)), costOfNumber)
	}
	if b, err = m.bytes(uint64(b[0])); err != nil { // LONG1
		return err
	}
	return m.push(long(b), costOfNumber+2*len(b))
}

// long returns a two's complement number of any length, least byte first.
func long(b []byte) any {
	if len(b) <= 8 {
		var whole [8]byte
		copy(whole[:], b)
		shift := 64 - 8*len(b)
		return int64(binary.LittleEndian.Uint64(whole[:])<<shift) >> shift
	}
	b = slices.Clone(b)
	slices.Reverse(b)
	n := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// text reads a string: in UTF-8 or, from Python 2, in ASCII.
func (m *machine) text(op byte) error {
	size := uint64(1)
	if op == opBinUnicode {
		size = 4
	}
	b, err := m.bytes(size)
	if err != nil {
		return err
	}
	n := uint64(b[0])
	if op == opBinUnicode {
		n = uint64(binary.LittleEndian.Uint32(b))
	}
	if b, err = m.bytes(n); err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return errors.New("a string that is not valid UTF-8")
	}
	if err := m.spend(2*costOfNumber + len(b)); err != nil {
		return err
	}
	return m.push(string(b), 0)
}

func (m *machine) tuple(op byte) (err error) {
	var items []any
	switch op {
	case opTuple:
		items, err = m.popMark()
	case opTuple1, opTuple2, opTuple3:
		items, err = m.take(1 + int(op-opTuple1))
	}
	if err != nil {
		return err
	}
	return m.push(Tuple(slices.Clone(items)), costOfContainer+costOfItem*len(items))
}

// arguments takes what APPEND(S) or SETITEM(S) adds off the stack, and returns it with the container
// that then is on top. It is valid until the next push.
func (m *machine) arguments(many bool, one int) (items []any, to any, err error) {
	if many {
		items, err = m.popMark()
	} else {
		items, err = m.take(one)
	}
	if err != nil {
		return nil, nil, err
	}
	top, err := m.take(1)
	if err != nil {
		return nil, nil, err
	}
	m.stack = m.stack[:len(m.stack)+1]
	return items, top[0], nil
}

func (m *machine) appendItems(many bool) error {
	items, to, err := m.arguments(many, 1)
	if err != nil {
		return err
	}
	list, ok := to.(*List)
	if !ok {
		return fmt.Errorf("items for %s, want a list", Kind(to))
	}
	list.Items = append(list.Items, items...)
	return m.spend(costOfItem * len(items))
}

func (m *machine) setItems(many bool) error {
	items, to, err := m.arguments(many, 2)
	if err != nil {
		return err
	}
	dict, ok := to.(*Dict)
	if !ok {
		return fmt.Errorf("keys and values for %s, want a dict", Kind(to))
	}
	if len(items)%2 != 0 {
		return errors.New("a key without a value")
	}
	if err := m.spend(costOfEntry * len(items) / 2); err != nil {
		return err
	}
	for i := 0; i < len(items); i += 2 {
		if err := dict.set(items[i], items[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// remember puts the value on top into the memo, which is a map: its keys are the file's.
func (m *machine) remember(op byte) error {
	key := uint32(len(m.memo))
	if op != opMemoize {
		var err error
		if key, err = m.index(op == opLongBinPut); err != nil {
			return err
		}
	}
	v, err := m.pop()
	if err != nil {
		return err
	}
	m.memo[key] = v
	return m.push(v, costOfMemo)
}

func (m *machine) recall(op byte) error {
	key, err := m.index(op == opLongBinGet)
	if err != nil {
		return err
	}
	v, ok := m.memo[key]
	if !ok {
		return fmt.Errorf("value %d of the memo, which has none", key)
	}
	return m.push(v, 0)
}

// index reads the key of a value in the memo.
func (m *machine) index(long bool) (uint32, error) {
	if !long {
		b, err := m.byte()
		return uint32(b), err
	}
	b, err := m.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

// persistent exchanges an id for what the caller says it is.
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

// line reads up to the end of a line, as GLOBAL has its names.
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

// A GlobalError says that a pickle wants a class or a function that is not known. What it would
// have done is not done.
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

// build drops the attributes of a dict: an OrderedDict of tensors has one, _metadata, of versions of
// modules.
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
