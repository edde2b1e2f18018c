// The stack machine: executes one opcode after another, as Python's pickletools describes them.

package torch

import (
	"errors"
	"fmt"
)

// The supported opcodes, with pickletools' names.
const (
	opProto          = 0x80
	opFrame          = 0x95
	opStop           = '.'
	opMark           = '('
	opNone           = 'N'
	opNewTrue        = 0x88
	opNewFalse       = 0x89
	opBinInt         = 'J'
	opBinInt1        = 'K'
	opBinInt2        = 'M'
	opLong1          = 0x8a
	opBinFloat       = 'G'
	opBinUnicode     = 'X'
	opShortUnicode   = 0x8c
	opShortBinString = 'U'
	opBinBytes       = 'B'
	opShortBinBytes  = 'C'
	opByteArray8     = 0x96
	opEmptyTuple     = ')'
	opTuple1         = 0x85
	opTuple2         = 0x86
	opTuple3         = 0x87
	opTuple          = 't'
	opEmptyList      = ']'
	opAppend         = 'a'
	opAppends        = 'e'
	opEmptySet       = 0x8f
	opAddItems       = 0x90
	opFrozenSet      = 0x91
	opEmptyDict      = '}'
	opSetItem        = 's'
	opSetItems       = 'u'
	opBinPut         = 'q'
	opLongBinPut     = 'r'
	opMemoize        = 0x94
	opBinGet         = 'h'
	opLongBinGet     = 'j'
	opGlobal         = 'c'
	opStackGlobal    = 0x93
	opBinPersID      = 'Q'
	opReduce         = 'R'
	opNewObj         = 0x81
	opNewObjEx       = 0x92
	opBuild          = 'b'
)

// The approximate memory of values, in bytes.
const (
	costOfContainer = 64
	costOfItem      = 64 // append reallocates several times
	costOfEntry     = 96 // of a dict
	costOfMemo      = 64
	costOfNumber    = 16
)

// A machine reads one pickle.
type machine struct {
	*Decoder
	opcode int // the offset of the current one
	stack  []any
	marks  []int // heights of the stack
	memo   map[uint32]any
}

// ErrShort is the error of Next, wrapped, where the pickle goes on after the bytes.
var ErrShort = errors.New("the pickle ends before its STOP: cut short?")

func (m *machine) run() (any, error) {
	for {
		m.opcode = m.at
		op, err := m.byte()
		if err != nil {
			return nil, err
		}
		if op == opStop {
			v, err := m.pop()
			if err == nil && len(m.stack)+len(m.marks) > 0 {
				err = fmt.Errorf("STOP with %d more values on the stack, want none", len(m.stack))
			}
			return v, err
		}
		if err := m.step(op); err != nil {
			return nil, err
		}
		if len(m.stack)+len(m.marks) > maxHeight {
			return nil, fmt.Errorf("more than %d values on the stack", maxHeight)
		}
	}
}

// step executes one opcode.
func (m *machine) step(op byte) error {
	switch op {
	case opProto:
		return m.protocol()
	case opFrame: // a hint for readers of streams; ignored
		_, err := m.bytes(8)
		return err
	case opMark:
		m.marks = append(m.marks, len(m.stack))
		return nil
	case opNone:
		return m.push(nil, 0)
	case opNewTrue, opNewFalse:
		return m.push(op == opNewTrue, 0)
	case opBinInt, opBinInt1, opBinInt2, opLong1, opBinFloat:
		return m.number(op)
	case opBinUnicode, opShortUnicode, opShortBinString, opBinBytes, opShortBinBytes,
		opByteArray8:
		return m.text(op)
	case opEmptyTuple, opTuple1, opTuple2, opTuple3, opTuple:
		return m.tuple(op)
	case opEmptyList, opEmptySet:
		return m.push(&List{}, costOfContainer)
	case opEmptyDict:
		return m.push(newDict(), costOfContainer)
	case opFrozenSet:
		return m.frozenSet()
	case opAppend, opAppends, opAddItems:
		return m.appendItems(op != opAppend)
	case opSetItem, opSetItems:
		return m.setItems(op == opSetItems)
	case opBinPut, opLongBinPut, opMemoize:
		return m.remember(op)
	case opBinGet, opLongBinGet:
		return m.recall(op)
	case opGlobal, opStackGlobal:
		return m.global(op)
	case opBinPersID:
		return m.persistent()
	case opNewObjEx:
		return m.newObjectEx()
	case opReduce, opNewObj:
		return m.reduce(op == opNewObj)
	case opBuild:
		return m.build()
	}
	return unknownOpcode(op)
}

// protocol reads PROTO's argument: 2, or 3 to 5, whose additional opcodes are mostly not supported.
func (m *machine) protocol() error {
	b, err := m.byte()
	if err == nil && (b < 2 || b > 5) {
		err = fmt.Errorf("protocol %d, want 2 to 5", b)
	}
	return err
}

func (m *machine) byte() (byte, error) {
	b, err := m.bytes(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// bytes returns the next n bytes of the file.
func (m *machine) bytes(n uint64) ([]byte, error) {
	if n > uint64(len(m.data)-m.at) {
		return nil, ErrShort
	}
	if m.at+int(n) > maxBytes {
		return nil, fmt.Errorf("a pickle of more than %d bytes", maxBytes)
	}
	b := m.data[m.at:][:n]
	m.at += int(n)
	return b, nil
}

// push pushes a value that takes cost bytes of memory.
func (m *machine) push(v any, cost int) error {
	m.stack = append(m.stack, v)
	return m.spend(cost)
}

func (m *machine) spend(cost int) error {
	if m.memory -= cost; m.memory < 0 {
		return fmt.Errorf("values of more than %d bytes", maxMemory)
	}
	return nil
}

// take pops n values, above the last mark. They are valid until the next push.
func (m *machine) take(n int) ([]any, error) {
	floor := 0
	if len(m.marks) > 0 {
		floor = m.marks[len(m.marks)-1]
	}
	at := len(m.stack) - n
	if at < floor {
		return nil, errors.New("nothing on the stack where a value is wanted")
	}
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return items, nil
}

func (m *machine) pop() (any, error) {
	v, err := m.take(1)
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

// popMark pops the values above the last mark. They are valid until the next push.
func (m *machine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, errors.New("no mark on the stack where one is wanted")
	}
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return items, nil
}
