// The effects of the opcodes.

package torch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"unicode/utf8"
)

// The unsupported opcodes, so that errors can name them.

// unknownOpcode returns an error with pickletools' name of an opcode, and what it would do.
func unknownOpcode(op byte) error {
	for _, o := range [...]struct {
		op   byte
		name string
		does string
	}{
		{'0', "POP", ""}, {'2', "DUP", ""}, {'1', "POP_MARK", ""},
		{'I', "INT", ""}, {'L', "LONG", ""}, {0x8b, "LONG4", ""}, {'F', "FLOAT", ""},
		{'S', "STRING", ""}, {'T', "BINSTRING", ""}, {'V', "UNICODE", ""},
		{0x8d, "BINUNICODE8", ""}, {0x8e, "BINBYTES8", ""}, {0x97, "NEXT_BUFFER", ""},
		{0x98, "READONLY_BUFFER", ""},
		{'l', "LIST", ""}, {'d', "DICT", ""}, {'p', "PUT", ""}, {'g', "GET", ""},
		{'i', "INST", "makes an object of any class"},
		{'o', "OBJ", "makes an object of any class"},
		{0x82, "EXT1", "calls what a program has registered"},
		{0x83, "EXT2", "calls what a program has registered"},
		{0x84, "EXT4", "calls what a program has registered"},
		{'P', "PERSID", ""},
	} {
		switch {
		case o.op == op && o.does != "":
			return fmt.Errorf("opcode %s, which %s: refused", o.name, o.does)
		case o.op == op:
			return fmt.Errorf("opcode %s, which no weights need: refused", o.name)
		}
	}
	return fmt.Errorf("opcode 0x%02x, which Python does not have either", op)
}

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

// long returns a two's complement number of any length, the least significant byte first.
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

// text reads bytes or a string, in UTF-8 or, from Python 2, in ASCII.
func (m *machine) text(op byte) error {
	size := uint64(1)
	switch op {
	case opBinUnicode, opBinBytes:
		size = 4
	case opByteArray8:
		size = 8
	}
	b, err := m.bytes(size)
	if err != nil {
		return err
	}
	var n [8]byte
	copy(n[:], b)
	if b, err = m.bytes(binary.LittleEndian.Uint64(n[:])); err != nil {
		return err
	}
	if err := m.spend(2*costOfNumber + len(b)); err != nil {
		return err
	}
	if op == opBinBytes || op == opShortBinBytes || op == opByteArray8 {
		return m.push(slices.Clone(b), 0)
	}
	if !utf8.Valid(b) {
		return errors.New("a string that is not valid UTF-8")
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

// frozenSet makes a set of what is above the last mark.
func (m *machine) frozenSet() error {
	items, err := m.popMark()
	if err != nil {
		return err
	}
	return m.push(&List{slices.Clone(items)}, costOfContainer+costOfItem*len(items))
}

// arguments pops the items that APPEND(S) or SETITEM(S) adds, and returns them with the container
// below them. They are valid until the next push.
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
	if o, ok := to.(*Object); ok {
		if o.List == nil {
			o.List = &List{}
		}
		to = o.List
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
	if o, ok := to.(*Object); ok {
		if o.Dict == nil {
			o.Dict = newDict()
		}
		to = o.Dict
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

// remember stores the value on top in the memo, which is a map because the file chooses its keys.
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
