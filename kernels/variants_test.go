package kernels

// Every variant of every leaf operation against pure Go, bit for bit.

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"picogpt/dev/cases"
)

// A leafTest calls one operation on operands of the sizes a, b and c and returns the numbers that
// it returned.
type leafTest struct {
	name  string
	a, b  []int // what to try; c is 0…3
	call  func(v *variant, p *placer, a, b, c int) []float64
	loose bool // 16-bit operands are among the results, which sameFloats must not look at
	ints  uint // bit i says that operand i holds integers
	wide  uint // bit i says that operand i holds float64
}

var (
	edges = []int{0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 47, 48, 63, 64, 65, 72,
		95, 96, 97, 103, 127, 128, 129, 136, 143, 144, 145, 151, 250}
	short = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 25}
	few   = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14}
	one   = []int{0}

	eights = []int{8, 11, 16, 25}
)

func matrixSize(rows, ld, cols int) int {
	if rows == 0 {
		return 0
	}
	return (rows-1)*ld + cols
}

var leafTests = slices.Concat(floatLeafTests, scoreLeafTests, quantLeafTests)

func activateLeaf(v *variant, p *placer, n, a, c int) []float64 {
	x := p.floats(n)
	if c > 0 {
		scale(x, float32(c*c*5)) // every branch
	}
	v.activate(x, Activation(a))
	return nil
}

