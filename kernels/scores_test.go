package kernels

// The operations on a row of scores: bit for bit, and what they are by other means.

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

var scoreLeafTests = []leafTest{
	{name: "exp64s", a: edges, b: one, wide: 3,
		call: func(v *variant, p *placer, n, _, c int) []float64 {
			y, x := p.doubles(n), p.doubles(n)
			for i := range x {
				x[i] *= float64(1 + c*c*100) // to both ends of exp
			}
			by := math.Abs(float64(p.kind.float(p.rng))) + 0x1p-1074
			v.exp64s(y, x, float64(p.kind.float(p.rng)), by)
			return nil
		}},
	{name: "exp64s in place", a: edges, b: one, wide: 1,
		call: func(v *variant, p *placer, n, _, _ int) []float64 {
			x := p.doubles(n)
			v.exp64s(x, x, 0, 1)
			return nil
		}},
	{name: "sum64", a: edges, b: one, wide: 1,
		call: func(v *variant, p *placer, n, _, c int) []float64 {
			x := p.doubles(n * (1 + c))
			for i := range x {
				x[i] = math.Abs(x[i])
			}
			return []float64{v.sum64(x, float64(c*c))}
		}},
	{name: "sumAtLeast", a: edges, b: one, wide: 3,
		call: func(v *variant, p *placer, n, _, c int) []float64 {
			weights, scores := p.doubles(n), p.doubles(n)
			for i := range weights {
				weights[i] = math.Abs(weights[i])
			}
			return []float64{v.sumAtLeast(weights, scores, float64(c)/4-0.5)}
		}},
	{name: "widen64", a: edges, b: one, wide: 1,
		call: func(v *variant, p *placer, n, _, _ int) []float64 {
			if finite := v.widen64(p.doubles(n), p.floats(n)); finite {
				return []float64{1}
			}
			return []float64{0}
		}},
	{name: "allFinite", a: edges, b: one, call: func(v *variant, p *placer, n, _, _ int) []float64 {
		if v.allFinite(p.floats(n)) {
			return []float64{1}
		}
		return []float64{0}
	}},
	{name: "maxima", a: edges, b: one, wide: 3,
		call: func(v *variant, p *placer, n, _, c int) []float64 {
			n *= 1 + c
			y, x := p.doubles((n+MaximaRun-1)/MaximaRun), p.doubles(n)
			for i := range x {
				if x[i] != x[i] {
					x[i] = math.Inf(-1)
				}
			}
			v.maxima(y, x)
			for i := range y {
				y[i] += 0 // the sign of a zero is not promised
			}
			return nil
		}},
	{name: "within", a: edges, b: one, wide: 2, ints: 1,
		call: func(v *variant, p *placer, n, _, c int) []float64 {
			room := p.doubles(n) // of twice as many places
			places := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(room))), n)
			x := p.doubles(n)
			least := []float64{float64(p.kind.float(p.rng)), 0, math.Inf(-1), math.NaN()}[c]
			below := []float64{math.Inf(1), 1, math.Inf(1), 0}[c]
			found := v.within(places, x, least, below)
			clear(places[found:])
			clear(room[(n+1)/2:])
			return []float64{float64(found)}
		}},
}

// TestExp64sIsExp64 holds every variant to Exp64 one number at a time, at the ends of its range and
// everywhere between.
func TestExp64sIsExp64(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	x := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), exp64Max,
		math.Nextafter(exp64Max, 710), exp64Min, math.Nextafter(exp64Min, -709), 1, -1,
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}
	for range 20000 {
		x = append(x, r.Float64()*1500-750, r.NormFloat64(), -r.ExpFloat64())
	}
	for _, v := range available {
		y := make([]float64, len(x))
		Leaves{v}.Exp64s(y, x, 0, 1)
		for i, got := range y {
			want := Exp64(x[i])
			if math.Float64bits(got) != math.Float64bits(want) && !(got != got && want != want) {
				t.Fatalf("%s: Exp64s of %v is %v, want %v", v.name, x[i], got, want)
			}
		}
	}
}

