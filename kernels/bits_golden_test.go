package kernels

// The bits themselves: hashes of what every operation computes, the same constants on every
// machine. The other tests hold a variant against pure Go on one machine; this one would show that
// a compiler fused or reordered something in pure Go itself.

import (
	"encoding/binary"
	"hash"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var goldenBits = map[string]uint64{
	"Attend":                 0xb95e398159dc900f,
	"Convert bf16":           0xed65c7022e12ff4d,
	"Convert f16":            0xfc77c9678556b476,
	"Convert q4":             0xbd52ac31c811c9a8,
	"Convert q8":             0xb9f62ee85038fd41,
	"Linear bf16":            0x1a40f924b2bc036d,
	"Linear f16":             0xa81053d62d347561,
	"Linear in segments f16": 0x7fe90759f68b13f3,
	"Linear in segments f32": 0x97f27947597dc392,
	"Linear q4":              0x9f097d68dcdf2985,
	"Linear q8":              0x53f8495901aa7df1,
	"activate":               0xa20644eae5904ac1,
	"add":                    0x71694f89328bc247,
	"chain":                  0xf481120339e5d76b,
	"chain16":                0x0761507318c047b0,
	"chainRows16":            0xc346612e47a0b5bb,
	"packRows":               0x47aa7fe700417a56,
	"packGroups":             0xb424fd6702a35274,
	"tile, packed":           0xce02469865cd5700,
	"chainRows":              0x7c06648baa29c6c7,
	"chains":                 0xd4f5ea90f2fe738e,
	"chains16":               0xcce01a35058eac1f,
	"convert16":              0x8829697eece6a87b,
	"round16":                0x0c1e4e401dcbf4e7,
	"chainKV":                0xfe057a66ed526a0f,
	"dot":                    0x38b74136dc686f58,
	"dot row":                0x40501d1b13c96794,
	"dot16":                  0x39b77bf02cf53408,
	"dot16 row":              0x478c7859ad14f90e,
	"errors4":                0x9c60a14f8ff21c87,
	"within":                 0xa898695a7b028c67,
	"exp64s":                 0xe6b7e1e69d8fc706,
	"exp64s in place":        0x2be2c59cf774ed84,
	"sum64":                  0xaa824582f97046fc,
	"sumAtLeast":             0xd6b887a2cb34cba1,
	"allFinite":              0xe2f015ce2f59211b,
	"maxima":                 0x270e3ff7ceb765b1,
	"widen64":                0xffe48336f5355b1e,
	"expShift":               0xf9c56a47c555bd44,
	"layerNorm":              0x78137f40c4c7123b,
	"layerNorm in place":     0x9fc87a627c580c30,
	"logSumExp":              0x93a2f78d570b055d,
	"pack":                   0x6510af87f53bf44c,
	"pack16":                 0x1a8daa2b0c2443f3,
	"quantOne4":              0x86d48d2f1d088a15,
	"quantOne8":              0x7105b4223191486d,
	"quantTile4":             0x49ee8a4f2db9479b,
	"quantTile8":             0x0d77893c5e531921,
	"quantizeRow":            0xd96cc9b7fb3f2b0f,
	"scale":                  0xb97849af235709ca,
	"scaleAdd":               0xcef402ce748c8c34,
	"scoresMax":              0x7b2c186ffb796fd1,
	"tile":                   0xbf77b11b5ec765c5,
}

// elementSizes are the sizes in bytes of the numbers in the operands of the operations on integers,
// on 16 bits and on float64. Elsewhere all are float32, but for the last operand of a loose test,
// which is only read.
var elementSizes = map[string][]int{
	"exp64s": {8, 8}, "exp64s in place": {8}, "sum64": {8}, "sumAtLeast": {8, 8},
	"widen64": {8, 4}, "maxima": {8, 8}, "within": {4, 8},
	"quantTile8": {4, 2, 4, 1}, "quantTile4": {4, 2, 4, 1}, "quantOne8": {4, 2, 4, 1}, "quantOne4": {4, 2, 4, 1},
	"quantizeRow": {2, 4, 4},
	"round16":     {2, 4},
}

// addNumbers hashes bytes that hold numbers of a size in this machine's order. Every NaN is the
// same.
func addNumbers(h hash.Hash64, b []byte, size int) {
	for ; len(b) >= size; b = b[size:] {
		var n uint32
		switch size {
		case 8:
			addDouble(h, binary.NativeEndian.Uint64(b))
			continue
		case 1:
			n = uint32(b[0])
		case 2:
			n = uint32(binary.NativeEndian.Uint16(b))
		default:
			n = binary.NativeEndian.Uint32(b)
		}
		addNumber(h, n)
	}
}

func addNumber(h hash.Hash64, n uint32) {
	if f := math.Float32frombits(n); f != f {
		n = 0x7fc00000
	}
	h.Write(binary.LittleEndian.AppendUint32(nil, n))
}

func addDouble(h hash.Hash64, n uint64) {
	if f := math.Float64frombits(n); f != f {
		n = 0x7ff8000000000000
	}
	h.Write(binary.LittleEndian.AppendUint64(nil, n))
}

func addFloats(h hash.Hash64, x []float32) {
	for _, v := range x {
		addNumber(h, math.Float32bits(v))
	}
}

// leafBits hashes the results of one leaf operation at the middle and the greatest of the sizes
// that the tests try, or all if they are few, several times each.
func leafBits(t *testing.T, l *leafTest, p *placer, v *variant) uint64 {
	h := fnv.New64a()
	for _, a := range []int{l.a[len(l.a)/2], slices.Max(l.a)} {
		bs := l.b
		if len(bs) > int(activations) {
			bs = []int{bs[len(bs)/2], slices.Max(bs)}
		}
		for _, b := range bs {
			for n := range 8 * kinds {
				p.reset(uint64(n), n%kinds, 0)
				for _, r := range l.call(v, p, a, b, int(n/kinds)%4) {
					if r != r {
						r = math.NaN()
					}
					h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(r)))
				}
				results := p.results(t)
				if l.loose {
					results = results[:len(results)-1]
				}
				for i, r := range results {
					if len(r) > 1<<16 { // it is only read
						continue
					}
					size := 4
					if sizes := elementSizes[l.name]; sizes != nil {
						size = sizes[i]
					}
					addNumbers(h, r, size)
				}
			}
		}
	}
	return h.Sum64()
}