var floatLeafTests = []leafTest{
	{name: "tile", a: few, b: short, call: func(v *variant, p *placer, rows, k, pad int) []float64 {
		panels := 1 + (rows+k)%6
		ldc, lda, ldb := panels*panelCols+pad, k+pad, panels*panelCols+3*pad
		c, a, b := p.floats(matrixSize(rows, ldc, panels*panelCols)),
			p.floats(matrixSize(rows, lda, k)), p.floats(matrixSize(k, ldb, panels*panelCols))
		v.tile(c, ldc, a, lda, 1, b, ldb, panelCols, rows, k, panels, k > 0 && pad%2 == 1)
		return nil
	}},
	{name: "tile, packed", a: []int{1, 2, 3, 4, 5, 6}, b: short,
		call: func(v *variant, p *placer, rows, k, panels int) []float64 {
			if v.packRows == nil { // it reads rows in place
				v = goVariant
			}
			c, a, b := p.floats(matrixSize(rows, panels*panelCols+1, panels*panelCols)),
				p.floats(tileRows*k), p.floats(k*panels*panelCols)
			v.tile(c, panels*panelCols+1, a, 1, tileRows, b, panelCols, k*panelCols, rows, k,
				panels, k > 0 && (rows+panels)%2 == 1)
			return nil
		}},
	{name: "tile, ahead", a: few, b: short, call: func(v *variant, p *placer, rows, k, panels int) []float64 {
		n := panels * panelCols
		c, a, b := p.floats(rows*n), p.floats(rows*k), p.floats(k*n)
		if v.tileAhead == nil {
			v.tile(c, n, a, k, 1, b, n, panelCols, rows, k, panels, false)
			return nil
		}
		// it asks, and does not look
		v.tileAhead(c, n, a, k, 1, b, n, panelCols, rows, k, panels, false, ahead{
			at: unsafe.Pointer(unsafe.SliceData(b)), row: 4 * n, pair: 64 << (rows % 2), rows: (rows + k) % 9})
		return nil
	}},
	{name: "packRows", a: []int{1, 2, 3, 4, 5, 6}, b: edges,
		call: func(v *variant, p *placer, rows, k, pad int) []float64 {
			if v.packRows == nil {
				v = goVariant
			}
			v.packRows(p.floats(tileRows*k), p.floats(matrixSize(rows, k+pad, k)), k+pad, rows, k)
			return nil
		}},
	{name: "chain", a: edges, b: short, call: func(v *variant, p *placer, n, k, pad int) []float64 {
		v.chain(p.floats(n), p.floats(k), p.floats(matrixSize(k, n+pad, n)), n+pad)
		return nil
	}},
	{name: "chain16", a: edges, b: short, loose: true,
		call: func(v *variant, p *placer, n, k, c int) []float64 {
			bf16, pad := c&1 == 1, c&2
			v.halves(bf16).chain(p.floats(n), p.floats(k),
				p.halves(matrixSize(k, n+pad, n), bf16), n+pad)
			return nil
		}},
	{name: "chains", a: []int{1, 2, 3, 4, 5, 7}, b: []int{1, 2, 5},
		call: func(v *variant, p *placer, count, n, pad int) []float64 {
			cols := panelCols*(1+count%2) + 5*(pad%2)
			v.chains(p.floats(matrixSize(count, cols+pad, cols)), cols+pad,
				p.floats((count-1)*segment+n),
				p.floats(matrixSize((count-1)*segment+n, cols+2*pad, cols)), cols+2*pad, count, n,
				cols)
			return nil
		}},
	{name: "chains16", a: []int{1, 2, 3, 4, 5, 7}, b: []int{1, 2, 5}, loose: true,
		call: func(v *variant, p *placer, count, n, c int) []float64 {
			bf16, pad := c&1 == 1, c&2
			cols := panelCols*(1+count%2) + 5*(c/2)
			v.halves(bf16).chains(p.floats(matrixSize(count, cols+pad, cols)), cols+pad,
				p.floats((count-1)*segment+n),
				p.halves(matrixSize((count-1)*segment+n, cols+2*pad, cols), bf16), cols+2*pad,
				count, n, cols)
			return nil
		}},
	{name: "chainRows", a: few, b: []int{0, 1, 2, 5, 7},
		call: func(v *variant, p *placer, rows, groups, pad int) []float64 {
			cols := (1 + rows%4) * panelCols
			v.chainRows(p.floats(matrixSize(rows, cols+pad, cols)), cols+pad,
				p.floats(groups*rows*groupDepth),
				p.floats(matrixSize(groups*groupDepth, cols+2*pad, cols)), cols+2*pad, rows, groups,
				cols)
			return nil
		}},
	{name: "chainRows16", a: few, b: []int{0, 1, 2, 5, 7}, loose: true,
		call: func(v *variant, p *placer, rows, groups, c int) []float64 {
			cols, bf16, pad := (1+rows%4)*panelCols, c&1 == 1, c&2
			v.halves(bf16).chainRows(p.floats(matrixSize(rows, cols+pad, cols)), cols+pad,
				p.floats(groups*rows*groupDepth),
				p.halves(matrixSize(groups*groupDepth, cols+2*pad, cols), bf16), cols+2*pad, rows,
				groups, cols)
			return nil
		}},
	{name: "packGroups", a: few, b: []int{0, 1, 2, 5, 7},
		call: func(v *variant, p *placer, rows, groups, pad int) []float64 {
			ldx := groups*groupDepth + pad
			v.packGroups(p.floats(groups*rows*groupDepth),
				p.floats(matrixSize(rows, ldx, groups*groupDepth)), ldx, rows, groups)
			return nil
		}},
	{name: "pack", a: []int{0, 1, 2, 5}, b: short,
		call: func(v *variant, p *placer, panels, k, pad int) []float64 {
			v.pack(p.floats(panels*k*panelCols), p.floats(matrixSize(k, panels*panelCols+pad,
				panels*panelCols)), panels*panelCols+pad, k, panels)
			return nil
		}},
	{name: "pack16", a: []int{0, 1, 2, 5}, b: short, loose: true,
		call: func(v *variant, p *placer, panels, k, c int) []float64 {
			bf16, pad := c&1 == 1, c&2
			ld := panels*panelCols + pad
			v.halves(bf16).pack(p.floats(panels*k*panelCols),
				p.halves(matrixSize(k, ld, panels*panelCols), bf16),
				ld, k, panels)
			return nil
		}},
	{name: "packLanes", a: []int{0, 1, 2, 3}, b: edges,
		call: func(v *variant, p *placer, panels, k, pad int) []float64 {
			if v.packLanes == nil { // it reads the weights in place
				v = goVariant
			}
			v.packLanes(p.floats(panels*8*laneDepth(k)*panelCols),
				p.floats(matrixSize(panels*panelCols, k+pad, k)), k+pad, k, panels)
			return nil
		}},
	{name: "packLanes16", a: []int{0, 1, 2, 3}, b: edges, loose: true,
		call: func(v *variant, p *placer, panels, k, c int) []float64 {
			bf16, pad := c&1 == 1, c&2
			if v.halves(bf16).packLanes == nil { // it reads the weights in place
				v = goVariant
			}
			v.halves(bf16).packLanes(p.floats(panels*8*laneDepth(k)*panelCols),
				p.halves(matrixSize(panels*panelCols, k+pad, k), bf16), k+pad, k, panels)
			return nil
		}},
	{name: "dot row", a: short, b: edges, call: func(v *variant, p *placer, outs, k,
		pad int) []float64 {
		v.dot(p.floats(outs), outs, p.floats(k), k, p.floats(matrixSize(outs, k+pad, k)), k+pad, 1,
			outs, k)
		return nil
	}},
	{name: "dot", a: few, b: edges, call: func(v *variant, p *placer, rows, k, pad int) []float64 {
		outs := 1 + (rows+k)%7
		v.dot(p.floats(matrixSize(rows, outs+pad, outs)), outs+pad,
			p.floats(matrixSize(rows, k+pad, k)), k+pad, p.floats(matrixSize(outs, k+2*pad, k)),
			k+2*pad, rows, outs, k)
		return nil
	}},
	{name: "dot16 row", a: short, b: edges, loose: true,
		call: func(v *variant, p *placer, outs, k, c int) []float64 {
			bf16, pad := c&1 == 1, c&2
			v.halves(bf16).dot(p.floats(outs), outs, p.floats(k), k,
				p.halves(matrixSize(outs, k+pad, k), bf16),
				k+pad, 1, outs, k)
			return nil
		}},
	{name: "dot16", a: few, b: edges, loose: true,
		call: func(v *variant, p *placer, rows, k, c int) []float64 {
			bf16, pad, outs := c&1 == 1, c&2, 1+(rows+k)%7
			v.halves(bf16).dot(p.floats(matrixSize(rows, outs+pad, outs)), outs+pad,
				p.floats(matrixSize(rows, k+pad, k)), k+pad,
				p.halves(matrixSize(outs, k+2*pad, k), bf16), k+2*pad, rows, outs, k)
			return nil
		}},
	{name: "dotPairs", a: few, b: edges, call: func(v *variant, p *placer, rows, k,
		pad int) []float64 {
		leaf, k, outs := v.dotPairs, 8+k/8*8, 1+(3*rows+k)%29
		if leaf == nil {
			leaf = v.dot
		}
		leaf(p.floats(matrixSize(rows, outs+pad, outs)), outs+pad,
			p.floats(matrixSize(rows, k+pad, k)), k+pad, p.floats(matrixSize(outs, k+2*pad, k)),
			k+2*pad, rows, outs, k)
		return nil
	}},
	{name: "dotPairs16", a: few, b: edges, loose: true,
		call: func(v *variant, p *placer, rows, k, c int) []float64 {
			bf16, pad := c&1 == 1, c&2
			leaf := v.halves(bf16).dotPairs
			if leaf == nil {
				leaf = v.halves(bf16).dot
			}
			k = 8 + k/8*8
			outs := 1 + (3*rows+k)%29
			leaf(p.floats(matrixSize(rows, outs+pad, outs)), outs+pad,
				p.floats(matrixSize(rows, k+pad, k)), k+pad,
				p.halves(matrixSize(outs, k+2*pad, k), bf16), k+2*pad, rows, outs, k)
			return nil
		}},
	{name: "dot eights", a: eights, b: edges, call: func(v *variant, p *placer, rows, k,
		pad int) []float64 {
		k, outs := 8+k/8*8, 1+(3*rows+k)%29+rows/16*190
		v.dot(p.floats(matrixSize(rows, outs+pad, outs)), outs+pad,
			p.floats(matrixSize(rows, k+pad, k)), k+pad, p.floats(matrixSize(outs, k+2*pad, k)),
			k+2*pad, rows, outs, k)
		return nil
	}},
	{name: "dot16 eights", a: eights, b: edges, loose: true,
		call: func(v *variant, p *placer, rows, k, c int) []float64 {
			bf16, pad, k := c&1 == 1, c&2, 8+k/8*8
			outs := 1 + (3*rows+k)%29 + rows/16*190
			v.halves(bf16).dot(p.floats(matrixSize(rows, outs+pad, outs)), outs+pad,
				p.floats(matrixSize(rows, k+pad, k)), k+pad,
				p.halves(matrixSize(outs, k+2*pad, k), bf16), k+2*pad, rows, outs, k)
			return nil
		}},
	{name: "layerNorm", a: edges, b: one, call: func(v *variant, p *placer, n, _, _ int) []float64 {
		v.layerNorm(p.floats(n), p.floats(n), p.floats(n), p.floats(n), 1e-5)
		return nil
	}},
	{name: "layerNorm in place", a: edges, b: one,
		call: func(v *variant, p *placer, n, _, _ int) []float64 {
			x := p.floats(n)
			v.layerNorm(x, x, p.floats(n), p.floats(n), 1e-5)
			return nil
		}},
	{name: "activate", a: edges, b: []int{0, 1, 2, 3, 4, 5}, call: activateLeaf},
	{name: "activate in Go", a: edges, b: []int{int(ReLU2), int(Mish)}, call: activateLeaf},
	{name: "add", a: edges, b: one, call: func(v *variant, p *placer, n, _, _ int) []float64 {
		v.add(p.floats(n), p.floats(n))
		return nil
	}},
	{name: "scale", a: edges, b: one, call: func(v *variant, p *placer, n, _, _ int) []float64 {
		v.scale(p.floats(n), p.kind.float(p.rng))
		return nil
	}},
	{name: "expShift", a: edges, b: one, call: func(v *variant, p *placer, n, _, c int) []float64 {
		s := p.floats(n)
		scale(s, float32(1+20*c))
		return []float64{float64(v.expShift(s, p.kind.float(p.rng)))}
	}},
	{name: "scoresMax", a: edges, b: one, call: func(v *variant, p *placer, n, _, c int) []float64 {
		s, mask := p.floats(n), p.floats(n)
		if c&1 == 0 {
			mask = nil
		}
		max := v.scoresMax(s, mask, 0.125, -float32(c))
		return []float64{float64(max + 0)} // the sign of a zero is not promised
	}},
	{name: "logSumExp", a: edges, b: one, call: func(v *variant, p *placer, n, _, c int) []float64 {
		s := p.floats(n)
		scale(s, float32(1+200*c))
		return []float64{v.logSumExp(s)}
	}},
	{name: "convert16", a: edges, b: one, loose: true,
		call: func(v *variant, p *placer, n, _, c int) []float64 {
			v.halves(c&1 == 1).convert(p.floats(n), p.halves(n, c&1 == 1))
			return nil
		}},
	{name: "chainKV", a: edges, b: short, loose: true,
		call: func(v *variant, p *placer, n, k, pad int) []float64 {
			y, x, w := p.floats(n), p.floats(k), p.halves(matrixSize(k, n+pad, n), false)
			v.chainKV(y, x, w, n+pad, soon{keys: w, values: w[len(w):], apart: pad << 20})
			return nil
		}},
	{name: "round8", a: edges, b: one, ints: 1,
		call: func(v *variant, p *placer, n, _, c int) []float64 {
			dst, src := p.blocks(n), p.floats(n)
			switch {
			case n > 0 && p.kind == special && c > 0: // ties
				for i := range src {
					src[i] = float32(p.rng.IntN(2*254+1)-254) / 4
				}
				src[p.rng.IntN(n)] = []float32{127, -127, 63.5}[c-1]
			default:
				scale(src, []float32{1, 0x1p-80, 0x1p-120, 0x1p100}[c])
			}
			return []float64{float64(v.round8(dst, src))}
		}},
	{name: "scaleBy", a: edges, b: one, call: func(v *variant, p *placer, n, _, c int) []float64 {
		v.scaleBy(p.floats(n), p.floats(n))
		return nil
	}},
	{name: "round16", a: edges, b: one, ints: 1,
		call: func(v *variant, p *placer, n, _, c int) []float64 {
			dst, src := p.halves(n, false), p.floats(n)
			scale(src, []float32{1, 1e-6, 3e4, 1e-10}[c]) // subnormals and overflows of F16
			v.round16(dst, src)
			return nil
		}},
}

