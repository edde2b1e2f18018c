package kernels

// Operands for the tests of the variants: odd alignments, guard bands on both sides, and numbers of
// every kind.

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

const (
	roomSize  = 1 << 19
	guardBand = 256 // bytes before an operand, and up to this many behind it
	guardByte = 0xa5
	period    = 8191 // numbers that differ: long operands repeat them, since making them takes the time
)

// A placer makes the operands of one call of an operation. Two placers of the same seed make the
// same operands.
type placer struct {
	rooms    [][]byte // one for each operand, reused from call to call
	operands []operand
	made     []made
	kind     numbers
	offset   int // elements between the operand and the end of its room
	seed     uint64
	source   rand.PCG
	rng      *rand.Rand // from source
}

type operand struct {
	room       []byte
	start, end int
}

// A made operand is what repeat makes again: to draw its numbers takes most of a test's time.
type made struct {
	bytes []byte
	after rand.PCG
}

func newPlacer(t testing.TB) *placer {
	p := &placer{}
	p.rng = rand.New(&p.source)
	for range 6 {
		p.rooms = append(p.rooms, roomMemory(t, roomSize))
	}
	return p
}

// reset forgets the operands.
func (p *placer) reset(seed uint64, kind numbers, offset int) {
	p.seed, p.kind, p.offset, p.made = seed, kind, offset, p.made[:0]
	p.repeat()
}

// repeat begins again: the next call of the same operation gets the same operands.
func (p *placer) repeat() {
	p.source.Seed(p.seed, 1)
	p.operands = p.operands[:0]
}

// take places so many bytes of numbers of a size, which fill makes, between guard bands.
func (p *placer) take(bytes, size int, fill func(b []byte)) []byte {
	n := len(p.operands)
	room := p.rooms[n]
	end := len(room) - p.offset*size
	start := end - bytes
	for _, band := range [][]byte{room[start-guardBand : start], room[end:]} {
		for i := range band {
			band[i] = guardByte
		}
	}
	p.operands = append(p.operands, operand{room, start, end})
	b := room[start:end:end]
	if n < len(p.made) {
		copy(b, p.made[n].bytes)
		p.source = p.made[n].after
		return b
	}
	fill(b)
	p.made = slices.Grow(p.made, 1)[:n+1]
	m := &p.made[n]
	m.bytes, m.after = append(m.bytes[:0], b...), p.source
	return b
}

// numbersIn returns the numbers that bytes hold.
func numbersIn[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// floats places n numbers.
func (p *placer) floats(n int) []float32 {
	return numbersIn[float32](p.take(n*4, 4, func(b []byte) {
		s := numbersIn[float32](b)
		for i := range min(n, period) {
			s[i] = p.kind.float(p.rng)
		}
		for i := period; i < n; i++ {
			s[i] = s[i-period]
		}
	}))
}

// halves places n numbers in F16 or BF16: any bits.
func (p *placer) halves(n int, bf16 bool) []uint16 {
	return numbersIn[uint16](p.take(n*2, 2, func(b []byte) {
		s := numbersIn[uint16](b)
		for i := range s {
			switch {
			case i >= period:
				s[i] = s[i-period]
			case p.kind == special:
				s[i] = uint16(p.rng.Uint32())
			case bf16:
				s[i] = uint16(math.Float32bits(p.kind.float(p.rng)) >> 16)
			default: // 2⁻¹⁵ … 2, and subnormals
				s[i] = uint16(p.rng.Uint32()) & 0xbfff
			}
		}
	}))
}

// doubles places n numbers in float64, with bits that float32 has not.
func (p *placer) doubles(n int) []float64 {
	return numbersIn[float64](p.take(n*8, 8, func(b []byte) {
		s := numbersIn[float64](b)
		for i := range s {
			s[i] = float64(p.kind.float(p.rng)) * (1 + float64(p.rng.Uint32())*0x1p-60)
		}
	}))
}

// results returns what the operands hold after the call, having checked the guard bands. It is
// valid until the next call.
func (p *placer) results(t testing.TB) (bytes [][]byte) {
	t.Helper()
	for i, o := range p.operands {
		before, behind := o.room[o.start-guardBand:o.start], o.room[o.end:]
		for _, band := range [][]byte{before, behind} {
			for _, b := range band {
				if b != guardByte {
					t.Fatalf("operand %d: written outside", i)
				}
			}
		}
		bytes = append(bytes, o.room[o.start:o.end])
	}
	return bytes
}

// Kinds of numbers.
type numbers uint8

const (
	ordinary numbers = iota // around 1
	wide                    // any exponent, subnormals too
	special                 // mixed with zeros, subnormals, infinities, NaN
	tiny                    // products below the least normal number
	kinds
)

var allKinds = []numbers{ordinary, wide, special, tiny}

var specials = []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)),
	float32(math.Inf(-1)), float32(math.NaN()),
	math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32,
	0x1p-126, 0x1.fffffcp-127, 88.73, -87.34, 0.625, 4, 1e-10}

func (k numbers) float(rng *rand.Rand) float32 {
	switch k {
	case wide:
		return math.Float32frombits(rng.Uint32() &^ (1 << 30)) // |x| < 2
	case special:
		if rng.IntN(8) == 0 {
			return specials[rng.IntN(len(specials))]
		}
	case tiny:
		return float32(rng.NormFloat64() * 0x1p-65)
	}
	return float32(rng.NormFloat64())
}

// sameBits says whether two numbers are the same to the last bit, or both NaN.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// sameFloats compares bytes that hold float32s.
func sameFloats(t testing.TB, what string, got, want []byte) {
	t.Helper()
	for i := 0; i+4 <= len(got); i += 4 {
		g, w := *(*float32)(unsafe.Pointer(&got[i])), *(*float32)(unsafe.Pointer(&want[i]))
		if !sameBits(g, w) {
			t.Fatalf("%s [%d]: %v (%#08x), want %v (%#08x)", what, i/4, g, math.Float32bits(g), w,
				math.Float32bits(w))
		}
	}
}

// sameDoubles compares bytes that hold float64s.
func sameDoubles(t testing.TB, what string, got, want []byte) {
	t.Helper()
	for i := 0; i+8 <= len(got); i += 8 {
		g, w := *(*float64)(unsafe.Pointer(&got[i])), *(*float64)(unsafe.Pointer(&want[i]))
		if math.Float64bits(g) != math.Float64bits(w) && !(g != g && w != w) {
			t.Fatalf("%s [%d]: %v (%#016x), want %v (%#016x)", what, i/8, g, math.Float64bits(g), w,
				math.Float64bits(w))
		}
	}
}
