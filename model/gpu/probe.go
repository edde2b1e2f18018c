package gpu

// The probe: whether a device computes what the definition says. It first checks single operations,
// each by name, then a small model on the device and on the processor.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"picogpt/internal/cpu"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// Probe opens a device and returns what is wrong with it, or nil if it can be used. Opening a model
// does the same for the model's number formats; Probe does it for all.
func (d *Device) Probe(ctx context.Context) error {
	if ctx == nil {
		return errors.New("context: nil, want one, such as context.Background()")
	}
	if err := d.usable(); err != nil {
		return err
	}
	team, err := kernels.NewTeam(1, "")
	if err != nil {
		return err
	}
	defer team.Close()
	driver, err := d.open()
	if err != nil {
		return err
	}
	if d.trusted {
		return driver.Close()
	}
	err = probeOperations(driver, &d.Info)
	for f := kernels.F32; err == nil && f <= kernels.Q4; f++ {
		for _, cache := range []kernels.Format{kernels.F32, kernels.F16} {
			if err == nil {
				err = probeModel(ctx, driver, team, &d.Info, f, cache, kernels.GELUTanh)
			}
		}
	}
	return errors.Join(err, driver.Close())
}

// An operation is one of the operations of kernels/probe.cl, and the text for a device that
// computes it differently.
type operation struct {
	number int
	lacks  string
	want   func(a, b, c float32) float32
}

// operations are computed by Go on the processor, which rounds each correctly.
var operations = [...]operation{
	{1, "correctly rounded multiplication, with subnormals",
		func(a, b, _ float32) float32 { return float32(a * b) }},
	{2, "correctly rounded addition, with subnormals",
		func(a, _, c float32) float32 { return float32(a + c) }},
	{0, "correctly rounded fma, with subnormals", exactFMA},
	{3, "correctly rounded division", func(a, b, _ float32) float32 { return float32(a / b) }},
	{4, "correctly rounded square root",
		func(a, _, _ float32) float32 { return float32(math.Sqrt(float64(a))) }},
	{5, "products and sums that are not contracted",
		func(a, b, c float32) float32 { return float32(float32(a*b) + c) }},
	{6, "correctly rounded conversion of integers",
		func(a, _, _ float32) float32 { return float32(int32(math.Float32bits(a))) }},
	{7, "conversion from half precision",
		func(a, _, _ float32) float32 { return kernels.FromHalf(uint16(math.Float32bits(a))) }},
	{8, "conversion to half precision", func(a, _, _ float32) float32 {
		h := kernels.Half(a)
		if h&0x7c00 == 0x7c00 {
			h |= 0x0200
		}
		return math.Float32frombits(uint32(h))
	}},
}

// exactFMA is right if the sum is exact in float64, as it is in all of the probe's cases.
func exactFMA(a, b, c float32) float32 {
	return float32(float64(float64(a)*float64(b)) + float64(c))
}

// probeCases returns numbers of similar magnitude, of all magnitudes of float32, at the ends of its
// range, and such that a fused product shows.
func probeCases() (a, b, c []float32) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func(exponent int) float32 {
		sign := float64(1 - 2*r.IntN(2))
		return float32(sign * math.Ldexp(1+r.Float64(), exponent))
	}
	for i := range 1024 {
		// the product's last bit is at 2⁻⁴⁸ of it, and the sum has 53 bits
		e, f := r.IntN(121)-60, r.IntN(121)-60
		if i%4 == 0 { // subnormal products and sums
			e, f = -70-r.IntN(5), -65
		}
		a, b, c = append(a, number(e)), append(b, number(f)), append(c, number(e+f-2+r.IntN(5)))
		if i%2 == 0 { // the rounding error of the product
			c[i] = -float32(a[i] * b[i])
		}
	}
	for _, x := range []float32{0, float32(math.Copysign(0, -1)), 1, 3, math.MaxFloat32,
		math.SmallestNonzeroFloat32, 0x1p-126, 65504, 65520, float32(math.Inf(1)),
		float32(math.Inf(-1)), float32(math.NaN()), 0x1p-24, 0x1.8p-25, 2049, 2051} {
		for _, y := range []float32{1, 3, 0x1p-149, float32(math.Inf(1))} {
			a, b, c = append(a, x), append(b, y), append(c, 0)
		}
	}
	return a, b, c
}