// TestSumsAreInOrder holds sums to a loop, on numbers that are easy and hard to add in another order:
// of one size, of many, halfway between two units of the sum, and around the powers of two.
func TestSumsAreInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	kinds := map[string]func(i int) float64{
		"exponentials": func(int) float64 { return Exp64(-r.ExpFloat64() * 8) },
		"flat":         func(int) float64 { return 1 },
		"thirds":       func(int) float64 { return 1. / 3 },
		"halfway":      func(int) float64 { return float64(r.IntN(8)) * 0x1p-46 },
		"half a unit":  func(i int) float64 { return []float64{1, 0x1p-53, 0x1p-52, 0x1.8p-53}[i%4] },
		"growing":      func(i int) float64 { return math.Ldexp(r.Float64(), i/9) },
		"falling":      func(i int) float64 { return math.Ldexp(r.Float64(), -i/9) },
		"least":        func(int) float64 { return 0x1p-1022 * (1 + r.Float64()) },
		"zeros":        func(int) float64 { return 0 },
		"overflow":     func(int) float64 { return 0x1p1018 },
		"one NaN": func(i int) float64 {
			if i == 1000 {
				return math.NaN()
			}
			return 1
		},
	}
	x := make([]float64, 3000)
	for name, number := range kinds {
		for i := range x {
			x[i] = number(i)
		}
		for _, start := range []float64{0, 0x1p-60, 0.3, 0x1.fffffffffffffp6, 1 << 20} {
			for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 1000, len(x)} {
				want := start
				for _, v := range x[:n] {
					want += v
				}
				for _, v := range available {
					got := Leaves{v}.Sum64(x[:n], start)
					if got != want && !(got != got && want != want) {
						t.Fatalf("%s, %s: %v and %d numbers give %v, want %v", v.name, name, start,
							n, got, want)
					}
				}
			}
		}
	}
}

func TestScoresByOtherMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, v := range available {
		l := Leaves{v}
		for n := range 300 {
			x, narrow := make([]float64, n), make([]float32, n)
			for i := range x {
				narrow[i] = float32(r.IntN(9) - 4)
			}
			if !l.Widen(x, narrow) || !l.Finite(narrow) {
				t.Fatalf("%s: %v is finite", v.name, narrow)
			}
			most := make([]float64, (n+63)/64)
			l.Maxima(most, x)
			for i := range most {
				if want := slices.Max(x[64*i : min(64*i+64, n)]); most[i] != want {
					t.Fatalf("%s: maximum %d of %d is %v, want %v", v.name, i, n, most[i], want)
				}
			}
			for least := -5; least < 6; least++ {
				want := 0
				for i := range x {
					if int(narrow[i]) >= least {
						want += i
					}
				}
				weights := make([]float64, n)
				for i := range weights {
					weights[i] = float64(i)
				}
				if got := l.SumAtLeast(weights, x, float64(least)); got != float64(want) {
					t.Fatalf("%s: the places of %v at least %d sum up to %v, want %v", v.name, x,
						least, got, want)
				}
			}
			places := make([]int32, n)
			places = places[:l.Within(places, x, 1, 3)]
			next := 0
			for i := range x {
				if narrow[i] < 1 || narrow[i] >= 3 {
					continue
				}
				if next == len(places) || places[next] != int32(i) {
					t.Fatalf("%s: places %v of %v from 1 to 3", v.name, places, x)
				}
				next++
			}
			if next != len(places) {
				t.Fatalf("%s: %d places of %v, want %d", v.name, len(places), x, next)
			}
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				if n > 0 {
					at := r.IntN(n)
					was := narrow[at]
					narrow[at] = float32(bad)
					if l.Widen(x, narrow) || l.Finite(narrow) {
						t.Fatalf("%s: %v at %d of %d passes for finite", v.name, bad, at, n)
					}
					narrow[at] = was
				}
			}
		}
	}
}

func TestLeavesFollowTheTeam(t *testing.T) {
	for _, name := range Variants() {
		team := newTeam(t, 1, name)
		l, err := LeavesOf(name)
		if err != nil || l.Variant() != name || team.Leaves().Variant() != name {
			t.Errorf("leaves of %q: %q and %q, error %v", name, l.Variant(),
				team.Leaves().Variant(), err)
		}
	}
	if got, want := (Leaves{}).Variant(), Variants()[0]; got != want {
		t.Errorf("zero leaves: %q, want %q", got, want)
	}
	if _, err := LeavesOf("abacus"); err == nil {
		t.Error("leaves of no variant: no error")
	}
}

