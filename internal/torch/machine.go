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

// A machine reads one pickle. It keeps the first error, and reads zero values after it.
type machine struct {
	*Decoder
	opcode int // the offset of the current one
	stack  []any
	marks  []int // heights of the stack
	memo   map[uint32]any
	err    error
}

// ErrShort is the error of Next, wrapped, where the pickle goes on after the bytes.
var ErrShort = errors.New("the pickle ends before its STOP: cut short?")

func (m *machine) run() (any, error) {
	for {
		m.opcode = m.at
		op := byte(m.uint(1))
		if op == '.' { // STOP
			v := m.pop()
			if len(m.stack)+len(m.marks) > 0 {
				m.fail("STOP with %d more values on the stack, want none", len(m.stack))
			}
			return v, m.err
		}
		m.step(op)
		if len(m.stack)+len(m.marks) > maxHeight {
			m.fail("more than %d values on the stack", maxHeight)
		}
		if m.err != nil {
			return nil, m.err
		}
	}
}

// fail keeps an error, unless there is one.
func (m *machine) fail(format string, args ...any) { m.keep(fmt.Errorf(format, args...)) }

func (m *machine) keep(err error) { m.err = cmp.Or(m.err, err) }

// step executes one opcode. The comments are pickletools' names.
func (m *machine) step(op byte) {
	switch op {
	case 0x80: // PROTO: 2, or 3 to 5, whose additional opcodes are mostly not supported
		if n := m.uint(1); n < 2 || n > 5 {
			m.fail("protocol %d, want 2 to 5", n)
		}
	case 0x95: // FRAME: a hint for readers of streams
		m.bytes(8)
	case '(': // MARK
		m.marks = append(m.marks, len(m.stack))
	case 'N': // NONE
		m.push(nil, 0)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		m.push(op == 0x88, 0)
	case 'J': // BININT, the only one with a sign
		m.push(int64(int32(m.uint(4))), costOfNumber)
	case 'K': // BININT1
		m.push(int64(m.uint(1)), costOfNumber)
	case 'M': // BININT2
		m.push(int64(m.uint(2)), costOfNumber)
	case 'G': // BINFLOAT
		m.push(math.Float64frombits(bits.ReverseBytes64(m.uint(8))), costOfNumber)
	case 0x8a: // LONG1
		m.long()
	case 'U', 0x8c: // SHORT_BINSTRING, of Python 2, and SHORT_BINUNICODE
		m.text(m.counted(1))
	case 'X': // BINUNICODE
		m.text(m.counted(4))
	case 'C': // SHORT_BINBYTES
		m.push(slices.Clone(m.counted(1)), 0)
	case 'B': // BINBYTES
		m.push(slices.Clone(m.counted(4)), 0)
	case 0x96: // BYTEARRAY8
		m.push(slices.Clone(m.counted(8)), 0)
	case ')', 0x85, 0x86, 0x87: // EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3
		m.tuple(m.take(max(0, int(op)-0x84)))
	case 't': // TUPLE
		m.tuple(m.popMark())
	case ']', 0x8f: // EMPTY_LIST, EMPTY_SET
		m.push(&List{}, costOfContainer)
	case '}': // EMPTY_DICT
		m.push(newDict(), costOfContainer)
	case 0x91: // FROZENSET
		items := m.popMark()
		m.push(&List{slices.Clone(items)}, costOfContainer+costOfItem*len(items))
	case 'a': // APPEND
		m.appendItems(m.take(1))
	case 'e', 0x90: // APPENDS, ADDITEMS
		m.appendItems(m.popMark())
	case 's': // SETITEM
		m.setItems(m.take(2))
	case 'u': // SETITEMS
		m.setItems(m.popMark())
	case 'q': // BINPUT
		m.remember(m.uint(1))
	case 'r': // LONG_BINPUT
		m.remember(m.uint(4))
	case 0x94: // MEMOIZE
		m.remember(uint64(len(m.memo)))
	case 'h': // BINGET
		m.recall(m.uint(1))
	case 'j': // LONG_BINGET
		m.recall(m.uint(4))
	case 'c': // GLOBAL
		module := m.line()
		m.global(module, m.line())
	case 0x93: // STACK_GLOBAL
		name := m.name()
		m.global(m.name(), name)
	case 'Q': // BINPERSID
		m.persistent()
	case 0x92: // NEWOBJ_EX
		m.newObjectEx()
	case 'R', 0x81: // REDUCE, NEWOBJ
		m.reduce(op == 0x81)
	case 'b': // BUILD
		m.build()
	default:
		m.keep(unknownOpcode(op))
	}
}

// uint reads a number of so many bytes, the lowest first.
func (m *machine) uint(size uint64) uint64 {
	var whole [8]byte
	copy(whole[:], m.bytes(size))
	return binary.LittleEndian.Uint64(whole[:])
}

// bytes returns the next n bytes of the file.
func (m *machine) bytes(n uint64) []byte {
	switch {
	case n > uint64(len(m.data)-m.at):
		m.keep(ErrShort)
	case m.at+int(n) > maxBytes:
		m.fail("a pickle of more than %d bytes", maxBytes)
	}
	if m.err != nil {
		return nil
	}
	b := m.data[m.at:][:n]
	m.at += int(n)
	return b
}

// push pushes a value that takes cost bytes of memory.
func (m *machine) push(v any, cost int) {
	m.stack = append(m.stack, v)
	m.spend(cost)
}

func (m *machine) spend(cost int) {
	if m.memory -= cost; m.memory < 0 {
		m.fail("values of more than %d bytes", maxMemory)
	}
}

// take pops n values, above the last mark. They are valid until the next push.
func (m *machine) take(n int) []any {
	floor := 0
	if len(m.marks) > 0 {
		floor = m.marks[len(m.marks)-1]
	}
	at := len(m.stack) - n
	if at < floor {
		m.keep(errors.New("nothing on the stack where a value is wanted"))
		return make([]any, n)
	}
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return items
}

func (m *machine) pop() any { return m.take(1)[0] }

// popMark pops the values above the last mark. They are valid until the next push.
func (m *machine) popMark() []any {
	if len(m.marks) == 0 {
		m.keep(errors.New("no mark on the stack where one is wanted"))
		return nil
	}
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return items
}
