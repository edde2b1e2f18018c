package gpu

// Random passes of random models on a driver that computes nothing: no launch goes past the end of
// a buffer or of the plan, writes a number twice, or reads what was not written. Tests of bits may
// pass all the same, because there mostly is some memory after a buffer.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

func TestLaunchesKeepWithinTheirBuffers(t *testing.T) {
	cases.NotShort(t)
	team, err := kernels.NewTeam(1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	launched, replayed := map[string]int{}, 0
	for seed := range cases.Sized(40, 500) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 0))
			d := &bounded{fakeDriver: newFake(t), holds: map[Buffer]extent{}, launched: launched}
			device := NewDevice(Info{}, func() (Driver, error) { return d, nil })
			recording, count := WithRecorder(device)
			driver, _ := anyOf(r, device, recording, recording).open()
			b := newBackend(&Info{Doubles: r.IntN(2) == 0}, anyParams(r, seed), engine.NewBudget(0),
				team, driver)
			tiles := r.IntN(3) // of all passes: a recording has kernels that were launched before
			b.tilesOf = func(_, _, segments int) tile {
				return []tile{manyTile(1), mostTile(1), mostTile(segments)}[tiles]
			}
			if err := b.load(t.Context()); err != nil {
				t.Fatal(err)
			}
			d.plans = map[Buffer][]int32{}
			var texts []*text
			for turn := 0; turn < 25 && !t.Failed(); turn++ {
				texts = anyPass(t, r, b, texts, turn)
			}
			replayed += count.Replayed
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for name := range reach {
		if launched[name] == 0 && !testing.Short() {
			t.Errorf("kernel %s was not launched: nothing has checked it", name)
		}
	}
	if replayed == 0 {
		t.Error("no pass was replayed")
	}
}

func anyOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// anyParams returns parameters of random sizes. Of ten models five are in one format each, and the
// others in several. One of eight is so wide that the segments of a row are more than the rows for
// which scratch memory has room at least.
func anyParams(r *rand.Rand, seed int) *stack.Params {
	p := &stack.Params{Inner: 1 + r.IntN(anyOf(r, 40, 1400)), H: make([]stack.Block, 1+r.IntN(3)),
		Vocab: 2 + r.IntN(anyOf(r, 20, 300, 2500)), Positions: anyOf(r, 5, 64, 65, 300, 1300),
		Heads: 1 + r.IntN(anyOf(r, 1, 4, 12)), CacheFormat: anyOf(r, kernels.F32, kernels.F16)}
	p.Embd = p.Heads * (1 + r.IntN(min(anyOf(r, 8, 70, 130, 300), 1200/p.Heads)))
	wide := seed%8 == 7
	if wide {
		p.Heads, p.Embd, p.Inner, p.H = 1+r.IntN(2), 17*segment, 1+r.IntN(3), p.H[:1]
	}
	format := func(in, out int) kernels.Format {
		switch f := kernels.Format(seed % 10); {
		case wide && in*out > 1<<20:
			return kernels.Q4 // which takes the least memory
		case wide:
			return kernels.F32 // only floats have segments
		case f <= kernels.Q4:
			return f
		}
		return kernels.Format(r.IntN(int(kernels.Q4) + 1))
	}
	fillZeros(p, format)
	if r.IntN(2) == 0 {
		head := zeros(format(p.Embd, p.Vocab), p.Embd, p.Vocab)
		p.LMHead = &head
	}
	return p
}

// fillZeros makes all numbers of a model, which are 0.
func fillZeros(p *stack.Params, format func(in, out int) kernels.Format) {
	linear := func(in, out int) stack.Linear {
		return stack.Linear{Weight: zeros(format(in, out), in, out), Bias: make([]float32, out)}
	}
	n := p.Embd
	norm := stack.Norm{Gain: make([]float32, n), Bias: make([]float32, n)}
	p.WTE, p.LMHead = zeros(format(n, p.Vocab), n, p.Vocab), &p.WTE
	p.WPE, p.LnF = make([]float32, p.Positions*n), norm
	for i := range p.H {
		p.H[i] = stack.Block{Ln1: norm, Ln2: norm, CAttn: linear(n, 3*n), AttnProj: linear(n, n),
			CFC: linear(n, p.Inner), MLPProj: linear(p.Inner, n)}
	}
}

