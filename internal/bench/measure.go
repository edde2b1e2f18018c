package bench

// Measuring: limits and work in turn, round by round.

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"picogpt/kernels"
	"picogpt/model"
)

// Options say what to measure. The zero value of a number takes its default.
type Options struct {
	PromptTokens int // 512
	GenTokens    int // 64
	Batch        int // 8
	Rounds       int // 5
	Progress     func(what string)
}

func (o *Options) defaults(c model.Config) {
	for _, d := range []struct {
		n   *int
		def int
	}{{&o.PromptTokens, 512}, {&o.GenTokens, 64}, {&o.Batch, 8}, {&o.Rounds, 5}} {
		if *d.n <= 0 {
			*d.n = d.def
		}
	}
	o.GenTokens = min(o.GenTokens, c.Positions-1)
	o.PromptTokens = min(o.PromptTokens, c.Positions-o.GenTokens)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
}

// A meter holds what one run works with.
type meter struct {
	Options
	ctx  context.Context
	m    *model.Model
	team *kernels.Team // as many workers as the model has
	buf  []byte        // far larger than any cache

	flops  []float64 // of each worker, for FMAPeak
	prompt []int
	rounds map[string][]float64
}

// Measure runs a model through everything but starting up, which takes a process (see StartUp).
func Measure(ctx context.Context, m *model.Model, o Options) (*Result, error) {
	c := m.Config()
	o.defaults(c)
	team, err := kernels.NewTeam(m.Threads(), m.Kernel())
	if err != nil {
		return nil, err
	}
	defer team.Close()
	b := &meter{Options: o, ctx: ctx, m: m, team: team, flops: make([]float64, team.Size()), rounds: map[string][]float64{}}
	b.prompt = make([]int, max(o.PromptTokens, c.Positions))
	for i := range b.prompt {
		b.prompt[i] = (i*7919 + 11) % c.VocabSize
	}
	r := &Result{DType: m.Format(), Threads: m.Threads(), Kernel: m.Kernel(), Rounds: o.Rounds}
	if err := b.memory(r); err != nil {
		return nil, err
	}
	b.buf = make([]byte, 1<<29)
	for i := 0; i < len(b.buf); i += 4096 {
		b.buf[i] = 1 // a page that was never written is all one page
	}
	for i := range o.Rounds {
		o.Progress("round " + strconv.Itoa(i+1) + " of " + strconv.Itoa(o.Rounds))
		if err := b.round(c); err != nil {
			return nil, err
		}
	}
	b.report(r, c)
	return r, nil
}

func (b *meter) add(name string, v float64) { b.rounds[name] = append(b.rounds[name], v) }

func (b *meter) median(name string) float64 { return median(b.rounds[name]) }

// round measures everything once, each beside the limit that bounds it.
func (b *meter) round(c model.Config) error {
	read := b.readBandwidth()
	s, err := b.prefilled(1)
	if err != nil {
		return err
	}
	one, err := b.decode(s, b.GenTokens)
	if err != nil {
		return err
	}
	read = max(read, b.readBandwidth())
	b.add("read", read)
	b.add("decode", one)
	b.add("decode ratio", float64(b.m.Bytes())/one/read)

	peak := b.fmaPeak()
	took, err := b.timePrefill()
	if err != nil {
		return err
	}
	peak = max(peak, b.fmaPeak())
	b.add("peak", peak)
	b.add("prefill", took)
	b.add("prefill ratio", prefillFlops(c, b.PromptTokens)/took/peak)

	many, err := b.decodeBatch()
	if err != nil {
		return err
	}
	b.add("batch", many)
	b.add("batch speedup", float64(b.Batch)*one/many)

	early, late := contexts(c)
	if s, err = b.prefilled(early); err != nil {
		return err
	}
	at50, err := b.decode(s, 16)
	if err != nil {
		return err
	}
	if s, err = b.prefilled(late); err != nil {
		return err
	}
	at900, err := b.decode(s, 16)
	if err != nil {
		return err
	}
	b.add("at 50", at50)
	b.add("at 900", at900)
	b.add("context ratio", at900/at50)
	return nil
}

// contexts are where decoding is measured early and late.
func contexts(c model.Config) (early, late int) {
	return min(50, c.Positions/4), min(900, c.Positions-16)
}

func (b *meter) report(r *Result, c model.Config) {
	const ms = 1e3
	r.Limits = Limits{ReadGBps: b.median("read") / 1e9, FMAGFlops: b.median("peak") / 1e9}
	r.Decode = Decode{b.median("decode") * ms, float64(b.m.Bytes()) / 1e9, b.median("decode ratio")}
	r.Prefill = Prefill{b.PromptTokens, b.median("prefill") * ms, prefillFlops(c, b.PromptTokens) / b.median("prefill") / 1e9, b.median("prefill ratio")}
	r.Batch = Batch{b.Batch, float64(b.Batch) / b.median("batch"), b.median("batch speedup")}
	early, late := contexts(c)
	r.Context = Context{[2]int{early, late}, b.median("at 50") * ms, b.median("at 900") * ms, b.median("context ratio")}
}

