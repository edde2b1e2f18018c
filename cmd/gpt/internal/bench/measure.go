package bench

// Measuring: limits and work in turn, round by round.

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
)

// Progress is called with what is being measured, and how much of the work is done by then, 0 to 1.
type Progress func(what string, share float64)

// Options say what to measure. The zero value of a number takes its default; prompts and contexts
// are shorter where the model's context is.
type Options struct {
	PromptTokens int   // 512
	GenTokens    int   // 64
	Batch        []int // 8 and 32
	Rounds       int   // 5
	Progress     Progress
}

func (o *Options) defaults(c model.Config) {
	for _, d := range []struct {
		n   *int
		def int
	}{{&o.PromptTokens, 512}, {&o.GenTokens, 64}, {&o.Rounds, 5}} {
		if *d.n <= 0 {
			*d.n = d.def
		}
	}
	if len(o.Batch) == 0 {
		o.Batch = []int{8, 32}
	}
	o.GenTokens = min(o.GenTokens, c.Positions-1)
	o.PromptTokens = min(o.PromptTokens, c.Positions-o.GenTokens)
	if o.Progress == nil {
		o.Progress = func(string, float64) {}
	}
}

// A meter holds what one run works with.
type meter struct {
	Options
	ctx  context.Context
	m    *model.Model
	team *kernels.Team // as many workers as the model has
	buf  []byte        // far larger than any cache
	next int           // where in buf readMemory goes on

	iterations map[kernels.Format]int // of Peak
	operations []float64              // of each worker, for Peak
	leaf       kernels.Format         // whose products weights take: F32 or Q8
	prompt     []int
	rounds     map[string][]float64
}

// Measure runs a model through everything but starting up, which takes a process (see StartUp). Its
// context must have room for two positions: a token is decoded after another.
func Measure(ctx context.Context, m *model.Model, o Options) (*Result, error) {
	c := m.Config()
	if c.Positions < 2 {
		return nil, fmt.Errorf("n_positions: %d, want at least 2 to measure decoding", c.Positions)
	}
	o.defaults(c)
	team, err := kernels.NewTeam(m.Threads(), m.Leaves().Variant())
	if err != nil {
		return nil, err
	}
	defer team.Close()
	b := &meter{Options: o, ctx: ctx, m: m, team: team, iterations: map[kernels.Format]int{},
		operations: make([]float64, team.Size()), rounds: map[string][]float64{}}
	if f := m.Format(); f == kernels.Q8.String() || f == kernels.Q4.String() {
		b.leaf = kernels.Q8
	}
	b.prompt = make([]int, max(o.PromptTokens, c.Positions))
	for i := range b.prompt {
		b.prompt[i] = (i*7919 + 11) % c.VocabSize
	}
	r := &Result{Layers: c.Layer, Width: c.Embd, DType: m.Format(), Cache: m.CacheFormat(),
		Threads: m.Threads(), Kernel: m.Kernel(), Rounds: o.Rounds}
	if err := b.memory(r); err != nil {
		return nil, err
	}
	b.buf = make([]byte, 1<<29)
	for i := 0; i < len(b.buf); i += 4096 {
		b.buf[i] = 1 // a page that was never written is all one page
	}
	for i := range o.Rounds {
		o.Progress(fmt.Sprintf("round %d of %d", i+1, o.Rounds), float64(i)/float64(o.Rounds))
		if err := b.round(c); err != nil {
			return nil, err
		}
	}
	b.report(r, c)
	return r, nil
}

func (b *meter) add(name string, v float64) { b.rounds[name] = append(b.rounds[name], v) }

func (b *meter) median(name string) float64 { return median(b.rounds[name]) }

