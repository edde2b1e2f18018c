package kernels

// The bits themselves: hashes of the results of every operation, the same constants on every
// machine. The other tests compare a variant with pure Go on one machine; this one shows if a
// compiler has fused or reordered operations in pure Go itself.

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/dev/cases"
)

var goldenBits = map[string]sum{
	"Attend":                 0xb95e398159dc900f,
	"Attend q8":              0x63e6417680519f88,
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
	"activate in Go":         0x627811aae3fe54d4,
	"add":                    0x71694f89328bc247,
	"chain":                  0xf481120339e5d76b,
	"chain16":                0x0761507318c047b0,
	"chainRows16":            0xc346612e47a0b5bb,
	"packRows":               0x47aa7fe700417a56,
	"packGroups":             0xb424fd6702a35274,
	"tile, packed":           0xce02469865cd5700,
	"tile, ahead":            0x57b2cb21f3cbc96a,
	"chainRows":              0x7c06648baa29c6c7,
	"chains":                 0xd4f5ea90f2fe738e,
	"chains16":               0xcce01a35058eac1f,
	"convert16":              0x8829697eece6a87b,
	"round16":                0x0c1e4e401dcbf4e7,
	"chainKV":                0xfe057a66ed526a0f,
	"round8":                 0xdbdc45029fb0befc,
	"scaleBy":                0x9bd07a9f17875808,
	"dot":                    0x38b74136dc686f58,
	"dot row":                0x40501d1b13c96794,
	"dot16":                  0x39b77bf02cf53408,
	"dotPairs":               0x298130e01795c35b,
	"dotPairs16":             0x014ec7e81767e43d,
	"dot eights":             0xf32bb998feed2218,
	"dot16 eights":           0xea56188a4984db2d,
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
	"packLanes":              0x559900debd8f1955,
	"packLanes16":            0xf881b217a92d4b1c,
	"pack16":                 0x1a8daa2b0c2443f3,
	"quantGroups4":           0x93b71d4bf149b2eb,
	"quantGroups8":           0x3fd34deb2f5ae684,
	"quantOne4":              0x86d48d2f1d088a15,
	"quantOne8":              0x7105b4223191486d,
	"quantTile4":             0x53632f9d3eb70ede,
	"quantTile8":             0x0d77893c5e531921,
	"quantizeRow":            0xd96cc9b7fb3f2b0f,
	"scale":                  0xb97849af235709ca,
	"scaleAdd":               0x22790f1a68fd7cd4,
	"scaleAdd in place":      0xcef402ce748c8c34,
	"scoresMax":              0x7b2c186ffb796fd1,
	"tile":                   0xbf77b11b5ec765c5,
}

// elementSizes are the sizes in bytes of the numbers in the operands of the operations on integers,
// on 16 bits and on float64. All other operands are float32, except the last operand of a loose
// test, which is only read.
var elementSizes = map[string][]int{
	"exp64s": {8, 8}, "exp64s in place": {8}, "sum64": {8}, "sumAtLeast": {8, 8},
	"widen64": {8, 4}, "maxima": {8, 8}, "within": {4, 8},
	"quantTile8": {4, 2, 4, 1}, "quantTile4": {4, 2, 4, 1},
	"quantGroups8": {4, 2, 4, 1}, "quantGroups4": {4, 2, 4, 1},
	"quantOne8": {4, 2, 4, 1}, "quantOne4": {4, 2, 4, 1},
	"quantizeRow": {2, 4, 4},
	"round16":     {2, 4},
	"round8":      {1, 4},
}

// A sum is the FNV-1a hash of numbers, 64 bits, least byte first.
type sum uint64

func newSum() sum { return 0xcbf29ce484222325 }

func (h *sum) add(n uint64, bytes int) {
	for range bytes {
		*h = (*h ^ sum(n&0xff)) * 0x100000001b3
		n >>= 8
	}
}

func (h *sum) bytes(b []byte) {
	for _, x := range b {
		h.add(uint64(x), 1)
	}
}

// numbers hashes bytes that hold numbers of a size in this machine's order. Every NaN is the same.
func (h *sum) numbers(b []byte, size int) {
	for ; len(b) >= size; b = b[size:] {
		switch size {
		case 8:
			h.double(binary.NativeEndian.Uint64(b))
		case 1:
			h.number(uint32(b[0]))
		case 2:
			h.number(uint32(binary.NativeEndian.Uint16(b)))
		default:
			h.number(binary.NativeEndian.Uint32(b))
		}
	}
}

func (h *sum) number(n uint32) {
	if f := math.Float32frombits(n); f != f {
		n = 0x7fc00000
	}
	h.add(uint64(n), 4)
}

