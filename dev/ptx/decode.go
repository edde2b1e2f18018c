package ptx

// Decoding: one line of PTX to one instruction.

import (
	"errors"
	"fmt"
	mathbits "math/bits"
	"strconv"
	"strings"
)

// An instruction in the form in which it runs. Registers hold 64 bits; the upper bits of a narrower
// number are undefined, so that each instruction has the width of its operands.
type instruction struct {
	op     operation
	signed bool
	shift  uint8     // 64 minus the width of the operands in bits
	size   uint8     // of a number in memory, in bytes
	count  uint8     // how many numbers a load or store moves
	x      [5]uint16 // registers, the result first; for a load or store the address is last
	mask   uint64    // the bits of the result
	offset uint64    // added to an address; or the number of an instruction or parameter
}

// A line with a predicate is two instructions: one that skips the other, and the other.

type operation uint8

const (
	opMov operation = iota
	opAdd
	opSub
	opMul
	opMad
	opMulHigh
	opAnd
	opOr
	opXor
	opNot
	opNeg
	opShl
	opShr
	opMin
	opMax
	opDiv
	opRem
	opExtract
	opDotLow
	opDotHigh
	opPermute
	opConvert
	opSelect
	opEqual
	opNotEqual
	opLess
	opLessEqual
	opFEqual
	opFNotEqual
	opFLess
	opFLessEqual
	opFUnordered
	opFAdd
	opFSub
	opFMul
	opFMA
	opFDiv
	opFSqrt
	opFNeg
	opFAbs
	opFMax
	opFromInt
	opFromHalf
	opToInt
	opAdd64 // of float64s, as all below
	opSub64
	opMul64
	opFMA64
	opLess64
	opNeg64
	opWiden // float32 to float64
	opLoadParam
	opLoadGlobal
	opLoadShared
	opStoreGlobal
	opStoreShared
	opBranch
	opSkip       // the next instruction, if register x[0] is 0
	opSkipUnless // if it is not
	opBarrier
	opMatrix // waits for the other items of the warp
	opReturn
)

// width returns the size of a type in bytes, and whether it is signed.
func width(kind string) (size int, signed bool, err error) {
	switch kind {
	case "b8", "u8", "s8":
		size = 1
	case "b16", "u16", "s16":
		size = 2
	case "b32", "u32", "s32", "f32":
		size = 4
	case "b64", "u64", "s64", "f64":
		size = 8
	default:
		return 0, false, fmt.Errorf("type %q is not known", kind)
	}
	return size, kind[0] == 's', nil
}

func bits(size int) uint64 { return 1<<(8*size) - 1 }

var errUnknown = errors.New("the instruction is not known, or is not allowed in kernels")

// skip returns the instruction for a predicate, @%p1 or @!%p1, before another instruction.
func (p *parser) skip(predicate string) (instruction, error) {
	in := instruction{op: opSkip}
	name, isNot := strings.CutPrefix(predicate[1:], "!")
	if isNot {
		in.op = opSkipUnless
	}
	var err error
	in.x[0], err = p.operand(name)
	return in, err
}

func (p *parser) instruction(line string) (instruction, error) {
	if line[0] == '@' {
		return p.skip(line)
	}
	in := instruction{count: 1}
	name, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	args := arguments(rest)
	parts := strings.Split(name, ".")
	switch parts[0] {
	case "ld", "st":
		return in, p.memory(&in, parts, args)
	case "bra":
		to, found := p.labels[rest]
		if !found {
			return in, fmt.Errorf("no label %q", rest)
		}
		in.op, in.offset = opBranch, uint64(to)
		return in, nil
	case "bar":
		if name != "bar.sync" || rest != "0" {
			return in, errUnknown
		}
		in.op = opBarrier
		return in, nil
	case "mma":
		return in, p.matrix(&in, name, args)
	case "ret":
		in.op = opReturn
		return in, nil
	}
	count, err := p.arithmetic(&in, name, parts)
	if err != nil {
		return in, err
	}
	if len(args) != count {
		return in, fmt.Errorf("%d operands, want %d", len(args), count)
	}
	for i, a := range args {
		if in.x[i], err = p.operand(a); err != nil {
			return in, err
		}
	}
	switch {
	case strings.HasPrefix(name, "setp.g"):
		in.x[1], in.x[2] = in.x[2], in.x[1] // x > y becomes y < x
	case name == "rcp.rn.f32":
		const one = 0x3f800000
		in.x[1], in.x[2] = uint16(p.value(one)), in.x[1]
	}
	return in, nil
}