// doubles are the operations of probe_double.
var doubles = [...]operation{
	{0, "correctly rounded products and fma in float64", func(a, b, _ float32) float32 {
		x, y := widened(a, b)
		return folded(math.FMA(x, y, -float64(x*y)))
	}},
	{1, "correctly rounded fma in float64", func(a, b, c float32) float32 {
		x, y := widened(a, b)
		return folded(math.FMA(x, y, float64(c)))
	}},
	{2, "correctly rounded addition in float64", func(a, b, c float32) float32 {
		x, _ := widened(a, b)
		return folded(float64(x + float64(c)))
	}},
}

func widened(a, b float32) (x, y float64) {
	return float64(float64(a) * 1.0000000001), float64(float64(b) * 0.9999999999)
}

// folded returns a number that depends on both words of x.
func folded(x float64) float32 {
	if x != x {
		return float32(math.NaN()) // the bits of a NaN may differ
	}
	bits := math.Float64bits(x)
	return math.Float32frombits(uint32(bits) ^ uint32(bits>>32))
}

// probeOperations returns an error that names what the device lacks.
func probeOperations(d Driver, info *Info) (err error) {
	a, b, c := probeCases()
	var buffers []Buffer
	defer func() {
		for _, buffer := range buffers {
			d.Free(buffer)
		}
	}()
	for _, x := range [][]float32{nil, a, b, c} {
		buffer, err := d.Alloc(4 * int64(len(a)))
		if err != nil {
			return err
		}
		buffers = append(buffers, buffer)
		if err := d.Write(buffer, 0, bytesOf(x)); err != nil {
			return err
		}
	}
	got := make([]float32, len(a))
	probe := func(kernel string, list []operation) error {
		for _, o := range list {
			grid := [3]int{groups(len(a), groupItems), 1, 1}
			err := d.Launch(&Launch{Kernel: kernel, Groups: grid, Items: groupItems, Args: []Arg{
				memory(buffers[0]), memory(buffers[1]), memory(buffers[2]), memory(buffers[3]),
				integer(len(a)), integer(o.number)}})
			if err == nil {
				err = d.Read(bytesOf(got), buffers[0], 0)
			}
			if err != nil {
				return err
			}
			for i := range got {
				if want := o.want(a[i], b[i], c[i]); !same(got[i], want) {
					return fmt.Errorf("the device lacks %s: for %x, %x and %x it gives %x, want %x",
						o.lacks, bitsOf(a[i]), bitsOf(b[i]), bitsOf(c[i]), bitsOf(got[i]),
						bitsOf(want))
				}
			}
		}
		return nil
	}
	if err = probe("probe", operations[:]); err == nil && info.Doubles {
		err = probe("probe_double", doubles[:])
	}
	return err
}

func bitsOf(x float32) uint32 { return math.Float32bits(x) }

// same reports whether two numbers have the same bits, or both are NaN.
func same(x, y float32) bool { return bitsOf(x) == bitsOf(y) || x != x && y != y }

// probeModel computes a small model of random weights in these formats, on the device and on the
// processor.
func probeModel(
	ctx context.Context, d Driver, team *kernels.Team, info *Info, weights, cache kernels.Format,
	activation kernels.Activation,
) error {
	p := probeParams(team, weights, cache, activation)
	want, err := probeLogits(ctx, cpu.New(team, p, engine.NewBudget(0)), p)
	if err != nil {
		return err
	}
	b := newBackend(&Info{Doubles: info.Doubles}, p, engine.NewBudget(0), team, d)
	defer b.free()
	b.tilesOf = eachTile()
	if err := b.load(ctx); err != nil {
		return err
	}
	other := fmt.Sprintf("the device computes other logits than the processor, with weights in %v "+
		"and a cache in %v", weights, cache)
	got, err := probeLogits(ctx, b, p)
	if nan := (*engine.NonFiniteError)(nil); errors.As(err, &nan) {
		return fmt.Errorf("%s: %w", other, err)
	}
	if err != nil {
		return err
	}
	for i := range want.logits {
		if !same(got.logits[i], want.logits[i]) {
			return fmt.Errorf("%s: logit %d is %x, want %x", other, i, bitsOf(got.logits[i]),
				bitsOf(want.logits[i]))
		}
	}
	if got.best != want.best || got.sum != want.sum {
		return fmt.Errorf("%s: of the last row logit %d is the greatest, and %x the logarithm of "+
			"the sum of all, want %d and %x", other, got.best, math.Float64bits(got.sum), want.best,
			math.Float64bits(want.sum))
	}
	return nil
}

