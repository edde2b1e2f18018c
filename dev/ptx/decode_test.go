package ptx

// Instructions, one at a time: what they give, and which are refused.

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// Whatever rounds in another way, keeps fewer numbers or may be fused is refused.
func TestOtherFloatsAreRefused(t *testing.T) {
	for _, line := range []string{
		"add.f32 	%f1, %f2, %f3", "mul.f32 	%f1, %f2, %f3", "sub.f32 	%f1, %f2, %f3",
		"mad.f32 	%f1, %f2, %f3, %f4", "mad.rn.f32 	%f1, %f2, %f3, %f4",
		"fma.rn.ftz.f32 	%f1, %f2, %f3, %f4", "fma.rz.f32 	%f1, %f2, %f3, %f4",
		"fma.rn.sat.f32 	%f1, %f2, %f3, %f4", "add.rn.ftz.f32 	%f1, %f2, %f3",
		"mul.rz.f32 	%f1, %f2, %f3", "mul.rn.ftz.f32 	%f1, %f2, %f3",
		"div.approx.f32 	%f1, %f2, %f3", "div.full.f32 	%f1, %f2, %f3",
		"div.rn.ftz.f32 	%f1, %f2, %f3", "rcp.approx.ftz.f32 	%f1, %f2",
		"rcp.approx.f32 	%f1, %f2", "sqrt.approx.f32 	%f1, %f2",
		"rsqrt.approx.f32 	%f1, %f2",
		"sqrt.rn.ftz.f32 	%f1, %f2", "ex2.approx.f32 	%f1, %f2", "lg2.approx.f32 	%f1, %f2",
		"sin.approx.f32 	%f1, %f2", "tanh.approx.f32 	%f1, %f2", "neg.ftz.f32 	%f1, %f2", "max.ftz.f32 	%f1, %f2, %f3",
		"max.NaN.f32 	%f1, %f2, %f3",
		"abs.ftz.f32 	%f1, %f2", "setp.lt.ftz.f32 	%p1, %f1, %f2",
		"cvt.rn.f16.f32 	%rs1, %f1", "cvt.rz.f32.s32 	%f1, %r1",
		"cvt.rni.s32.f32 	%r1, %f1", "cvt.rzi.ftz.s32.f32 	%r1, %f1",
		"cvt.sat.s16.s32 	%rs1, %r1",
		"add.f64 	%rd1, %rd2, %rd3", "fma.rz.f64 	%rd1, %rd2, %rd3, %rd4",
		"mul.f64 	%rd1, %rd2, %rd3", "cvt.rn.f64.s32 	%rd1, %r1", "cvt.rn.f32.f64 	%f1, %rd1",
		"cvt.rzi.s32.f64 	%r1, %rd1", "div.rn.f64 	%rd1, %rd2, %rd3",
		"fma.rn.f16 	%rs1, %rs2, %rs3, %rs4",
		"atom.global.add.f32 	%f1, [%rd1], %f2", "red.global.add.f32 	[%rd1], %f2",
		"shfl.sync.bfly.b32 	%r1, %r2, 1, 31, -1", "bar.sync 	1", "bar.warp.sync 	-1",
		"dp2a.lo.u32.u32 	%r1, %r2, %r3, %r4", "dp2a.lo.s32.u32 	%r1, %r2, %r3, %r4",
		"dp2a.s32.s32 	%r1, %r2, %r3, %r4", "dp2a.lo.s32.s32 	%r1, %r2, %r3",
		"dp4a.s32.s32 	%r1, %r2, %r3, %r4", "prmt.b32.f4e 	%r1, %r2, %r3, %r4",
		"call.uni 	f", "ld.local.f32 	%f1, [%rd1]", "ld.volatile.global.f32 	%f1, [%rd1]",
		"add.rn.f32 	%f1, %f2", "add.s32 	%r1, %r2, %x3", "add.s32 	%r1, %r2, %laneid",
		"bra 	$nowhere", "ld.param.u64 	%rd1, [other]", "ld.param.u32 	%r1, [k_param_0]",
		"mov.u32 	%r1, somewhere", ".local .align 4 .b8 depot[8]",
	} {
		if _, err := Parse(text("	" + line + ";")); err == nil ||
			!strings.Contains(err.Error(), "kernel k") {
			t.Errorf("%s: error %v", line, err)
		}
	}
}

