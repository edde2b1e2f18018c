package ptx

// Executing instructions.

import (
	"math"
	mathbits "math/bits"
)

// value returns a number of the instruction's width, extended to 64 bits.
func (in *instruction) value(v uint64) uint64 {
	v <<= in.shift
	if in.signed {
		return uint64(int64(v) >> in.shift)
	}
	return v >> in.shift
}

func (in *instruction) less(a, b uint64) bool {
	a, b = in.value(a), in.value(b)
	if in.signed {
		return int64(a) < int64(b)
	}
	return a < b
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func f32(v uint64) float32   { return math.Float32frombits(uint32(v)) }
func fbits(f float32) uint64 { return uint64(math.Float32bits(f)) }
func f64(v uint64) float64   { return math.Float64frombits(v) }
func d64(f float64) uint64   { return math.Float64bits(f) }

// run runs an item up to its next barrier or mma, or its end. If it did something wrong, run
// describes that; the instruction is the one before it.pc.
func (m *Machine) run(it *item) (wrong string) {
	code, r, pc := m.kernel.code, &it.r, it.pc
	start := m.Counts.Instructions
	n := int64(0)
	defer func() { it.pc, m.Counts.Instructions = pc, start+n }()
	for {
		in := &code[pc]
		pc++
		n++
		a, b := r[in.x[1]%4096], r[in.x[2]%4096]
		var v uint64
		switch in.op {
		case opBranch:
			pc = int(in.offset)
			continue
		case opSkip, opSkipUnless:
			n-- // on a device it is a part of the other instruction
			if (r[in.x[0]%4096] != 0) == (in.op == opSkipUnless) {
				pc++
				n++
			}
			continue
		case opBarrier:
			return ""
		case opMatrix:
			it.waits = true
			return ""
		case opReturn:
			it.done = true
			return ""
		case opLoadParam:
			r[in.x[0]%4096] = m.params[in.offset]
			continue
		case opLoadGlobal, opStoreGlobal:
			if w, ok := m.weight(in, r); ok {
				r[in.x[0]%4096] = w
				continue
			}
			if wrong := m.global(in, r); wrong != "" {
				return wrong
			}
			continue
		case opLoadShared, opStoreShared:
			if wrong := m.local(in, r); wrong != "" {
				return wrong
			}
			continue
		case opFMA:
			m.Counts.FMAs++
			v = fbits(fma(f32(a), f32(b), f32(r[in.x[3]%4096])))
		case opFAdd:
			v = fbits(f32(a) + f32(b))
		case opFSub:
			v = fbits(f32(a) - f32(b))
		case opFMul:
			v = fbits(f32(a) * f32(b))
		case opFDiv:
			v = fbits(f32(a) / f32(b))
		case opFSqrt:
			v = fbits(float32(math.Sqrt(float64(f32(a)))))
		case opFNeg:
			v = a ^ 1<<31
		case opFAbs:
			v = a &^ (1 << 31)
		case opFMax: // a NaN loses, and +0 is greater than −0
			switch x, y := f32(a), f32(b); {
			case x != x && y != y:
				v = 0x7fffffff
			case y != y || x > y || x == y && x == 0 && a&(1<<31) == 0:
				v = fbits(x)
			default:
				v = fbits(y)
			}
		case opFEqual:
			v = truth(f32(a) == f32(b))
		case opFNotEqual:
			v = truth(f32(a) != f32(b))
		case opFLess:
			v = truth(f32(a) < f32(b))
		case opFLessEqual:
			v = truth(f32(a) <= f32(b))
		case opFUnordered:
			v = truth(f32(a) != f32(a) || f32(b) != f32(b))
		case opFromInt:
			v = in.toFloat(a)
		case opFromHalf:
			v = fbits(fromHalf(uint16(a)))
		case opToInt:
			v = toInt(f32(a))
		case opMov:
			v = a
		case opAdd:
			v = a + b
		case opSub:
			v = a - b
		case opMul:
			v = in.value(a) * in.value(b)
		case opMad:
			v = in.value(a)*in.value(b) + r[in.x[3]%4096]
		case opShl:
			v = in.value(a) << uint32(b)
		case opAnd:
			v = a & b
		case opOr:
			v = a | b
		case opXor:
			v = a ^ b
		case opExtract: // unsigned: some bits from bit b on
			v = in.value(a) >> uint8(b) & (1<<uint8(r[in.x[3]%4096]) - 1)
		case opDotLow:
			v = dot2(a, b, r[in.x[3]%4096])
		case opDotHigh:
			v = dot2(a, b>>16, r[in.x[3]%4096])
		case opPermute:
			v = permute(a, b, r[in.x[3]%4096])
		case opConvert:
			v = in.value(a)
		case opSelect:
			v = b
			if r[in.x[3]%4096] != 0 {
				v = a
			}
		case opEqual:
			v = truth(in.value(a) == in.value(b))
		case opNotEqual:
			v = truth(in.value(a) != in.value(b))
		case opLess:
			v = truth(in.less(a, b))
		case opLessEqual:
			v = truth(!in.less(b, a))
		case opDiv, opRem:
			if in.value(b) == 0 {
				return "divides by zero"
			}
			v = in.divide(in.value(a), in.value(b))
		case opFMA64:
			v = d64(math.FMA(f64(a), f64(b), f64(r[in.x[3]%4096])))
		default:
			v = in.seldom(a, b)
		}
		r[in.x[0]%4096] = v & in.mask
	}
}

// seldom executes the instructions that are too rare for the main loop.
func (in *instruction) seldom(a, b uint64) uint64 {
	switch in.op {
	case opAdd64:
		return d64(f64(a) + f64(b))
	case opSub64:
		return d64(f64(a) - f64(b))
	case opMul64:
		return d64(f64(a) * f64(b))
	case opNeg64:
		return a ^ 1<<63
	case opLess64:
		return truth(f64(a) < f64(b))
	case opWiden:
		return d64(float64(f32(a)))
	case opNot:
		return ^a
	case opNeg:
		return -a
	case opShr:
		if in.signed {
			return uint64(int64(in.value(a)) >> uint32(b))
		}
		return in.value(a) >> uint32(b)
	case opMin:
		if in.less(b, a) {
			return b
		}
		return a
	case opMax:
		if in.less(a, b) {
			return b
		}
		return a
	}
	// opMulHigh: the upper half of a product of twice the width.
	width := 64 - in.shift
	if width < 64 {
		return in.value(a) * in.value(b) >> width
	}
	high, _ := mathbits.Mul64(a, b)
	if in.signed {
		high -= a&uint64(int64(b)>>63) + b&uint64(int64(a)>>63)
	}
	return high
}

// dot2 executes dp2a: sum and the products of two int16s and of the lower two int8s of b.
func dot2(a, b, sum uint64) uint64 {
	return uint64(int64(sum) + int64(int16(a))*int64(int8(b)) +
		int64(int16(a>>16))*int64(int8(b>>8)))
}

// permute executes prmt: each four bits of the selector choose one of the eight bytes of a and b,
// a's first, or with the highest bit eight times that byte's sign.
func permute(a, b, selector uint64) (v uint64) {
	bytes := a&(1<<32-1) | b<<32
	for i := range 4 {
		s := selector >> (4 * i)
		chosen := bytes >> (8 * (s & 7)) & 0xff
		if s&8 != 0 {
			chosen = uint64(int8(chosen)>>7) & 0xff
		}
		v |= chosen << (8 * i)
	}
	return v
}

// divide executes div or rem; the operands are extended, and b is not 0.
func (in *instruction) divide(a, b uint64) uint64 {
	switch {
	case in.signed && in.op == opDiv:
		return uint64(int64(a) / int64(b))
	case in.signed:
		return uint64(int64(a) % int64(b))
	case in.op == opDiv:
		return a / b
	}
	return a % b
}

// toFloat executes cvt.rn.f32 of an integer.
func (in *instruction) toFloat(a uint64) uint64 {
	a = in.value(a)
	if in.signed {
		return fbits(float32(int64(a)))
	}
	return fbits(float32(a))
}

// fromHalf executes cvt.f32.f16, which is exact.
func fromHalf(h uint16) float32 {
	exponent, fraction := int(h>>10&31), float64(h&1023)
	f := math.Ldexp(1024+fraction, exponent-25)
	switch {
	case exponent == 0:
		f = math.Ldexp(fraction, -24)
	case exponent == 31 && fraction != 0:
		f = math.NaN()
	case exponent == 31:
		f = math.Inf(1)
	}
	if h>>15 == 1 {
		f = -f
	}
	return float32(f)
}

// toInt executes cvt.rzi.s32.f32: a number that does not fit gives the nearest one that does, NaN
// gives 0.
func toInt(f float32) uint64 {
	switch {
	case f != f:
		return 0
	case f >= 1<<31:
		return math.MaxInt32
	case f < -(1 << 31):
		return 1 << 31
	}
	return uint64(int64(f))
}

// fma executes fma.rn.f32. The product of two float32s is exact in float64, so that the float64
// sum, rounded to float32, is right, with two exceptions: the float64 sum was itself rounded to a
// number halfway between two float32s, or the result has fewer bits because it is subnormal in
// float32.
func fma(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := float64(p + float64(c))
	bits := math.Float64bits(s)
	if bits<<35 == 1<<63 || bits<<1 < (1023-126)<<53 {
		return roundedOnce(p, float64(c), s)
	}
	return float32(s)
}

// roundedOnce rounds p + q, whose float64 sum is s, to odd in float64. Rounding that to float32
// gives the same as rounding once (Boldo and Melquiond, "Emulation of a FMA and correctly rounded
// sums", 2008).
func roundedOnce(p, q, s float64) float32 {
	t := float64(s - p)
	e := float64(p-float64(s-t)) + float64(q-t) // s + e = p + q exactly (Knuth's TwoSum)
	if e == 0 || e != e {
		return float32(s)
	}
	if bits := math.Float64bits(s); bits&1 == 0 {
		if (e > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}