func zeros(f kernels.Format, in, out int) kernels.Matrix {
	m := kernels.Matrix{Format: f, In: in, Out: out}
	switch f {
	case kernels.F32:
		m.F32 = make([]float32, in*out)
	case kernels.F16, kernels.BF16:
		m.F16 = make([]uint16, in*out)
	default:
		m.Blocks = make([]byte, kernels.QuantBytes(f, in, out))
	}
	return m
}

// A text is the cache of a session, with its positions.
type text struct {
	engine.Cache
	held int
}

// next returns the next tokens of a text, which it sometimes truncates: most at most. Some want no
// logits, some those of several rows, or only the best of them.
func (x *text) next(r *rand.Rand, p *stack.Params, most int) engine.Span {
	if r.IntN(8) == 0 || x.held == p.Positions {
		x.held = r.IntN(max(x.held, 1))
		x.Truncate(x.held)
	}
	n := 1 + r.IntN(min(most, p.Positions-x.held))
	s := engine.Span{Cache: x.Cache, Position: x.held, Tokens: make([]int, n), Visit: n}
	for i := range s.Tokens {
		s.Tokens[i] = r.IntN(p.Vocab)
	}
	if r.IntN(4) > 0 {
		s.Logits = make([]float32, p.Vocab)
	}
	if r.IntN(8) == 0 {
		s.Visit, s.Best = r.IntN(n), r.IntN(5)
	}
	return s
}

// anyPass runs a pass of some of the texts, of new ones, and of forks. It returns all of them, in
// another order.
func anyPass(t *testing.T, r *rand.Rand, b *backend, texts []*text, turn int) []*text {
	small := 1 + turn*turn // the first ones, so that scratch memory grows
	count := 1 + r.IntN(min(small, anyOf(r, 3, 3, 20, 80, 500)))
	most := min(small, anyOf(r, 1, 1, 3, 8, 200))
	r.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	for range min(len(texts), r.IntN(4)) { // forks, beside texts with which they share pages
		n := r.IntN(texts[0].held + 1)
		texts = append([]*text{{texts[0].Fork(n), n}}, texts...)
	}
	for len(texts) < count {
		texts = append(texts, &text{b.NewCache(), 0})
	}
	pass := &engine.Pass{Visit: func(int, int, engine.Row) {}}
	for _, x := range texts[:count] {
		room := engine.PassRows - pass.Rows()
		if room == 0 {
			break
		}
		span := x.next(r, b.params, min(most, room))
		if err := x.Reserve(len(span.Tokens)); err != nil {
			t.Fatal(err)
		}
		pass.Spans = append(pass.Spans, span)
	}
	// the memory of a plan may have to grow at any word, whatever passes were before
	b.plan.words = make([]int32, 0, r.IntN(8*pass.Rows()))
	if err := b.Run(t.Context(), pass); err != nil {
		t.Fatal(err)
	}
	for i := range pass.Spans {
		texts[i].Commit()
		texts[i].held += len(pass.Spans[i].Tokens)
	}
	if last := len(texts) - 1; r.IntN(2) == 0 {
		texts[last].Release()
		texts = texts[:last]
	}
	return texts
}

// A bounded driver checks launches against the buffers that they use.
type bounded struct {
	*fakeDriver
	plans    map[Buffer][]int32 // the words that were written last; nil while weights are loaded
	holds    map[Buffer]extent  // what launches have written last
	launched map[string]int     // launches of each kernel
}

// An extent is the shape [parts, rows, wide] of what is at the start of a buffer, in numbers of so
// many bytes.
type extent struct{ bytes, parts, rows, wide int }

func floats(parts, rows, wide int) extent { return extent{4, parts, rows, wide} }

// integers are rows of inputs of Q8 and Q4 weights, in whole blocks of 32.
func integers(rows, wide int) extent { return extent{2, 1, rows, groups(wide, 32) * 32} }

func (d *bounded) Write(to Buffer, at int64, from []byte) error {
	if d.plans != nil {
		d.plans[to] = make([]int32, len(from)/4)
		copy(bytesOf(d.plans[to]), from)
	}
	return d.fakeDriver.Write(to, at, from)
}