func TestTextsThatAreNoPTX(t *testing.T) {
	for _, s := range []string{
		"", "nonsense", ".visible .entry k", ".visible .entry k(\n)\n{\n	ret;\n}\n",
		".visible .entry k(\n	.param .v9 a\n)\n{\n	ret;\n}\n", ".address_size 32\n",
	} {
		if p, err := Parse(s); err == nil {
			t.Errorf("%q: no error, %d kernels", s, len(p.kernels))
		}
	}
}

// Integers: each instruction on all pairs of a few numbers, against Go's own.
func TestIntegers(t *testing.T) {
	type fn = func(a, b uint32) uint32
	s := func(f func(a, b int32) int32) fn {
		return func(a, b uint32) uint32 { return uint32(f(int32(a), int32(b))) }
	}
	is := func(f func(a, b int32) bool) fn {
		return func(a, b uint32) uint32 { return uint32(truth(f(int32(a), int32(b)))) }
	}
	for op, want := range map[string]fn{
		"add.s32 %r3, %r1, %r2":    func(a, b uint32) uint32 { return a + b },
		"sub.s32 %r3, %r1, %r2":    func(a, b uint32) uint32 { return a - b },
		"mul.lo.s32 %r3, %r1, %r2": func(a, b uint32) uint32 { return a * b },
		"mul.hi.u32 %r3, %r1, %r2": func(a, b uint32) uint32 {
			return uint32(uint64(a) * uint64(b) >> 32)
		},
		"mul.hi.s32 %r3, %r1, %r2": s(func(a, b int32) int32 {
			return int32(int64(a) * int64(b) >> 32)
		}),
		"mad.lo.s32 %r3, %r1, %r2, 7": func(a, b uint32) uint32 { return a*b + 7 },
		"and.b32 %r3, %r1, %r2":       func(a, b uint32) uint32 { return a & b },
		"or.b32 %r3, %r1, %r2":        func(a, b uint32) uint32 { return a | b },
		"xor.b32 %r3, %r1, %r2":       func(a, b uint32) uint32 { return a ^ b },
		"not.b32 %r3, %r1":            func(a, b uint32) uint32 { return ^a },
		"neg.s32 %r3, %r1":            func(a, b uint32) uint32 { return -a },
		"shl.b32 %r3, %r1, %r2":       func(a, b uint32) uint32 { return a << b },
		"shr.u32 %r3, %r1, %r2":       func(a, b uint32) uint32 { return a >> b },
		"shr.s32 %r3, %r1, %r2":       func(a, b uint32) uint32 { return uint32(int32(a) >> b) },
		"min.s32 %r3, %r1, %r2":       s(func(a, b int32) int32 { return min(a, b) }),
		"max.s32 %r3, %r1, %r2":       s(func(a, b int32) int32 { return max(a, b) }),
		"min.u32 %r3, %r1, %r2":       func(a, b uint32) uint32 { return min(a, b) },
		"max.u32 %r3, %r1, %r2":       func(a, b uint32) uint32 { return max(a, b) },
		"bfe.u32 %r3, %r1, 3, 9":      func(a, b uint32) uint32 { return a >> 3 & 511 },
		"selp.b32 %r3, %r1, %r2, 1":   func(a, b uint32) uint32 { return a },
		"setp.lt.s32 %r3, %r1, %r2":   is(func(a, b int32) bool { return a < b }),
		"setp.le.s32 %r3, %r1, %r2":   is(func(a, b int32) bool { return a <= b }),
		"setp.gt.s32 %r3, %r1, %r2":   is(func(a, b int32) bool { return a > b }),
		"setp.ge.s32 %r3, %r1, %r2":   is(func(a, b int32) bool { return a >= b }),
		"setp.gt.u32 %r3, %r1, %r2":   is(func(a, b int32) bool { return uint32(a) > uint32(b) }),
		"setp.eq.s32 %r3, %r1, %r2":   is(func(a, b int32) bool { return a == b }),
		"setp.ne.s32 %r3, %r1, %r2":   is(func(a, b int32) bool { return a != b }),
		"cvt.s32.s16 %r3, %r1":        s(func(a, b int32) int32 { return int32(int16(a)) }),
		"cvt.u32.u16 %r3, %r1":        s(func(a, b int32) int32 { return int32(uint16(a)) }),
		"cvt.s32.s8 %r3, %r1":         s(func(a, b int32) int32 { return int32(int8(a)) }),
		"mul.wide.s16 %r3, %r1, %r2": s(func(a, b int32) int32 {
			return int32(int16(a)) * int32(int16(b))
		}),
		"mul.wide.u16 %r3, %r1, %r2": func(a, b uint32) uint32 { return a & 0xffff * (b & 0xffff) },
		"sub.s16 %r3, %r1, %r2":      func(a, b uint32) uint32 { return (a - b) & 0xffff },
		"shr.s16 %r3, %r1, 2": s(func(a, b int32) int32 {
			return int32(int16(a)) >> 2 & 0xffff
		}),
		"div.s32 %r3, %r1, 7": s(func(a, b int32) int32 { return a / 7 }),
		"rem.s32 %r3, %r1, 7": s(func(a, b int32) int32 { return a % 7 }),
		"div.u32 %r3, %r1, 7": func(a, b uint32) uint32 { return a / 7 },
		"rem.u32 %r3, %r1, 7": func(a, b uint32) uint32 { return a % 7 },
		"cvt.rn.f32.s32 %r3, %r1": func(a, b uint32) uint32 {
			return math.Float32bits(float32(int32(a)))
		},
		"cvt.rn.f32.u16 %r3, %r1": func(a, b uint32) uint32 {
			return math.Float32bits(float32(uint16(a)))
		},
	} {
		run := calculate(t, op)
		for _, a := range numbers() {
			for _, b := range numbers() {
				if got := run(a, b, 0); got != want(a, b) {
					t.Errorf("%s of %#x and %#x: %#x, want %#x", op, a, b, got, want(a, b))
				}
			}
		}
	}
}