// others returns the variants to hold against pure Go: all, with the model of one that the processor
// may lack, or the one that GPT_KERNEL names, which must be there.
func others(t testing.TB) []*variant {
	t.Helper()
	list := slices.DeleteFunc(slices.Clone(available), func(v *variant) bool {
		refused := v.permitted != nil && !v.permitted()
		if refused {
			t.Logf("%s: the operating system does not permit it", v.name)
		}
		return refused || v == goVariant
	})
	if name := os.Getenv("GPT_KERNEL"); name != "" {
		v, err := findVariant(name)
		if err != nil {
			t.Fatal(err)
		}
		return []*variant{v}
	}
	return append(list, model512(), modelAMX())
}

// variants returns those that have the operation of their own, and do not take it from a variant that
// is tested too.
func (l *leafTest) variants(all []*variant) []*variant {
	return slices.DeleteFunc(slices.Clone(all), func(v *variant) bool {
		switch v.name {
		case "avx2vnni":
			return !slices.ContainsFunc(quantLeafTests,
				func(q leafTest) bool { return q.name == l.name })
		case "avx512amx", "model of avx512amx":
			return !strings.HasPrefix(l.name, "quantTile") &&
				!strings.HasPrefix(l.name, "quantGroups")
		case "model of avx512":
			return !slices.Contains(modelled, l.name)
		}
		return false
	})
}