// prefillFlops counts the linear layers, causal attention, and the head for one position.
func prefillFlops(c model.Config, tokens int) float64 {
	t, l, d := float64(tokens), float64(c.Layer), float64(c.Embd)
	linear := 4*d*d + 2*d*float64(c.Inner) // 12·d² where n_inner is 4·n_embd
	return 2*t*l*linear + 2*l*d*t*(t+1) + 2*float64(c.VocabSize)*d
}

// readBandwidth returns bytes a second, the best of a few passes.
func (b *meter) readBandwidth() float64 {
	best := 0.0
	for range 5 {
		start := time.Now()
		b.team.Run(func(w *kernels.Worker) { kernels.ReadMemory(w, b.buf) })
		best = max(best, float64(len(b.buf))/time.Since(start).Seconds())
	}
	return best
}

// fmaPeak returns operations a second, the best of a few runs of about 20 ms.
func (b *meter) fmaPeak() float64 {
	best, iterations := 0.0, 1<<10
	for tries := 0; tries < 4; {
		start := time.Now()
		b.team.Run(func(w *kernels.Worker) { b.flops[w.ID()] = kernels.FMAPeak(w, iterations) })
		took := time.Since(start).Seconds()
		if took < 0.02 {
			iterations *= 2
			continue
		}
		sum := 0.0
		for _, f := range b.flops {
			sum += f
		}
		best = max(best, sum/took)
		tries++
	}
	return best
}

func (b *meter) eval(batch ...model.Input) error { return b.m.Eval(b.ctx, batch...) }

// prefilled returns a session that holds n tokens.
func (b *meter) prefilled(n int) (*model.Session, error) {
	s := b.m.NewSession()
	return s, b.eval(model.Input{Session: s, Tokens: b.prompt[:n]})
}

func (b *meter) timePrefill() (float64, error) {
	s := b.m.NewSession()
	start := time.Now()
	err := b.eval(model.Input{Session: s, Tokens: b.prompt[:b.PromptTokens]})
	return time.Since(start).Seconds(), err
}

// decode appends n tokens one by one, and returns the median time of one.
func (b *meter) decode(s *model.Session, n int) (float64, error) {
	times, token := make([]float64, n), []int{0}
	for i := range times {
		token[0] = b.prompt[i]
		start := time.Now()
		if err := b.eval(model.Input{Session: s, Tokens: token}); err != nil {
			return 0, err
		}
		times[i] = time.Since(start).Seconds()
	}
	return median(times), nil
}

// decodeBatch appends a token to each of several sessions in one Eval, again and again, and returns the median time of one Eval.
func (b *meter) decodeBatch() (float64, error) {
	batch := make([]model.Input, b.Batch)
	for i := range batch {
		s, err := b.prefilled(1)
		if err != nil {
			return 0, err
		}
		batch[i] = model.Input{Session: s, Tokens: b.prompt[i : i+1]}
	}
	times := make([]float64, b.GenTokens)
	for i := range times {
		start := time.Now()
		if err := b.eval(batch...); err != nil {
			return 0, err
		}
		times[i] = time.Since(start).Seconds()
	}
	return median(times), nil
}

// memory decodes with one session in a process that has done nothing else, and looks at what that took.
func (b *meter) memory(r *Result) error {
	s, err := b.prefilled(b.PromptTokens)
	if err != nil {
		return err
	}
	var before, after runtime.MemStats
	allocs := make([]float64, b.GenTokens)
	token := []int{1}
	for i := range allocs {
		runtime.ReadMemStats(&before)
		if err := b.eval(model.Input{Session: s, Tokens: token}); err != nil {
			return err
		}
		runtime.ReadMemStats(&after)
		allocs[i] = float64(after.Mallocs - before.Mallocs)
	}
	r.AllocsPerToken = median(allocs)
	debug.FreeOSMemory() // garbage of loading is not the session's
	r.RSSMB, r.MappedMB = resident()
	runtime.KeepAlive(s)
	return nil
}

// resident returns the process's resident memory in 10⁶ bytes: its own, and pages of mapped files. Where the system does not tell, it is what
// Go took from the system, and 0.
func resident() (own, mapped float64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.Sys-m.HeapReleased) / 1e6, 0
	}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		kb, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
		switch name {
		case "RssAnon", "RssShmem":
			own += kb * 1024 / 1e6
		case "RssFile":
			mapped += kb * 1024 / 1e6
		}
	}
	return own, mapped
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
