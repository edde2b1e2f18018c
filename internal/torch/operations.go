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

// long reads a two's complement number of any length, the least significant byte first.
func (m *machine) long() {
	b := m.bytes(m.uint(1))
	cost := costOfNumber + 2*len(b)
	if len(b) <= 8 {
		var whole [8]byte
		copy(whole[:], b)
		shift := 64 - 8*len(b)
		m.push(int64(binary.LittleEndian.Uint64(whole[:])<<shift)>>shift, cost)
		return
	}
	b = slices.Clone(b)
	slices.Reverse(b)
	n := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	m.push(n, cost)
}

// counted reads bytes after their number, which has so many bytes.
func (m *machine) counted(size uint64) []byte {
	b := m.bytes(m.uint(size))
	m.spend(2*costOfNumber + len(b))
	return b
}

// text pushes a string, in UTF-8 or, from Python 2, in ASCII.
func (m *machine) text(b []byte) {
	if !utf8.Valid(b) {
		m.keep(errors.New("a string that is not valid UTF-8"))
	}
	m.push(string(b), 0)
}

func (m *machine) tuple(items []any) {
	m.push(Tuple(slices.Clone(items)), costOfContainer+costOfItem*len(items))
}

// below returns the container below items that were popped, which stays.
func (m *machine) below() any {
	v := m.pop()
	m.push(v, 0)
	return v
}

func (m *machine) appendItems(items []any) {
	to := m.below()
	if o, ok := to.(*Object); ok {
		if o.List == nil {
			o.List = &List{}
		}
		to = o.List
	}
	list, ok := to.(*List)
	if !ok {
		m.fail("items for %s, want a list", Kind(to))
		return
	}
	list.Items = append(list.Items, items...)
	m.spend(costOfItem * len(items))
}

func (m *machine) setItems(items []any) {
	to := m.below()
	if o, ok := to.(*Object); ok {
		if o.Dict == nil {
			o.Dict = newDict()
		}
		to = o.Dict
	}
	dict, ok := to.(*Dict)
	if !ok {
		m.fail("keys and values for %s, want a dict", Kind(to))
		return
	}
	if len(items)%2 != 0 {
		m.keep(errors.New("a key without a value"))
	}
	m.spend(costOfEntry * len(items) / 2)
	for i := 0; i < len(items) && m.err == nil; i += 2 {
		m.keep(dict.set(items[i], items[i+1]))
	}
}

// remember stores the value on top in the memo, which is a map because the file chooses its keys.
func (m *machine) remember(key uint64) {
	v := m.pop()
	m.memo[uint32(key)] = v
	m.push(v, costOfMemo)
}

func (m *machine) recall(key uint64) {
	v, ok := m.memo[uint32(key)]
	if !ok {
		m.fail("value %d of the memo, which has none", key)
	}
	m.push(v, 0)
}