func numbers() []uint32 {
	return []uint32{0, 1, 2, 7, 31, 32, 40, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x12345678,
		0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff}
}

// calculate returns a function that runs one instruction from %r1, %r2 and %r4 to %r3.
func calculate(t *testing.T, line string) func(a, b, c uint32) uint32 {
	t.Helper()
	m := NewMachine(module(t, `
	ld.global.v2.u32 	{%r1, %r2}, [%rd1];
	ld.global.u32 	%r4, [%rd1+8];
	`+line+`;
	st.global.u32 	[%rd1+12], %r3;`), 1)
	data := make([]byte, 16)
	at := m.Adopt(data)
	return func(a, b, c uint32) uint32 {
		for i, v := range []uint32{a, b, c} {
			binary.LittleEndian.PutUint32(data[4*i:], v)
		}
		if err := m.Launch("k", [3]int{1, 1, 1}, 1, []uint64{at}); err != nil {
			t.Fatal(err)
		}
		return binary.LittleEndian.Uint32(data[12:])
	}
}

// dp2a adds to c the products of a's two halves and of two bytes of b, the lower or the upper two:
// "PTX ISA", chapter "Integer Arithmetic Instructions". The sum wraps around.
func TestDotProductsOfTwo(t *testing.T) {
	half := func(v uint32, i int) int64 { return int64(int16(v >> (16 * i))) }
	one := func(v uint32, i int) int64 { return int64(int8(v >> (8 * i))) }
	low := calculate(t, "dp2a.lo.s32.s32 %r3, %r1, %r2, %r4")
	high := calculate(t, "dp2a.hi.s32.s32 %r3, %r1, %r2, %r4")
	for _, a := range numbers() {
		for _, b := range numbers() {
			for _, c := range numbers() {
				sum := int64(int32(c))
				want := uint32(sum + half(a, 0)*one(b, 0) + half(a, 1)*one(b, 1))
				if got := low(a, b, c); got != want {
					t.Errorf("dp2a.lo of %#x, %#x and %#x: %#x, want %#x", a, b, c, got, want)
				}
				want = uint32(sum + half(a, 0)*one(b, 2) + half(a, 1)*one(b, 3))
				if got := high(a, b, c); got != want {
					t.Errorf("dp2a.hi of %#x, %#x and %#x: %#x, want %#x", a, b, c, got, want)
				}
			}
		}
	}
}