func (h *sum) double(n uint64) {
	if f := math.Float64frombits(n); f != f {
		n = 0x7ff8000000000000
	}
	h.add(n, 8)
}

func (h *sum) floats(x []float32) {
	for _, v := range x {
		h.number(math.Float32bits(v))
	}
}

// leafBits hashes the results of one leaf operation on each variant, at the middle and the greatest of
// the sizes that the tests try, or all if they are few, several times each.
func leafBits(t *testing.T, l *leafTest, p *placer, variants []*variant) []sum {
	sums := make([]sum, len(variants))
	for i := range sums {
		sums[i] = newSum()
	}
	for _, a := range []int{l.a[len(l.a)/2], slices.Max(l.a)} {
		bs := l.b
		if len(bs) > int(activations) {
			bs = []int{bs[len(bs)/2], slices.Max(bs)}
		}
		for _, b := range bs {
			for n := range 8 * kinds {
				p.reset(uint64(n), n%kinds, 0)
				for i, v := range variants {
					p.repeat()
					h := &sums[i]
					for _, r := range l.call(v, p, a, b, int(n/kinds)%4) {
						if r != r {
							r = math.NaN()
						}
						h.add(math.Float64bits(r), 8)
					}
					h.results(t, l, p)
				}
			}
		}
	}
	return sums
}

// results hashes what an operation has left.
func (h *sum) results(t *testing.T, l *leafTest, p *placer) {
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
		h.numbers(r, size)
	}
}

// wholeBits hashes the results of what is built on the leaf operations and of what has no variants.
func wholeBits(t *testing.T, variant string) map[string]sum {
	bits := map[string]sum{}
	team := newTeam(t, 2, variant)
	rng, rng8 := rand.New(rand.NewPCG(2, 3)), rand.New(rand.NewPCG(4, 5))

	h := newSum()
	h.floats(attendTiles(t, newHead(rng, 70, 150, 24, 40), variant, 7, true, true))
	h.floats(attendTiles(t, newHead(rng, 2, 130, 64, 64), variant, 1, true, false))
	bits["Attend"] = h
	h = newSum()
	h.floats(attendTiles(t, newHeadIn(Q8, rng8, 70, 150, 24, 40), variant, 7, true, true))
	h.floats(attendTiles(t, newHeadIn(Q8, rng8, 1, 130, 64, 64), variant, 1, true, false))
	bits["Attend q8"] = h

	const in, out, rows = 200, 150, 9
	src := Matrix{Layout: OutIn, In: in, Out: out, F32: randoms(rng, in*out)}
	x, y := randoms(rng, rows*in), make([]float32, rows*out)
	for _, format := range []Format{F16, BF16, Q8, Q4} {
		h = newSum()
		m := Convert(team, format, &src)
		for _, n := range m.F16 {
			h.number(uint32(n))
		}
		h.bytes(m.Blocks)
		bits["Convert "+format.String()] = h

		h = newSum()
		team.Run(func(w *Worker) { Linear(w, y, x, rows, &m, nil) })
		h.floats(y)
		team.Run(func(w *Worker) { Linear(w, y, x, 1, &m, nil) })
		h.floats(y)
		bits["Linear "+format.String()] = h
	}

	long := Matrix{In: 600, Out: 75, F32: randoms(rng, 600*75)}
	x, y = randoms(rng, rows*long.In), make([]float32, rows*long.Out)
	for _, format := range []Format{F32, F16} {
		h = newSum()
		m := Convert(team, format, &long)
		for _, n := range []int{1, rows} {
			team.Run(func(w *Worker) { Linear(w, y, x, n, &m, x[:long.Out]) })
			h.floats(y)
		}
		bits["Linear in segments "+format.String()] = h
	}
	return bits
}

func TestBitsAreTheSameOnEveryMachine(t *testing.T) {
	check := func(v *variant, name string, bits sum) {
		if want, ok := goldenBits[name]; !ok || bits != want {
			t.Errorf("%s: %q: %#016x, want %#016x", v.name, name, bits, want)
		}
	}
	some := available[:cases.Few(1, len(available), len(available))]
	for _, v := range some {
		for name, bits := range wholeBits(t, v.name) {
			check(v, name, bits)
		}
	}
	p := newPlacer(t)
	for turn, l := range leafTests { // TestVariantsAreTheSame holds the variants to each other
		variants := cases.Some(some, 2, turn)
		for i, bits := range leafBits(t, &l, p, variants) {
			check(variants[i], l.name, bits)
		}
	}
}