// Copy copies pages, or whole rows of what a launch has written.
func (d *bounded) Copy(to Buffer, toAt int64, from Buffer, fromAt, n int64) error {
	if e := d.holds[from]; e.wide > 0 {
		d.holds[to] = floats(1, int(n)/4/e.wide, e.wide)
	}
	return d.fakeDriver.Copy(to, toAt, from, fromAt, n)
}

func (d *bounded) Launch(l *Launch) error {
	name, format := l.Kernel, kernels.F32
	for f := kernels.F32; f <= kernels.Q4; f++ {
		if base, ok := strings.CutSuffix(l.Kernel, "_"+f.String()); ok {
			name, format = base, f
		}
	}
	known := reach[name]
	parameters := strings.Fields(known.parameters)
	if known.check == nil || len(parameters) != len(l.Args) {
		d.t.Fatalf("kernel %s with %d arguments, want one of the table reach with %d", l.Kernel,
			len(l.Args), len(parameters))
	}
	c := &call{d, l.Kernel, format, known.wide, known.high, l.Groups, map[string]uint64{}}
	for i, parameter := range parameters {
		c.args[parameter] = l.Args[i].Bits
	}
	known.check(c)
	d.launched[name]++
	return d.fakeDriver.Launch(l)
}

// A call is a launch on a bounded driver.
type call struct {
	*bounded
	kernel     string
	of         kernels.Format // in the kernel's name, if it has one
	wide, high int            // of a group
	groups     [3]int
	args       map[string]uint64 // by the names of the parameters
}

func (c *call) check(ok bool, what string, args ...any) {
	if c.t.Helper(); !ok {
		c.t.Errorf("%s, groups %v, %v: %s", c.kernel, c.groups, c.args, fmt.Sprintf(what, args...))
	}
}

func (c *call) buffer(name string) Buffer {
	bits, ok := c.args[name]
	c.check(ok, "no parameter %s", name)
	return Buffer(bits)
}

func (c *call) number(name string) int { return int(int32(c.buffer(name))) }

// numberOr returns another number if the kernel has no such parameter.
func (c *call) numberOr(name string, other int) int {
	if _, ok := c.args[name]; !ok {
		return other
	}
	return c.number(name)
}

// grid checks the numbers of groups: with fewer, numbers would stay as they were.
func (c *call) grid(x, y, z int) {
	c.check(c.groups == [3]int{x, y, z}, "want groups %v", [3]int{x, y, z})
}

// room checks that a buffer has so many bytes.
func (c *call) room(name string, bytes int) {
	size := c.live[c.buffer(name)]
	c.check(int64(bytes) <= size, "%s has %d bytes, want %d", name, size, bytes)
}

// reads checks that a buffer has what the kernel reads.
func (c *call) reads(name string, e extent) {
	has := c.holds[c.buffer(name)]
	c.check(has == e, "%s holds %+v, want %+v", name, has, e)
	c.room(name, e.bytes*e.parts*e.rows*e.wide)
}

// writes checks that a buffer has room for what the kernel writes.
func (c *call) writes(name string, e extent) {
	c.room(name, e.bytes*e.parts*e.rows*e.wide)
	c.holds[c.buffer(name)] = e
}

// weights checks the size of weights [in, out], and of their bias if there is one.
func (c *call) weights(name string, in, out int) {
	switch c.of {
	case kernels.F32:
		c.room(name, 4*in*out)
	case kernels.F16, kernels.BF16:
		c.room(name, 2*in*out)
	default:
		c.room(name, kernels.QuantBytes(c.of, in, out))
	}
	if c.args["bias"] != 0 {
		c.room("bias", 4*out)
	}
}

// anyWord is the limit of a word for which a buffer has to have room.
const anyWord = math.MaxInt32

// word returns a word of the plan, which is less than a limit.
func (c *call) word(at, limit int) int {
	plan := c.plans[c.buffer("plan")]
	if at < 0 || at >= len(plan) {
		c.t.Fatalf("%s: word %d of a plan of %d", c.kernel, at, len(plan))
	}
	word := int(plan[at])
	c.check(word < limit, "word %d of the plan is %d, want less than %d", at, word, limit)
	return word
}

// once checks that a number was not seen before.
func (c *call) once(seen map[int]bool, what string, number int) {
	c.check(!seen[number], "%s %d twice", what, number)
	seen[number] = true
}