// wholeBits hashes the results of what is built on the leaf operations and of what has no variants.
func wholeBits(t *testing.T, variant string) map[string]uint64 {
	bits := map[string]uint64{}
	team := newTeam(t, 2, variant)
	rng := rand.New(rand.NewPCG(2, 3))

	h := fnv.New64a()
	addFloats(h, attendTiles(t, newHead(rng, 70, 150, 24, 40), variant, 7, true, true))
	addFloats(h, attendTiles(t, newHead(rng, 2, 130, 64, 64), variant, 1, true, false))
	bits["Attend"] = h.Sum64()

	const in, out, rows = 200, 150, 9
	src := Matrix{Layout: OutIn, In: in, Out: out, F32: randoms(rng, in*out)}
	x, y := randoms(rng, rows*in), make([]float32, rows*out)
	for _, format := range []Format{F16, BF16, Q8, Q4} {
		h = fnv.New64a()
		m := Convert(team, format, &src)
		for _, n := range m.F16 {
			addNumber(h, uint32(n))
		}
		h.Write(m.Blocks)
		bits["Convert "+format.String()] = h.Sum64()

		h = fnv.New64a()
		team.Run(func(w *Worker) { Linear(w, y, x, rows, &m, nil) })
		addFloats(h, y)
		team.Run(func(w *Worker) { Linear(w, y, x, 1, &m, nil) })
		addFloats(h, y)
		bits["Linear "+format.String()] = h.Sum64()
	}

	long := Matrix{In: 600, Out: 75, F32: randoms(rng, 600*75)}
	x, y = randoms(rng, rows*long.In), make([]float32, rows*long.Out)
	for _, format := range []Format{F32, F16} {
		h = fnv.New64a()
		m := Convert(team, format, &long)
		for _, n := range []int{1, rows} {
			team.Run(func(w *Worker) { Linear(w, y, x, n, &m, x[:long.Out]) })
			addFloats(h, y)
		}
		bits["Linear in segments "+format.String()] = h.Sum64()
	}
	return bits
}

func TestBitsAreTheSameOnEveryMachine(t *testing.T) {
	p := newPlacer(t)
	for _, v := range available {
		got := wholeBits(t, v.name)
		for _, l := range leafTests {
			got[l.name] = leafBits(t, &l, p, v)
		}
		for name, bits := range got {
			if want, ok := goldenBits[name]; !ok || bits != want {
				t.Errorf("%s: %q: %#016x, want %#016x", v.name, name, bits, want)
			}
		}
	}
}