// eachTile chooses one kind of tiles after the other, so that a small model has them all. Of the
// two layers with two segments, the last of each block, one has them added up by its groups.
func eachTile() func(rows, out, segments int) tile {
	turn := 0
	return func(_, _, segments int) tile {
		turn++
		return []tile{manyTile(1), mostTile(1), mostTile(segments)}[(turn+1)%3]
	}
}

// answers are the results that a probe compares.
type answers struct {
	logits []float32 // of rows in several ways
	best   int32     // the greatest logit of a row that is not read whole
	sum    float64   // the logarithm of the sum of its exponentials
}

// probeLogits evaluates a text of a page and a half in passes that run different kernels: many
// rows, a few, one; two more of one row, so that the pass is recorded and replayed; and one of
// which only the greatest logit is needed.
func probeLogits(
	ctx context.Context, b engine.Backend, p *stack.Params,
) (a answers, err error) {
	c := b.NewCache()
	defer c.Release()
	a.logits = make([]float32, p.Positions*p.Vocab)
	position := 0
	for _, n := range []int{p.Positions - 7, 3, 1, 1, 1, 1} {
		tokens := make([]int, n)
		for i := range tokens {
			tokens[i] = (position + i) * 7 % p.Vocab
		}
		if err := c.Reserve(n); err != nil {
			return a, err
		}
		span := engine.Span{Cache: c, Tokens: tokens, Position: position}
		if position == p.Positions-1 {
			span.Best = 1
		}
		if position == 0 {
			span.Visit = n / 3 // the last block is then computed for the others only
		}
		err := b.Run(ctx, &engine.Pass{Spans: []engine.Span{span},
			Visit: func(_, i int, row engine.Row) {
				switch {
				case span.Best == 0:
					copy(a.logits[(position+i)*p.Vocab:], row.Logits)
				case row.Best != nil:
					a.best, a.sum = row.Best.IDs[0], row.Best.LogSumExp
				default:
					most := slices.Max(row.Logits)
					a.best = int32(slices.Index(row.Logits, most))
					a.sum = kernels.Leaves{}.LogSumExp(row.Logits)
				}
			}})
		if err != nil {
			return a, err
		}
		c.Commit()
		position += n
	}
	return a, nil
}

// probeParams returns a model whose layers are as wide as two chains, and not a multiple of any
// block size.
func probeParams(
	team *kernels.Team, weights, cache kernels.Format, activation kernels.Activation,
) *stack.Params {
	const vocab, positions, heads, embd, inner = 37, 90, 3, 51, 270
	r := rand.New(rand.NewPCG(3, 4))
	floats := func(n int, mean, deviation float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(mean + deviation*r.NormFloat64())
		}
		return x
	}
	matrix := func(layout kernels.Layout, in, out int) kernels.Matrix {
		m := kernels.Matrix{Layout: layout, In: in, Out: out, F32: floats(in*out, 0, 0.2)}
		return kernels.Convert(team, weights, &m)
	}
	norm := func() stack.Norm {
		return stack.Norm{Gain: floats(embd, 1, 0.2), Bias: floats(embd, 0, 0.2)}
	}
	linear := func(in, out int) stack.Linear {
		return stack.Linear{Weight: matrix(kernels.InOut, in, out), Bias: floats(out, 0, 0.2)}
	}
	p := &stack.Params{
		Vocab: vocab, Positions: positions, Embd: embd, Heads: heads, Inner: inner,
		CacheFormat: cache, Epsilon: 1e-5, Activation: activation,
		WTE: matrix(kernels.OutIn, embd, vocab), WPE: floats(positions*embd, 0, 0.2), LnF: norm(),
	}
	p.LMHead = &p.WTE
	for range 2 {
		p.H = append(p.H, stack.Block{Ln1: norm(), Ln2: norm(), CAttn: linear(embd, 3*embd),
			AttnProj: linear(embd, embd), CFC: linear(embd, inner), MLPProj: linear(inner, embd),
			Scale: 0.25})
	}
	return p
}