// round measures everything once. What is compared runs in turn, token by token, for a shared
// machine's speed changes from one moment to the next.
func (b *meter) round(c model.Config) error {
	s, err := b.prefilled(1)
	if err != nil {
		return err
	}
	deviceRead, devicePeak, err := b.m.DeviceLimits(b.ctx)
	if err != nil {
		return err
	}
	readMemory, peak := b.readMemory, b.peak
	if deviceRead > 0 { // the limits are the device's: the processor's do not matter
		readMemory = func() error { return nil }
		peak, b.leaf = func(kernels.Format) float64 { return devicePeak }, kernels.F32
	}
	steps := []func() error{readMemory, b.token(s)}
	for _, n := range b.Batch {
		batch := make([]model.Input, n)
		for i := range batch {
			t, err := b.prefilled(1)
			if err != nil {
				return err
			}
			defer t.Release()
			batch[i] = model.Input{Session: t, Tokens: b.prompt[i%len(b.prompt):][:1]}
		}
		steps = append(steps, func() error { return b.eval(batch...) })
	}
	took, err := b.inTurn(b.GenTokens, steps...)
	if err != nil {
		return err
	}
	read, one, many := readBytes/took[0], took[1], took[2:]
	if deviceRead > 0 {
		read = deviceRead
	}
	b.add("read", read)
	b.add("decode", one)
	weights := float64(b.m.Bytes()) / read
	b.add("decode ratio", weights/one)

	var fmas, products []float64
	if took, err = b.inTurn(3, b.prefill, func() error {
		fmas = append(fmas, peak(kernels.F32))
		if b.leaf != kernels.F32 {
			products = append(products, peak(b.leaf))
		}
		return nil
	}); err != nil {
		return err
	}
	fma := median(fmas)
	leaf := fma
	if products != nil {
		leaf = median(products)
	}
	b.add("peak", fma)
	b.add("leaf peak", leaf)
	b.add("prefill", took[0])
	linear, attention := prefillFlops(c, b.PromptTokens, devicePeak == 0)
	b.add("prefill operations", linear+attention)
	b.add("prefill ratio", (linear/leaf+attention/fma)/took[0])
	b.batches(c, one, many, weights, leaf)

	at50, at900 := contexts(c)
	early, err := b.prefilled(at50)
	if err != nil {
		return err
	}
	late, err := b.prefilled(at900)
	if err != nil {
		return err
	}
	if took, err = b.inTurn(16, b.token(early), b.token(late)); err != nil {
		return err
	}
	b.add("at 50", took[0])
	b.add("at 900", took[1])
	b.add("context ratio", took[1]/took[0])
	if err := b.severalRows(at50); err != nil {
		return err
	}
	return b.choose()
}

// batches adds the seconds that a token of each session took, beside one session's, beside reading
// the weights once and beside multiplying with them, at the leaf's peak.
func (b *meter) batches(c model.Config, one float64, many []float64, weights, peak float64) {
	row, _ := prefillFlops(c, 1, false)
	for i, n := range b.Batch {
		name, multiplying := batchName(n), float64(n)*row/peak
		b.add(name, many[i])
		b.add(name+" speedup", float64(n)*one/many[i])
		b.add(name+" ratio", max(weights, multiplying)/many[i])
		b.add(name+" multiplying", multiplying/weights)
	}
}

func batchName(n int) string { return fmt.Sprint(n, " sessions") }

// inTurn runs the steps one after the other, n times, and returns each one's median time in
// seconds.
func (b *meter) inTurn(n int, steps ...func() error) ([]float64, error) {
	times := make([][]float64, len(steps))
	for range n {
		for i, step := range steps {
			start := time.Now()
			if err := step(); err != nil {
				return nil, err
			}
			times[i] = append(times[i], time.Since(start).Seconds())
		}
	}
	medians := make([]float64, len(steps))
	for i := range times {
		medians[i] = median(times[i])
	}
	return medians, nil
}

// contexts are where decoding is measured early and late: 16 tokens each, which go round where the
// context ends sooner (see token).
func contexts(c model.Config) (early, late int) {
	return max(1, min(50, c.Positions/4)), min(900, max(c.Positions-16, c.Positions/2))
}

