// The stack machine: executes one opcode after another, as Python's pickletools describes them.

package torch

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
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
		op, err := m.uint(1)
		if err != nil {
			return nil, err
		}
		if op == '.' { // STOP
			v, err := m.pop()
			if err == nil && len(m.stack)+len(m.marks) > 0 {
				err = fmt.Errorf("STOP with %d more values on the stack, want none", len(m.stack))
			}
			return v, err
		}
		if err := m.step(byte(op)); err != nil {
			return nil, err
		}
		if len(m.stack)+len(m.marks) > maxHeight {
			return nil, fmt.Errorf("more than %d values on the stack", maxHeight)
		}
	}
}

// step executes one opcode. The comments are pickletools' names.
func (m *machine) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		return m.protocol()
	case 0x95: // FRAME: a hint for readers of streams
		_, err := m.bytes(8)
		return err
	case '(': // MARK
		m.marks = append(m.marks, len(m.stack))
		return nil
	case 'N': // NONE
		return m.push(nil, 0)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return m.push(op == 0x88, 0)
	case 'J': // BININT, the only one with a sign
		n, err := m.uint(4)
		return m.number(int64(int32(n)), err)
	case 'K': // BININT1
		return m.natural(m.uint(1))
	case 'M': // BININT2
		return m.natural(m.uint(2))
	case 'G': // BINFLOAT
		n, err := m.uint(8)
		return m.number(math.Float64frombits(bits.ReverseBytes64(n)), err)
	case 0x8a: // LONG1
		return m.long()
	case 'U', 0x8c: // SHORT_BINSTRING, of Python 2, and SHORT_BINUNICODE
		return m.text(m.counted(1))
	case 'X': // BINUNICODE
		return m.text(m.counted(4))
	case 'C': // SHORT_BINBYTES
		return m.octets(m.counted(1))
	case 'B': // BINBYTES
		return m.octets(m.counted(4))
	case 0x96: // BYTEARRAY8
		return m.octets(m.counted(8))
	case ')', 0x85, 0x86, 0x87: // EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3
		return m.tuple(m.take(max(0, int(op)-0x84)))
	case 't': // TUPLE
		return m.tuple(m.popMark())
	case ']', 0x8f: // EMPTY_LIST, EMPTY_SET
		return m.push(&List{}, costOfContainer)
	case '}': // EMPTY_DICT
		return m.push(newDict(), costOfContainer)
	case 0x91: // FROZENSET
		items, err := m.popMark()
		m.stack = append(m.stack, &List{slices.Clone(items)})
		return cmp.Or(err, m.spend(costOfContainer+costOfItem*len(items)))
	case 'a': // APPEND
		return m.appendItems(m.take(1))
	case 'e', 0x90: // APPENDS, ADDITEMS
		return m.appendItems(m.popMark())
	case 's': // SETITEM
		return m.setItems(m.take(2))
	case 'u': // SETITEMS
		return m.setItems(m.popMark())
	case 'q': // BINPUT
		return m.remember(m.uint(1))
	case 'r': // LONG_BINPUT
		return m.remember(m.uint(4))
	case 0x94: // MEMOIZE
		return m.remember(uint64(len(m.memo)), nil)
	case 'h': // BINGET
		return m.recall(m.uint(1))
	case 'j': // LONG_BINGET
		return m.recall(m.uint(4))
	case 'c': // GLOBAL
		return m.global(m.lines())
	case 0x93: // STACK_GLOBAL
		return m.global(m.names())
	case 'Q': // BINPERSID
		return m.persistent()
	case 0x92: // NEWOBJ_EX
		return m.newObjectEx()
	case 'R', 0x81: // REDUCE, NEWOBJ
		return m.reduce(op == 0x81)
	case 'b': // BUILD
		return m.build()
	}
	return unknownOpcode(op)
}

// protocol reads PROTO's argument: 2, or 3 to 5, whose additional opcodes are mostly not supported.
func (m *machine) protocol() error {
	n, err := m.uint(1)
	if err == nil && (n < 2 || n > 5) {
		err = fmt.Errorf("protocol %d, want 2 to 5", n)
	}
	return err
}

// uint reads a number of so many bytes, the lowest first.
func (m *machine) uint(size uint64) (uint64, error) {
	b, err := m.bytes(size)
	var whole [8]byte
	copy(whole[:], b)
	return binary.LittleEndian.Uint64(whole[:]), err
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
