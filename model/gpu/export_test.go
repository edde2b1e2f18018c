package gpu

// Single operations of a pass, for tests of the kernels on a device, and a recorder over any
// driver.

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// Leaves is a device on which operations run by themselves.
type Leaves struct {
	t      testing.TB
	driver Driver
	team   *kernels.Team
}

// OpenLeaves opens a device, until the end of the test.
func OpenLeaves(t testing.TB, d *Device, team *kernels.Team) *Leaves {
	t.Helper()
	driver, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := driver.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Leaves{t, driver, team}
}

// with runs operations on rows of x [rows, in], which are in scratch.inner, with a layer's weights
// on the device.
func (l *Leaves) with(
	m *kernels.Matrix, bias, x []float32, rows int, run func(q *queue, w *linear),
) {
	l.t.Helper()
	wide := max(m.In, m.Out)
	any := stack.Linear{Weight: *m}
	p := &stack.Params{Vocab: m.Out, Embd: wide, Heads: 1, Inner: wide,
		H: []stack.Block{{CAttn: any, AttnProj: any, CFC: any, MLPProj: any}}}
	b := newBackend(&Info{}, p, engine.NewBudget(0), l.team, l.driver)
	defer b.free()
	load := loader{ctx: context.Background(), driver: l.driver, info: b.info}
	w := linear{matrix: load.matrix(m)}
	if bias != nil {
		w.bias = load.floats(bias)
	}
	b.loaded, b.stack.head = load.buffers, w.matrix
	var err error
	if b.scratch, err = newScratch(l.driver, p, 0, rows, 1); err == nil {
		err = l.driver.Write(b.scratch.inner, 0, bytesOf(x))
	}
	if err != nil || load.err != nil {
		l.t.Fatal(err, load.err)
	}
	q := b.queue()
	q.rows = rows
	run(q, &w)
	if q.err != nil {
		l.t.Fatal(q.err)
	}
}

// Linear returns x [rows, in] · m + bias.
func (l *Leaves) Linear(m *kernels.Matrix, bias, x []float32, rows int) []float32 {
	l.t.Helper()
	return l.linear(m, bias, x, rows, (*queue).linear)
}

// Tiles returns the same from each kind of tiles, by its name, whatever the number of rows.
func (l *Leaves) Tiles(m *kernels.Matrix, bias, x []float32, rows int) map[string][]float32 {
	l.t.Helper()
	segments, all := groups(m.In, segment), map[string][]float32{}
	for _, t := range []tile{manyTile(1), mostTile(1), mostTile(segments)} {
		name := fmt.Sprintf("%s, %d of %d segments", t.kernel, t.each, segments)
		all[name] = l.linear(m, bias, x, rows, func(q *queue, x Buffer, w *linear) {
			q.tiles(q.scratch.parts, x, w, t)
		})
	}
	return all
}

func (l *Leaves) linear(
	m *kernels.Matrix, bias, x []float32, rows int, run func(q *queue, x Buffer, w *linear),
) []float32 {
	l.t.Helper()
	y := make([]float32, rows*m.Out)
	l.with(m, bias, x, rows, func(q *queue, w *linear) {
		run(q, q.scratch.inner, w)
		parts := make([]float32, q.segments*len(y))
		q.read(parts, q.scratch.parts)
		copy(y, parts)
		for part := parts[len(y):]; len(part) > 0; part = part[len(y):] {
			for i := range y {
				y[i] += part[i]
			}
		}
	})
	return y
}

// Head returns the logits x [rows, in] · m, of weights [out, in].
func (l *Leaves) Head(m *kernels.Matrix, x []float32, rows int) []float32 {
	l.t.Helper()
	y := make([]float32, rows*m.Out)
	l.with(m, nil, x, rows, func(q *queue, _ *linear) {
		q.head(q.scratch.logits, q.scratch.inner, rows)
		q.read(y, q.scratch.logits)
	})
	return y
}

// Best returns what the device chooses of rows of logits [rows, vocab]: a Best without ids where
// the row itself has to be read.
func (l *Leaves) Best(logits []float32, rows, vocab, k int) (best []stack.Best) {
	l.t.Helper()
	l.choose(logits, rows, vocab, k, func(q *queue) {
		if q.chooser.k > 0 {
			q.readBest()
		}
		best = q.Best
	})
	return best
}

// Exponentials returns exp(logit − greatest) of logits [rows, vocab], for a vocab of two or more,
// and what they add up to [rows]: the logarithm of the sum is made of these, and its rounding
// hides their last bits.
func (l *Leaves) Exponentials(logits []float32, rows, vocab int) (terms, sums []float64) {
	l.t.Helper()
	terms, sums = make([]float64, rows*vocab), make([]float64, rows)
	l.choose(logits, rows, vocab, 1, func(q *queue) {
		for i := range rows {
			at := 8 * int64(i*runsOf(vocab)*runLogits)
			q.err = errors.Join(q.err,
				q.driver.Read(bytesOf(terms[i*vocab:][:vocab]), q.scratch.terms, at),
				q.driver.Read(bytesOf(sums[i:i+1]), q.scratch.best, 4*int64(i*bestWords(1))))
		}
	})
	return terms, sums
}