func (b *meter) report(r *Result, c model.Config) {
	const ms = 1e3
	r.Limits = Limits{ReadGBps: b.median("read") / 1e9, FMAGFlops: b.median("peak") / 1e9}
	if b.leaf != kernels.F32 {
		r.Limits.IntegerGOps = b.median("leaf peak") / 1e9
	}
	r.Decode = Decode{b.median("decode") * ms, float64(b.m.Bytes()) / 1e9, b.median("decode ratio")}
	r.Prefill = Prefill{b.PromptTokens, b.median("prefill") * ms,
		b.median("prefill operations") / b.median("prefill") / 1e9, b.median("prefill ratio")}
	for _, n := range b.Batch {
		name, binds := batchName(n), Memory
		if b.median(name+" multiplying") > 1 {
			binds = Multiplying
		}
		r.Batch = append(r.Batch, Batch{n, float64(n) / b.median(name), b.median(name + " ratio"),
			binds, b.median(name + " speedup")})
	}
	early, late := contexts(c)
	r.Context = Context{[2]int{early, late}, b.median("at 50") * ms, b.median("at 900") * ms,
		b.median("context ratio")}
	r.Rows = b.rows(early)
	r.Choosing = Choosing{b.median(choices[0].name) * ms, b.median(choices[1].name) * ms,
		b.median(choices[2].name) * ms}
}

// prefillFlops counts the operations of the linear layers and the head for one position, and those
// of causal attention. If lastRead is set, so is the last layer, but for the keys and values of all
// positions.
func prefillFlops(c model.Config, tokens int, lastRead bool) (linear, attention float64) {
	t, l, d := float64(tokens), float64(c.Layer), float64(c.Embd)
	layer := 4*d*d + 2*d*float64(c.Inner) // 12·d² where n_inner is 4·n_embd
	linear, attention = 2*t*l*layer+2*float64(c.VocabSize)*d, 2*l*d*t*(t+1)
	if lastRead { // the other positions' part
		linear -= 2 * (t - 1) * (layer - 2*d*d)
		attention -= 2 * d * t * (t - 1)
	}
	return linear, attention
}

// readBytes is how much one pass of readMemory reads: many times a cache, and a part of the buffer,
// so that the next pass finds nothing in one.
const readBytes = 1 << 27

func (b *meter) readMemory() error {
	part := b.buf[b.next : b.next+readBytes]
	b.next = (b.next + readBytes) % len(b.buf)
	b.team.Run(func(w *kernels.Worker) { kernels.ReadMemory(w, part) })
	return nil
}

// peak multiplies and adds for 40 ms or so, and returns operations a second.
func (b *meter) peak(f kernels.Format) float64 {
	for n := max(1<<10, b.iterations[f]); ; n *= 2 { // at first it is not known how many are needed
		start := time.Now()
		b.team.Run(func(w *kernels.Worker) { b.operations[w.ID()] = w.Peak(f, n) })
		took := time.Since(start)
		if b.iterations[f] = n; took > 40*time.Millisecond {
			operations := 0.0
			for _, worker := range b.operations {
				operations += worker
			}
			return operations / took.Seconds()
		}
	}
}

func (b *meter) eval(batch ...model.Input) error { return b.m.Eval(b.ctx, batch...) }

// prefilled returns a session that holds n tokens.
func (b *meter) prefilled(n int) (*model.Session, error) {
	s := b.m.NewSession()
	return s, b.eval(model.Input{Session: s, Tokens: b.prompt[:n]})
}

func (b *meter) prefill() error {
	_, err := b.prefilled(b.PromptTokens)
	return err
}

// token returns a step that appends one token to s. When s is full it begins again from the tokens
// that it holds now.
func (b *meter) token(s *model.Session) func() error {
	begin, full := s.Len(), b.m.Config().Positions
	return func() error {
		if s.Len() == full {
			s.Truncate(begin)
		}
		return b.eval(model.Input{Session: s, Tokens: b.prompt[:1]})
	}
}

