// The effects of the opcodes.

package torch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"unicode/utf8"
)

// unknownOpcode returns an error with pickletools' name of an opcode, and what it would do.
func unknownOpcode(op byte) error {
	name, ok := map[byte]string{'0': "POP", '2': "DUP", '1': "POP_MARK", 'I': "INT", 'L': "LONG",
		0x8b: "LONG4", 'F': "FLOAT", 'S': "STRING", 'T': "BINSTRING", 'V': "UNICODE",
		0x8d: "BINUNICODE8", 0x8e: "BINBYTES8", 0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
		'l': "LIST", 'd': "DICT", 'p': "PUT", 'g': "GET", 'i': "INST", 'o': "OBJ", 0x82: "EXT1",
		0x83: "EXT2", 0x84: "EXT4", 'P': "PERSID"}[op]
	does := "no weights need"
	switch op {
	case 'i', 'o':
		does = "makes an object of any class"
	case 0x82, 0x83, 0x84:
		does = "calls what a program has registered"
	}
	if !ok {
		return fmt.Errorf("opcode 0x%02x, which Python does not have either", op)
	}
	return fmt.Errorf("opcode %s, which %s: refused", name, does)
}

func (m *machine) natural(n uint64, err error) error { return m.number(int64(n), err) }

func (m *machine) number(n any, err error) error {
	if err != nil {
		return err
	}
	return m.push(n, costOfNumber)
}

// long reads a two's complement number of any length, the least significant byte first.
func (m *machine) long() error {
	n, err := m.uint(1)
	if err != nil {
		return err
	}
	b, err := m.bytes(n)
	if err != nil {
		return err
	}
	cost := costOfNumber + 2*len(b)
	if len(b) <= 8 {
		var whole [8]byte
		copy(whole[:], b)
		shift := 64 - 8*len(b)
		return m.push(int64(binary.LittleEndian.Uint64(whole[:])<<shift)>>shift, cost)
	}
	b = slices.Clone(b)
	slices.Reverse(b)
	large := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		large.Sub(large, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return m.push(large, cost)
}

// counted reads bytes after their number, which has so many bytes.
func (m *machine) counted(size uint64) ([]byte, error) {
	n, err := m.uint(size)
	if err != nil {
		return nil, err
	}
	b, err := m.bytes(n)
	if err != nil {
		return nil, err
	}
	return b, m.spend(2*costOfNumber + len(b))
}

func (m *machine) octets(b []byte, err error) error {
	m.stack = append(m.stack, slices.Clone(b))
	return err
}

// text pushes a string, in UTF-8 or, from Python 2, in ASCII.
func (m *machine) text(b []byte, err error) error {
	if err == nil && !utf8.Valid(b) {
		err = errors.New("a string that is not valid UTF-8")
	}
	m.stack = append(m.stack, string(b))
	return err
}

func (m *machine) tuple(items []any, err error) error {
	if err != nil {
		return err
	}
	return m.push(Tuple(slices.Clone(items)), costOfContainer+costOfItem*len(items))
}

// below returns the container below items that were popped, which stays.
func (m *machine) below(err error) (any, error) {
	if err != nil {
		return nil, err
	}
	top, err := m.take(1)
	if err != nil {
		return nil, err
	}
	m.stack = m.stack[:len(m.stack)+1]
	return top[0], nil
}

func (m *machine) appendItems(items []any, err error) error {
	to, err := m.below(err)
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

func (m *machine) setItems(items []any, err error) error {
	to, err := m.below(err)
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
func (m *machine) remember(key uint64, err error) error {
	if err != nil {
		return err
	}
	v, err := m.pop()
	if err != nil {
		return err
	}
	m.memo[uint32(key)] = v
	return m.push(v, costOfMemo)
}

func (m *machine) recall(key uint64, err error) error {
	if err != nil {
		return err
	}
	v, ok := m.memo[uint32(key)]
	if !ok {
		return fmt.Errorf("value %d of the memo, which has none", key)
	}
	return m.push(v, 0)
}