// compare makes one call with pure Go and one with each variant that has the operation, and compares
// everything that they leave behind.
func (l *leafTest) compare(
	t testing.TB, p *placer, variants []*variant, a, b, c int, kind numbers, offset int,
) {
	t.Helper()
	p.reset(uint64(a*1000003+b*1009+c), kind, offset)
	wantReturned := l.call(goVariant, p, a, b, c)
	var want [][]byte
	for _, r := range p.results(t) {
		want = append(want, slices.Clone(r))
	}
	for _, v := range variants {
		p.repeat()
		gotReturned := l.call(v, p, a, b, c)
		got := p.results(t)
		what := func(i int) string {
			return fmt.Sprintf("%s %s(%d, %d, %d) kind %d offset %d, operand %d", v.name, l.name, a,
				b, c, kind, offset, i)
		}
		for i, w := range wantReturned {
			if g := gotReturned[i]; !(g == w && 1/g == 1/w) && !(g != g && w != w) {
				t.Fatalf("%s: returned %v, want %v", what(i), g, w)
			}
		}
		for i := range want {
			switch { // the last operand of a loose test is in 16 bits
			case bytes.Equal(got[i], want[i]):
			case l.loose && i == len(want)-1, l.ints>>i&1 == 1:
				t.Fatalf("%s differs", what(i))
			case l.wide>>i&1 == 1:
				sameDoubles(t, what(i), got[i], want[i])
			default:
				sameFloats(t, what(i), got[i], want[i])
			}
		}
	}
}