// prmt chooses each byte by four bits of the selector: "PTX ISA", chapter "Data Movement and
// Conversion Instructions". 8 more means that byte's sign in all eight bits.
func TestPermutedBytes(t *testing.T) {
	run := calculate(t, "prmt.b32 %r3, %r1, %r2, %r4")
	for selector, want := range map[uint32]uint32{
		0x3210: 0x13121190, 0x7654: 0x17169514, 0x6420: 0x16141290, 0x7531: 0x17951311,
		0x0000: 0x90909090, 0x5410: 0x95141190, 0xd8f9: 0xffff0000, 0x12345410: 0x95141190,
	} {
		if got := run(0x13121190, 0x17169514, selector); got != want {
			t.Errorf("prmt by %#x: %#x, want %#x", selector, got, want)
		}
	}
}

// The fused multiply-add against exact arithmetic, where roundings are close and numbers small.
func TestFMAIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		a, b := math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32())
		c := -a * b
		switch r.IntN(3) {
		case 0:
			c = math.Float32frombits(math.Float32bits(c) + uint32(r.IntN(64)) - 32)
		case 1: // near the least numbers
			e := r.IntN(100) - 50
			a = float32(math.Ldexp(1+r.Float64(), e))
			b = float32(math.Ldexp(1+r.Float64(), -127-e+r.IntN(8)-4))
			c = math.Float32frombits(r.Uint32() & 0x80ffffff)
		case 2: // a halfway sum, and a little
			a, b = float32(1+math.Ldexp(float64(r.IntN(1<<12)), -12)), float32(math.Ldexp(1, -12))
			c = math.Float32frombits(0x3f800000 + r.Uint32()>>9)
		}
		if p := float64(a) * float64(b); p != p || math.IsInf(p+float64(c), 0) || c != c {
			continue
		}
		exact := new(big.Float).SetPrec(1000).SetFloat64(float64(a))
		exact.Mul(exact, new(big.Float).SetFloat64(float64(b)))
		exact.Add(exact, new(big.Float).SetFloat64(float64(c)))
		want, _ := exact.Float32()
		if got := fma(a, b, c); got != want {
			t.Fatalf("fma(%g, %g, %g) = %g, want %g", a, b, c, got, want)
		}
	}
}

func TestDoubles(t *testing.T) {
	m := func(line string) float64 {
		machine := NewMachine(module(t, `
	ld.global.v2.f32 	{%f1, %f2}, [%rd1];
	cvt.f64.f32 	%rd5, %f1;
	cvt.f64.f32 	%rd6, %f2;
	`+line+`;
	st.global.f64 	[%rd1+8], %rd7;`), 1)
		data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(3))
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(0x1p-30))
		data = append(data, make([]byte, 8)...)
		if err := machine.Launch("k", [3]int{1, 1, 1}, 1, []uint64{machine.Adopt(data)}); err != nil {
			t.Fatal(err)
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(data[8:]))
	}
	third := 1.0 / 3
	for line, want := range map[string]float64{
		"add.rn.f64 %rd7, %rd5, %rd6":               3 + 0x1p-30,
		"sub.rn.f64 %rd7, %rd6, %rd5":               0x1p-30 - 3,
		"neg.f64 %rd7, %rd5":                        -3,
		"mul.rn.f64 %rd7, %rd6, 0d3FD5555555555555": third * 0x1p-30,
		// exactly −2⁻⁵⁴; in two roundings 0
		"fma.rn.f64 %rd7, %rd5, 0d3FD5555555555555, 0dBFF0000000000000": -0x1p-54,
		"mov.f64 %rd7, %rd6":           0x1p-30,
		"selp.f64 %rd7, %rd5, %rd6, 1": 3,
		"setp.gt.f64 %rd7, %rd5, %rd6": 0x1p-1074,
		"setp.lt.f64 %rd7, %rd5, %rd6": 0,
	} {
		if got := m(line); got != want {
			t.Errorf("%s: %g, want %g", line, got, want)
		}
	}
}