// memory decodes with one session in a process that has done nothing else, and looks at what that
// took.
func (b *meter) memory(r *Result) error {
	s, err := b.prefilled(b.PromptTokens)
	if err != nil {
		return err
	}
	var before, after runtime.MemStats
	allocs := make([]float64, b.GenTokens)
	step := b.token(s)
	// the last time counts: at first Go itself takes some memory for each processor's waiting
	// goroutines
	for range 4 {
		s.Truncate(b.PromptTokens)
		for i := range allocs {
			runtime.ReadMemStats(&before)
			if err := step(); err != nil {
				return err
			}
			runtime.ReadMemStats(&after)
			allocs[i] = float64(after.Mallocs - before.Mallocs)
		}
	}
	r.AllocsPerToken = median(allocs)
	debug.FreeOSMemory() // garbage of loading is not the session's
	r.RSSMB, r.MappedMB = resident()
	runtime.KeepAlive(s)
	return nil
}

// median averages the two in the middle of an even number, which none of gonum/stat's quantiles
// does.
func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// rowCounts are how many rows are measured, as far as the context holds them.
var rowCounts = []int{1, 2, 4, 8}

func rowsName(n int) string { return fmt.Sprint(n, " rows") }

// severalRows measures rows of one session with logits for each, which is what speculation
// evaluates, after a context of at tokens, each number in turn.
func (b *meter) severalRows(at int) error {
	s, err := b.prefilled(at)
	if err != nil {
		return err
	}
	counts, steps := b.rowCounts(at), []func() error{}
	for _, n := range counts {
		in := model.Input{Session: s, Tokens: b.prompt[:n], NoLogits: true,
			Visit: func(model.Row) {}}
		steps = append(steps, func() error {
			defer s.Truncate(at)
			return b.eval(in)
		})
	}
	took, err := b.inTurn(16, steps...)
	if err != nil {
		return err
	}
	for i, n := range counts {
		b.add(rowsName(n), took[i])
		b.add(rowsName(n)+" ratio", took[i]/took[0])
	}
	return nil
}

// rowCounts returns those that the context holds after at tokens.
func (b *meter) rowCounts(at int) (counts []int) {
	for _, n := range rowCounts {
		if at+n <= b.m.Config().Positions {
			counts = append(counts, n)
		}
	}
	return counts
}

func (b *meter) rows(at int) Rows {
	r := Rows{At: at}
	for _, n := range b.rowCounts(at) {
		r.Rows = append(r.Rows, n)
		r.MS = append(r.MS, b.median(rowsName(n))*1e3)
		r.Ratio = append(r.Ratio, b.median(rowsName(n)+" ratio"))
	}
	return r
}

// choices are the ways to choose that are measured.
var choices = []struct {
	name   string
	params sample.Params
}{
	{"greedy", sample.Params{}},
	{"top-k", sample.Params{Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05, RepeatPenalty: 1.1,
		RepeatLastN: 64}},
	{"top-p", sample.Params{Temperature: 0.8, TopP: 0.95}},
}

// choosing returns a step for each of choices, by itself: one goroutine, no model. The logits are
// not the model's, whose weights may be random: they are as unequal as a trained model's, normal
// with a deviation of 3.
func (b *meter) choosing() (steps []func() error, err error) {
	r := rand.New(rand.NewPCG(1, 2))
	logits := make([]float32, b.m.Config().VocabSize)
	for i := range logits {
		logits[i] = float32(r.NormFloat64() * 3)
	}
	for _, c := range choices {
		s, err := sample.NewSampler(c.params, sample.IDs{})
		if err != nil {
			return nil, err
		}
		s.Leaves = b.m.Leaves()
		steps = append(steps, func() error {
			_, err := s.Next(logits, b.prompt)
			return err
		})
	}
	return steps, nil
}

// choose measures choosing once.
func (b *meter) choose() error {
	steps, err := b.choosing()
	if err != nil {
		return err
	}
	took, err := b.inTurn(64, steps...)
	if err != nil {
		return err
	}
	for i, c := range choices {
		b.add(c.name, took[i])
	}
	return nil
}