// choose runs the kernels that choose, and then what reads their results.
func (l *Leaves) choose(logits []float32, rows, vocab, k int, read func(q *queue)) {
	l.t.Helper()
	p := &stack.Params{Vocab: vocab, Embd: 1, Heads: 1, Inner: 1, H: make([]stack.Block, 1)}
	b := newBackend(&Info{Doubles: true}, p, engine.NewBudget(0), l.team, l.driver)
	defer b.free()
	pass := &engine.Pass{}
	for range rows {
		pass.Spans = append(pass.Spans, engine.Span{Tokens: []int{0}, Best: k})
	}
	b.Begin(p, pass)
	b.Gather(0)
	var err error
	if b.scratch, err = newScratch(l.driver, p, b.mostChosen(), rows, 1); err == nil {
		err = l.driver.Write(b.scratch.logits, 0, bytesOf(logits))
	}
	q := b.queue()
	if q.chooser.k = q.chosen(); q.chooser.k > 0 {
		q.choose(rows, q.chooser.k)
	}
	read(q)
	if err = errors.Join(err, q.err); err != nil {
		l.t.Fatal(err)
	}
}

// Activate returns an activation of the floats whose bits are first, first + step, ….
func (l *Leaves) Activate(dst []float32, first, step uint32, a kernels.Activation) {
	l.t.Helper()
	n := len(dst)
	y, err := l.driver.Alloc(4 * int64(n))
	if err != nil {
		l.t.Fatal(err)
	}
	defer l.driver.Free(y)
	err = l.driver.Launch(&Launch{Kernel: "activate", Groups: [3]int{groups(n, groupItems), 1, 1},
		Items: groupItems, Args: []Arg{memory(y), integer(int(first)), integer(int(step)),
			integer(n), integer(int(a))}})
	if err == nil {
		err = l.driver.Read(bytesOf(dst), y, 0)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// WithRecorder returns d with a driver that records launches and makes them again one by one, and
// what it counts. It is as strict as the strictest of drivers.
func WithRecorder(d *Device) (*Device, *Recorded) {
	r := &Recorded{Launches: map[string]int{}}
	own := *d
	own.open = func() (Driver, error) {
		driver, err := d.open()
		return &recorder{Driver: driver, Recorded: r, known: map[string]bool{},
			kept: map[Recording][]Launch{}}, err
	}
	return &own, r
}

// Recorded counts what has been recorded, replayed and forgotten, the launches of each kernel, and
// the bytes that have been read.
type Recorded struct {
	Recorded, Replayed, Forgotten int
	Launches                      map[string]int
	Read                          int
}

type recorder struct {
	Driver
	*Recorded
	known map[string]bool // the kernels that have been launched
	now   []Launch        // while recording
	on    bool
	wrong error // the first call that was not allowed then
	next  Recording
	kept  map[Recording][]Launch
}

// refused is an error while launches are recorded, as it is of CUDA, which then also ends the
// recording.
func (r *recorder) refused(call string) error {
	if !r.on {
		return nil
	}
	err := fmt.Errorf("%s while launches are recorded", call)
	if r.wrong == nil {
		r.wrong = err
	}
	return err
}

func (r *recorder) Launch(l *Launch) error {
	if !r.on {
		r.Launches[l.Kernel]++
		r.known[l.Kernel] = true
		return r.Driver.Launch(l)
	}
	if !r.known[l.Kernel] {
		return r.refused("the first launch of " + l.Kernel)
	}
	own := *l
	own.Args = append([]Arg(nil), l.Args...)
	r.now = append(r.now, own)
	return nil
}

func (r *recorder) Alloc(bytes int64) (Buffer, error) {
	if err := r.refused("Alloc"); err != nil {
		return 0, err
	}
	return r.Driver.Alloc(bytes)
}

func (r *recorder) Free(b Buffer) {
	_ = r.refused("Free")
	r.Driver.Free(b)
}

func (r *recorder) Write(to Buffer, at int64, from []byte) error {
	if err := r.refused("Write"); err != nil {
		return err
	}
	return r.Driver.Write(to, at, from)
}

func (r *recorder) Read(to []byte, from Buffer, at int64) error {
	if err := r.refused("Read"); err != nil {
		return err
	}
	r.Recorded.Read += len(to)
	return r.Driver.Read(to, from, at)
}

func (r *recorder) Copy(to Buffer, toAt int64, from Buffer, fromAt, n int64) error {
	if err := r.refused("Copy"); err != nil {
		return err
	}
	return r.Driver.Copy(to, toAt, from, fromAt, n)
}

func (r *recorder) Record(launches func() error) (Recording, error) {
	if err := r.refused("Record"); err != nil {
		return 0, err
	}
	r.now, r.on, r.wrong = nil, true, nil
	err := launches()
	r.on = false
	if err == nil {
		err = r.wrong
	}
	if err != nil {
		return 0, err
	}
	r.next++
	r.kept[r.next] = r.now
	r.Recorded.Recorded++
	return r.next, nil
}

func (r *recorder) Replay(n Recording) error {
	if err := r.refused("Replay"); err != nil {
		return err
	}
	launches, ok := r.kept[n]
	if !ok {
		return fmt.Errorf("there is no recording %d", n)
	}
	r.Replayed++
	for i := range launches {
		r.Launches[launches[i].Kernel]++
		if err := r.Driver.Launch(&launches[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) Forget(n Recording) {
	_ = r.refused("Forget")
	r.Forgotten++
	delete(r.kept, n)
}