// arguments splits `%r1, [%rd2+4]` and `{%f1, %f2}, [%rd2]`.
func arguments(s string) []string {
	if s == "" {
		return nil
	}
	args := strings.Split(s, ",")
	for i := range args {
		args[i] = strings.TrimSpace(args[i])
	}
	return args
}

// arithmetic decodes instructions other than memory and control, and returns the number of
// operands.
func (p *parser) arithmetic(in *instruction, name string, parts []string) (int, error) {
	if op, count := single(name); count > 0 {
		in.op, in.mask = op, bits(4)
		return count, nil
	}
	if op, count := float(name); count > 0 {
		if in.op, in.mask = op, bits(4); op >= opAdd64 {
			in.mask = bits(8)
		}
		if relation(op) {
			in.mask = 1
		}
		return count, nil
	}
	kind := parts[len(parts)-1]
	if kind == "pred" {
		in.mask, in.shift = 1, 63
	} else if parts[0] == "cvt" {
		return 2, convert(in, parts)
	} else {
		size, signed, err := width(kind)
		if err != nil {
			return 0, err
		}
		in.mask, in.shift, in.signed = bits(size), uint8(64-8*size), signed
	}
	if strings.HasPrefix(kind, "f") && parts[0] != "mov" && parts[0] != "selp" {
		return 0, errUnknown // float has all instructions that round
	}
	if parts[0] == "bfe" && in.signed {
		return 0, errUnknown
	}
	op, count := integer(strings.TrimSuffix(name, "."+kind))
	if count == 0 {
		return 0, errUnknown
	}
	in.op = op
	switch {
	case parts[0] == "setp":
		in.mask = 1
	case len(parts) == 3 && parts[1] == "wide":
		in.mask = bits(2 * (64 - int(in.shift)) / 8)
	}
	return count, nil
}

func relation(op operation) bool {
	return op >= opFEqual && op <= opFUnordered || op == opLess64
}

// memory decodes loads and stores: `ld.global.v2.f32 {%f1, %f2}, [%rd1+8]`.
func (p *parser) memory(in *instruction, parts, args []string) error {
	if len(parts) == 4 && len(parts[2]) == 2 && parts[2][0] == 'v' {
		in.count = parts[2][1] - '0'
	}
	size, signed, err := width(parts[len(parts)-1])
	if err != nil {
		return err
	}
	in.size, in.signed, in.shift = uint8(size), signed, uint8(64-8*size)
	var op operation
	switch parts[0] + "." + parts[1] {
	case "ld.param":
		op = opLoadParam
	case "ld.global":
		op = opLoadGlobal
	case "ld.shared":
		op = opLoadShared
	case "st.global":
		op = opStoreGlobal
	case "st.shared":
		op = opStoreShared
	default:
		return errUnknown
	}
	if len(parts) > 4 || len(parts) == 4 && in.count != 2 && in.count != 4 {
		return errUnknown
	}
	in.op = op
	if len(args) != int(in.count)+1 {
		return fmt.Errorf("%d operands, want %d", len(args), in.count+1)
	}
	address := args[len(args)-1]
	values := args[:len(args)-1]
	if parts[0] == "st" {
		address, values = args[0], args[1:]
	}
	for i, v := range values {
		if in.x[i], err = p.operand(strings.Trim(v, "{}")); err != nil {
			return err
		}
	}
	switch op {
	case opLoadShared, opStoreShared:
		p.sharedCell = min(p.sharedCell, uint8(mathbits.TrailingZeros(uint(size))))
	case opLoadGlobal, opStoreGlobal:
		p.globalCell = min(p.globalCell, uint8(mathbits.TrailingZeros(uint(size))))
	}
	return p.address(in, strings.Trim(address, "[]"))
}

// address decodes the address of a load or store: a register and an offset, or a parameter.
func (p *parser) address(in *instruction, s string) error {
	if in.op == opLoadParam {
		n, found := p.params[s]
		if !found {
			return fmt.Errorf("no parameter %q", s)
		}
		if p.kernel.params[n] != int(in.size) {
			return fmt.Errorf("loads %d bytes of a parameter of %d", in.size, p.kernel.params[n])
		}
		in.offset = uint64(n)
		return nil
	}
	base, offset, isSum := strings.Cut(s, "+")
	if isSum {
		n, err := strconv.ParseInt(offset, 10, 64)
		if err != nil {
			return fmt.Errorf("offset %q is no number", offset)
		}
		in.offset = uint64(n)
	}
	reg, err := p.operand(base)
	in.x[4] = reg
	return err
}