func TestFloats(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	least := math.Float32frombits(1)
	for _, c := range []struct {
		line    string
		a, b, c float32
		want    float32
	}{
		{"add.rn.f32 %r3, %r1, %r2", 1, float32(math.Ldexp(1, -24)), 0, 1},
		{"sub.rn.f32 %r3, %r1, %r2", least, 2 * least, 0, -least},
		{"mul.rn.f32 %r3, %r1, %r2", least, 0.75, 0, least},
		{"div.rn.f32 %r3, %r1, %r2", 1, 3, 0, float32(1.0 / 3)},
		{"div.rn.f32 %r3, %r1, %r2", 1, 0, 0, inf},
		{"rcp.rn.f32 %r3, %r1", 3, 0, 0, float32(1.0 / 3)},
		{"sqrt.rn.f32 %r3, %r1", 2, 0, 0, math.Sqrt2},
		{"fma.rn.f32 %r3, %r1, %r2, %r4", 3, 4, 5, 17},
		{"neg.f32 %r3, %r1", 3, 0, 0, -3},
		{"abs.f32 %r3, %r1", -3, 0, 0, 3},
		{"selp.f32 %r3, %r1, %r2, 0", 1, 2, 0, 2},
		{"max.f32 %r3, %r1, %r2", 1, 2, 0, 2},
		{"max.f32 %r3, %r1, %r2", least, -inf, 0, least},
		{"max.f32 %r3, %r1, %r2", nan, -3, 0, -3},
		{"max.f32 %r3, %r1, %r2", -3, nan, 0, -3},
	} {
		got := math.Float32frombits(calculate(t, c.line)(math.Float32bits(c.a),
			math.Float32bits(c.b), math.Float32bits(c.c)))
		if got != c.want {
			t.Errorf("%s of %g, %g, %g: %g, want %g", c.line, c.a, c.b, c.c, got, c.want)
		}
	}
	of := calculate(t, "max.f32 %r3, %r1, %r2")
	for _, c := range [][3]uint32{
		{0, 1 << 31, 0}, {1 << 31, 0, 0}, {1 << 31, 1 << 31, 1 << 31}, // zeros
		{0x7fc00000, 0xffc00000, 0x7fffffff}, // the NaN of PTX
	} {
		if got := of(c[0], c[1], 0); got != c[2] {
			t.Errorf("max.f32 of %#x and %#x: %#x, want %#x", c[0], c[1], got, c[2])
		}
	}
	for _, c := range []struct {
		relation string
		a, b     float32
		want     uint32
	}{
		{"eq", nan, nan, 0}, {"neu", nan, nan, 1}, {"nan", nan, 1, 1}, {"nan", 1, 2, 0},
		{"lt", 1, nan, 0}, {"gt", nan, 1, 0}, {"le", 1, 1, 1}, {"ge", 1, 2, 0}, {"gt", 2, 1, 1},
		{"lt", 2, 1, 0}, {"eq", 0, float32(math.Copysign(0, -1)), 1},
	} {
		run := calculate(t, fmt.Sprintf("setp.%s.f32 %%r3, %%r1, %%r2", c.relation))
		if got := run(math.Float32bits(c.a), math.Float32bits(c.b), 0); got != c.want {
			t.Errorf("%g %s %g: %d, want %d", c.a, c.relation, c.b, got, c.want)
		}
	}
	for f, want := range map[float32]int32{2.9: 2, -2.9: -2, 3e9: math.MaxInt32,
		-3e9: math.MinInt32, nan: 0, -inf: math.MinInt32} {
		got := int32(calculate(t, "cvt.rzi.s32.f32 %r3, %r1")(math.Float32bits(f), 0, 0))
		if got != want {
			t.Errorf("%g as int: %d, want %d", f, got, want)
		}
	}
}
