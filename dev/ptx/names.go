package ptx

// The names of instructions. Names that are not listed here are refused.

// float returns the instructions on floating-point numbers that round to nearest, or not at all.
// For others it returns 0 operands.
func float(name string) (operation, int) {
	switch name {
	case "add.rn.f32":
		return opFAdd, 3
	case "sub.rn.f32":
		return opFSub, 3
	case "mul.rn.f32":
		return opFMul, 3
	case "fma.rn.f32":
		return opFMA, 4
	case "div.rn.f32":
		return opFDiv, 3
	case "rcp.rn.f32":
		return opFDiv, 2
	case "sqrt.rn.f32":
		return opFSqrt, 2
	case "neg.f32":
		return opFNeg, 2
	case "abs.f32":
		return opFAbs, 2
	case "max.f32":
		return opFMax, 3
	case "setp.eq.f32":
		return opFEqual, 3
	case "setp.neu.f32":
		return opFNotEqual, 3
	case "setp.lt.f32", "setp.gt.f32":
		return opFLess, 3
	case "setp.le.f32", "setp.ge.f32":
		return opFLessEqual, 3
	case "setp.nan.f32":
		return opFUnordered, 3
	case "add.rn.f64":
		return opAdd64, 3
	case "sub.rn.f64":
		return opSub64, 3
	case "mul.rn.f64":
		return opMul64, 3
	case "fma.rn.f64":
		return opFMA64, 4
	case "neg.f64":
		return opNeg64, 2
	case "setp.lt.f64", "setp.gt.f64":
		return opLess64, 3
	case "cvt.f64.f32":
		return opWiden, 2
	}
	return 0, 0
}

// single returns the instructions that have a result of 32 bits and exist here in one type alone.
// For others it returns 0 operands.
func single(name string) (operation, int) {
	switch name {
	case "cvt.f32.f16":
		return opFromHalf, 2
	case "dp2a.lo.s32.s32":
		return opDotLow, 4
	case "dp2a.hi.s32.s32":
		return opDotHigh, 4
	case "prmt.b32":
		return opPermute, 4
	}
	return 0, 0
}

// integer returns an instruction, by its name without the type. For others it returns 0 operands.
func integer(name string) (operation, int) {
	switch name {
	case "mov", "cvta.to.global":
		return opMov, 2
	case "add":
		return opAdd, 3
	case "sub":
		return opSub, 3
	case "mul.lo", "mul.wide":
		return opMul, 3
	case "mul.hi":
		return opMulHigh, 3
	case "mad.lo", "mad.wide":
		return opMad, 4
	case "and":
		return opAnd, 3
	case "or":
		return opOr, 3
	case "xor":
		return opXor, 3
	case "not":
		return opNot, 2
	case "neg":
		return opNeg, 2
	case "shl":
		return opShl, 3
	case "shr":
		return opShr, 3
	case "min":
		return opMin, 3
	case "max":
		return opMax, 3
	case "div":
		return opDiv, 3
	case "rem":
		return opRem, 3
	case "bfe":
		return opExtract, 4
	case "selp":
		return opSelect, 4
	case "setp.eq":
		return opEqual, 3
	case "setp.ne":
		return opNotEqual, 3
	case "setp.lt", "setp.gt":
		return opLess, 3
	case "setp.le", "setp.ge":
		return opLessEqual, 3
	}
	return 0, 0
}

// convert decodes `cvt.s64.s32`, `cvt.rn.f32.s32` and `cvt.rzi.s32.f32`, for all integer types.
func convert(in *instruction, parts []string) error {
	from := parts[len(parts)-1]
	size, signed, err := width(from)
	if err != nil {
		return err
	}
	to, _, err := width(parts[len(parts)-2])
	if err != nil {
		return err
	}
	in.mask, in.shift, in.signed = bits(to), uint8(64-8*size), signed
	isFloat := func(kind string) bool { return kind[0] == 'f' }
	if to == 8 && isFloat(parts[len(parts)-2]) || size == 8 && isFloat(from) {
		return errUnknown
	}
	switch {
	case len(parts) == 3 && !isFloat(parts[1]) && !isFloat(from) && to > 1:
		in.op = opConvert
	case len(parts) == 4 && parts[1] == "rn" && isFloat(parts[2]) && !isFloat(from):
		in.op = opFromInt
	case len(parts) == 4 && parts[1] == "rzi" && parts[2] == "s32" && isFloat(from):
		in.op = opToInt
	default:
		return errUnknown
	}
	return nil
}
