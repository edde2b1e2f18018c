package kernels

// The bits themselves: hashes of what every operation computes, the same constants on every machine. The other tests hold a
// variant against pure Go on one machine; this one would show that a compiler fused or reordered something in pure Go itself.

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
	"Attend":             0xe9d01e615d2552c0,
	"Convert bf16":       0xed65c7022e12ff4d,
	"Convert f16":        0xfc77c9678556b476,
	"Convert q4":         0xf9ea660cbf6b40e5,
	"Convert q8":         0xb9f62ee85038fd41,
	"Linear bf16":        0x1a40f924b2bc036d,
	"Linear f16":         0xa81053d62d347561,
	"Linear q4":          0x2b3b448564712789,
	"Linear q8":          0x53f8495901aa7df1,
	"activate":           0xd0ab4859b620237f,
	"add":                0x2ed01338c7a7512b,
	"chain":              0xa9e2b60f5e05fa08,
	"chain16":            0x7b3114d89a4c8d99,
	"chainRows":          0x286afae15b9e12cd,
	"chainRows16":        0x7664a9448b294766,
	"packGroups":         0xa263a0d4d0e1f613,
	"packRows":           0x3d824e7baed57042,
	"tile, packed":       0x245339a33c2000a1,
	"convert16":          0xf1fcd63abb5009b9,
	"dot":                0x0b8d44057bb81be9,
	"dot row":            0x26f94c4e0c4e04aa,
	"dot16":              0x69dc2e3c1722b1fe,
	"dot16 row":          0x231ac591bda95112,
	"expShift":           0x1fd7135751b0aea6,
	"layerNorm":          0xe5653d201b6d339f,
	"layerNorm in place": 0x700a76c6c275346e,
	"logSumExp":          0xc7e5b54e4afb029c,
	"pack":               0x74c7b340b731a0ee,
	"pack16":             0x384a612b661ae407,
	"quantTile4":         0xd77f44ff06361fff,
	"quantTile8":         0xc562ddde6f86de8d,
	"quantizeRow":        0x2f9823ad82192e75,
	"scale":              0x8fb250b3f506d6da,
	"scaleAdd":           0x9b4f214103c63ba0,
	"scoresMax":          0x397c4282d4a93581,
	"tile":               0x4bfbc6d36f74187c,
}

// elementSizes are the sizes in bytes of the numbers in the operands of the operations on integers. Elsewhere all are float32, but for
// the last operand of a loose test, which is only read.
var elementSizes = map[string][]int{
	"quantTile8": {4, 2, 4, 1}, "quantTile4": {4, 2, 4, 1}, "quantizeRow": {2, 4, 4},
}

// addNumbers hashes bytes that hold numbers of a size in this machine's order. Every NaN is the same.
func addNumbers(h hash.Hash64, b []byte, size int) {
	for ; len(b) >= size; b = b[size:] {
		var n uint32
		switch size {
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

func addFloats(h hash.Hash64, x []float32) {
	for _, v := range x {
		addNumber(h, math.Float32bits(v))
	}
}

// leafBits hashes the results of one leaf operation at the middle and the greatest of the sizes that the tests try, or all if they are few.
func leafBits(t *testing.T, l *leafTest, p *placer, v *variant) uint64 {
	h := fnv.New64a()
	for _, a := range []int{l.a[len(l.a)/2], slices.Max(l.a)} {
		bs := l.b
		if len(bs) > int(activations) {
			bs = []int{bs[len(bs)/2], slices.Max(bs)}
		}
		for i, b := range bs {
			for kind := range kinds {
				p.reset(uint64(a*1009+b), kind, 0)
				for _, r := range l.call(v, p, a, b, (int(kind)+i)%4) {
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