// exp64s512Model is exp64sAVX512: eight lanes of a register, where a mask says which there are
// elements for, and the ends of the range by masks too. What the loop does on two registers at a
// time, or only where an element needs it, changes no bit.
func exp64s512Model(y, x []float64, max, by float64) {
	for i := 0; i < len(x); i += 8 {
		var lanes, from [8]float64
		mask := 1<<min(8, len(x)-i) - 1
		for l := range lanes {
			if mask>>l&1 == 1 {
				from[l] = x[i+l]
			}
			from[l] = (from[l] - max) / by
			t := math.FMA(from[l], math.Log2E, round64)
			n := t - round64
			r := math.FMA(-n, ln2Lo64, math.FMA(-n, ln2Hi64, from[l]))
			q := float64(e13)
			for _, e := range []float64{e12, e11, e10, e9, e8, e7, e6, e5, e4, e3, e2} {
				q = math.FMA(q, r, e)
			}
			p := math.FMA(q, float64(r*r), r) + 1
			lanes[l] = math.Float64frombits(math.Float64bits(t)<<52 + math.Float64bits(p))
			if from[l] < exp64Min { // a zeroing mask
				lanes[l] = 0
			}
			if from[l] > exp64Max { // merging masks
				lanes[l] = math.Inf(1)
			}
			if from[l] != from[l] {
				lanes[l] = from[l]
			}
			if mask>>l&1 == 1 {
				y[i+l] = lanes[l]
			}
		}
	}
}

// logSumExp512Model is avx512's logSumExp: the eight lanes are those of a register, and a mask says
// which of them the last elements are added to.
func logSumExp512Model(x []float32) float64 {
	max := math.Inf(-1)
	for _, v := range x {
		if max == max && !(float64(v) <= max) { // a NaN stays
			max = float64(v)
		}
	}
	if max-max != 0 {
		return max
	}
	var acc [8]float64
	for i := 0; i < len(x); i += len(acc) {
		var from, y [8]float64
		few := x[i:min(i+len(acc), len(x))]
		for l, v := range few {
			from[l] = float64(v) - max
		}
		exp64s512Model(y[:], from[:], 0, 1)
		for l := range few {
			acc[l] += y[l]
		}
	}
	half := func(l []float64) float64 { return (l[0] + l[1]) + (l[2] + l[3]) }
	return max + Log64(half(acc[:4])+half(acc[4:]))
}

func BenchmarkScores(b *testing.B) {
	const n = 50257
	r := rand.New(rand.NewPCG(1, 2))
	x, y, narrow, places := make([]float64, n), make([]float64, n), make([]float32, n),
		make([]int32, n)
	for i := range x {
		x[i] = r.NormFloat64() * 3
		narrow[i] = float32(x[i])
	}
	for _, v := range available {
		run := func(name string, f func()) {
			b.Run(name+"/"+v.name, func(b *testing.B) {
				for b.Loop() {
					f()
				}
			})
		}
		run("exp64s", func() { v.exp64s(y, x, 14, 0.8) })
		run("sum64", func() { v.sum64(y, 0) })
		run("logSumExp", func() { v.logSumExp(narrow) })
		run("widen64", func() { v.widen64(y, narrow) })
		run("maxima", func() { v.maxima(y[:(n+63)/64], x) })
		run("sumAtLeast", func() { v.sumAtLeast(y, x, 4) })
		run("within few", func() { v.within(places, x, 9, math.Inf(1)) })
		run("within 9 of 100", func() { v.within(places, x, 4, math.Inf(1)) })
		run("within all", func() { v.within(places, x, -100, math.Inf(1)) })
	}
}

func TestTheFirstOfARow(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		x            []float32
		most, broken int
	}{
		{[]float32{3}, 0, -1}, {[]float32{-1, 2, 2, 0}, 1, -1}, {[]float32{-inf, -inf}, 0, 0},
		{[]float32{1, inf, inf}, 1, 1}, {[]float32{-2, -inf, -1}, 2, 1},
		{[]float32{1, math.MaxFloat32, nan}, 1, 2},
	} {
		if most := Argmax(c.x); most != c.most {
			t.Errorf("%v: the greatest is %d, want %d", c.x, most, c.most)
		}
		if broken := FirstNonFinite(c.x); broken != c.broken {
			t.Errorf("%v: the first that is not finite is %d, want %d", c.x, broken, c.broken)
		}
	}
}