func TestVariantsAreTheSame(t *testing.T) {
	all, p := others(t), newPlacer(t)
	for _, l := range leafTests {
		t.Run(l.name, func(t *testing.T) {
			variants := l.variants(all)
			for _, a := range l.a {
				for _, b := range l.b {
					for _, kind := range cases.Some(allKinds, cases.Few(1, 2, 4), (a+b)/2) {
						c := (a + b + int(kind)) % 4
						l.compare(t, p, variants, a, b, c, kind, 0)
						l.compare(t, p, variants, a, b, 3-c, kind, 1+(a+b)%7)
					}
				}
			}
		})
	}
}

// TestVariantsAtRealSizes tries the shapes of a model: long chains, where an error in an order
// would show.
func TestVariantsAtRealSizes(t *testing.T) {
	sizes := map[string][2]int{"tile": {13, 300}, "chain": {300, 200}, "chain16": {320, 203},
		"dot row": {11, 768}, "dot": {11, 771},
		"dot16 row": {11, 768}, "dot16": {11, 771}, "layerNorm": {1600, 0}, "expShift": {1027, 0},
		"logSumExp": {50257, 0}, "exp64s": {5003, 0}, "widen64": {5003, 0}, "maxima": {5003, 0},
		"within":      {5003, 0},
		"quantizeRow": {3072, 0}, "quantTile8": {13, 24}, "quantTile4": {13, 24},
		"quantGroups8": {37, 24}, "quantGroups4": {37, 24}}
	all, p := others(t), newPlacer(t)
	for _, l := range leafTests {
		if size, ok := sizes[l.name]; ok {
			for kind := range kinds {
				l.compare(t, p, l.variants(all), size[0], size[1], int(kind), kind, 3)
			}
		}
	}
}

// FuzzVariants tries sizes, alignments and numbers at random.
func FuzzVariants(f *testing.F) {
	for i := range leafTests {
		f.Add(uint8(i), uint8(17), uint8(9), uint8(1), uint8(2), uint8(3))
	}
	variants, p := others(f), newPlacer(f)
	f.Fuzz(func(t *testing.T, op, a, b, c, kind, offset uint8) {
		l := &leafTests[int(op)%len(leafTests)]
		// between the least and the greatest that are tried
		size := func(tried []int, n uint8) int {
			low, high := slices.Min(tried), slices.Max(tried)
			return low + int(n)%(high-low+1)
		}
		l.compare(t, p, variants, size(l.a, a), size(l.b, b), int(c)%4, numbers(kind)%kinds,
			int(offset)%64)
	})
}
