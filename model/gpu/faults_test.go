package gpu

// The sessions after a device fails, is full, or is told to stop, with a driver that computes
// nothing: all logits are 0.

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/engine"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
	"picogpt/weights/demo"
)

var (
	errLost = errors.New("the cable was pulled")
	errFull = errors.New("no memory left")
)

// A fakeDriver counts what it is asked for, and fails at one call.
type fakeDriver struct {
	t        *testing.T
	live     map[Buffer]int64 // sizes
	next     Buffer
	calls    int
	failAt   int    // the call that fails, with all calls after it except Alloc, Free and Close
	once     bool   // it fails alone
	full     bool   // an Alloc was that call
	limit    int64  // bytes of memory, 0 for no limit
	onLaunch func() // if not nil
	launches int
	reads    int
	closed   int
}

func newFake(t *testing.T) *fakeDriver { return &fakeDriver{t: t, live: map[Buffer]int64{}} }

// call counts a call, and returns the error it is to end with.
func (d *fakeDriver) call() error {
	if d.calls++; d.calls == d.failAt || !d.once && d.failAt > 0 && d.calls > d.failAt {
		return errLost
	}
	return nil
}

// within fails the test where bytes are not all in a live buffer.
func (d *fakeDriver) within(b Buffer, at int64, n int) {
	if size, ok := d.live[b]; !ok || at < 0 || at+int64(n) > size {
		d.t.Errorf("bytes %d to %d of buffer %d, which has %d, live %v", at, at+int64(n), b, size,
			ok)
	}
}

func (d *fakeDriver) Alloc(bytes int64) (Buffer, error) {
	if d.calls++; d.calls == d.failAt {
		d.full = true
		return 0, errFull
	}
	total := bytes
	for _, size := range d.live {
		total += size
	}
	if bytes < 1 {
		d.t.Errorf("Alloc of %d bytes", bytes)
	}
	if d.limit > 0 && total > d.limit {
		return 0, errFull
	}
	d.next++
	d.live[d.next] = bytes
	return d.next, nil
}

func (d *fakeDriver) Free(b Buffer) {
	d.within(b, 0, 0)
	delete(d.live, b)
}

func (d *fakeDriver) Write(to Buffer, at int64, from []byte) error {
	d.within(to, at, len(from))
	return d.call()
}

func (d *fakeDriver) Read(to []byte, from Buffer, at int64) error {
	d.within(from, at, len(to))
	d.reads++
	clear(to)
	return d.call()
}

func (d *fakeDriver) Copy(to Buffer, toAt int64, from Buffer, fromAt, n int64) error {
	d.within(to, toAt, int(n))
	d.within(from, fromAt, int(n))
	return d.call()
}

func (d *fakeDriver) Launch(l *Launch) error {
	if d.onLaunch != nil {
		d.onLaunch()
	}
	d.launches++
	return d.call()
}

func (d *fakeDriver) Close() error {
	d.closed++
	if len(d.live) > 0 {
		d.t.Errorf("%d buffers are live at the end", len(d.live))
	}
	return nil
}

// unprobed is a device that is taken as it is.
type unprobed struct {
	*fakeDriver
	info   Info
	record bool
}

func (u *unprobed) Open(
	ctx context.Context, p *stack.Params, cache *engine.Budget, team *kernels.Team,
) (engine.Backend, error) {
	if u.info.Name == "" {
		u.info.Name = "fake"
	}
	driver := Driver(u.fakeDriver)
	if u.record {
		d, _ := WithRecorder(NewDevice(u.info, func() (Driver, error) { return driver, nil }))
		driver, _ = d.open()
	}
	b := newBackend(&u.info, p, cache, team, driver)
	if err := b.load(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// snapshot is what a session must still be.
type snapshot struct {
	s      *model.Session
	tokens []int
	logits []float32
	bytes  int64
}

func take(s *model.Session) snapshot {
	return snapshot{s, slices.Clone(s.Tokens()), slices.Clone(s.Logits()), s.Bytes()}
}

func (s *snapshot) check(t *testing.T, at int) {
	t.Helper()
	if !slices.Equal(s.s.Tokens(), s.tokens) || !slices.Equal(s.s.Logits(), s.logits) ||
		s.s.Bytes() != s.bytes {
		t.Errorf("call %d: %d tokens, %d logits, %d bytes, want %d, %d, %d", at, s.s.Len(),
			len(s.s.Logits()), s.s.Bytes(), len(s.tokens), len(s.logits), s.bytes)
	}
}

// TestADeviceThatFailsAtAnyCall makes each call of some work fail, one after the other. It also
// does so with a driver that records, where all later calls fail too.
func TestADeviceThatFailsAtAnyCall(t *testing.T) {
	cases.NotShort(t)
	t.Run("for good", func(t *testing.T) { failsAtAnyCall(t, false) })
	t.Run("once, recorded", func(t *testing.T) { failsAtAnyCall(t, true) })
}

func failsAtAnyCall(t *testing.T, recorded bool) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 700})
	at := 0
	for reached := true; reached; {
		at++
		d := newFake(t)
		d.failAt, d.once = at, recorded
		m, err := testmodel.Try(config, file, model.Options{Device: &unprobed{fakeDriver: d,
			record: recorded, info: Info{Doubles: true}},
			Digest: func() (string, error) { return "own", nil }})
		if err != nil {
			if d.closed != 1 || !errors.Is(err, errLost) && !errors.Is(err, errFull) {
				t.Errorf("call %d: closed %d times, error %v", at, d.closed, err)
			}
			continue
		}
		failed := failsOnce(t, m, at)
		// a pool without the memory to be twice as large may have some for one more page
		if reached = d.calls >= at; reached && !failed && !d.full {
			t.Errorf("call %d failed, and there is no error", at)
		}
		if used := m.CacheBytes(); used != 0 {
			t.Errorf("call %d: %d bytes of cache when all sessions are released", at, used)
		}
		if err := m.Close(); err != nil || d.closed != 1 {
			t.Errorf("call %d: closed %d times, error %v", at, d.closed, err)
		}
	}
	if at < 200 {
		t.Errorf("%d calls, want all of the work", at)
	}
	t.Logf("%d calls", at)
}

// failsOnce does work on a model until something fails, and checks that nothing has changed.
func failsOnce(t *testing.T, m *model.Model, at int) bool {
	ctx := context.Background()
	a, b := m.NewSession(), m.NewSession()
	defer a.Release()
	defer b.Release()
	var f *model.Session
	steps := []func() error{
		func() error { return m.Eval(ctx, model.Input{Session: a, Tokens: make([]int, 70)}) },
		func() error {
			f = a.Fork(65)
			return m.Eval(ctx, model.Input{Session: a, Tokens: make([]int, 600)},
				model.Input{Session: b, Tokens: []int{1, 2}})
		},
		func() error {
			return m.Eval(ctx, model.Input{Session: f, Tokens: []int{3}, Visit: func(model.Row) {}},
				model.Input{Session: b, Tokens: []int{3}})
		},
	}
	steps = append(steps, func() error { // through a file
		var file bytes.Buffer
		if err := a.Save(ctx, &file); err != nil {
			return err
		}
		restored, err := m.Restore(ctx, bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err == nil {
			restored.Release()
		}
		return err
	})
	for range 3 { // launched, recorded, replayed
		steps = append(steps, func() error {
			return m.Eval(ctx, model.Input{Session: b, Tokens: []int{4}, Best: 1, NoLogits: true,
				Visit: func(model.Row) {}})
		})
	}
	for _, step := range steps {
		before := []snapshot{take(a), take(b)}
		if f != nil {
			before = append(before, take(f))
		}
		used := m.CacheBytes()
		err := step()
		if err == nil {
			continue
		}
		for i := range before {
			before[i].check(t, at)
		}
		if m.CacheBytes() != used {
			t.Errorf("call %d: %d bytes of cache, want %d", at, m.CacheBytes(), used)
		}
		switch again := m.Eval(ctx, model.Input{Session: b, Tokens: []int{1}}); {
		case errors.Is(err, errLost):
			if !strings.Contains(err.Error(), "fake has failed") || !errors.Is(again, errLost) {
				t.Errorf("call %d: error %v, and then %v", at, err, again)
			}
		case !errors.Is(err, errFull) && !errors.Is(err, model.ErrCacheFull):
			t.Errorf("call %d: error %v", at, err)
		}
		if f != nil {
			f.Release()
		}
		return true
	}
	f.Release()
	if m.CacheBytes() == 0 {
		t.Errorf("call %d: no bytes of cache", at)
	}
	return false
}

func TestADeviceWithoutMemory(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 700})
	for _, c := range []struct {
		info  Info
		limit int64
		want  string
	}{
		{Info{Memory: 1000}, 0, "want at most the device's memory of 1000"},
		{Info{MostOne: 1000}, 0, "want at most 1000, the device's largest buffer"},
		{Info{}, 10000, "no memory left"},
	} {
		d := newFake(t)
		d.limit = c.limit
		_, err := testmodel.Try(config, file,
			model.Options{Device: &unprobed{fakeDriver: d, info: c.info}})
		if err == nil || !strings.Contains(err.Error(), c.want) || d.closed != 1 {
			t.Errorf("closed %d times, error %v, want %q", d.closed, err, c.want)
		}
	}
}

// TestADeviceOfOneMegabyte has no room for the demo model, and some for a small one: there, what
// finds no room is an error, and the sessions are as they were.
func TestADeviceOfOneMegabyte(t *testing.T) {
	const memory = 1 << 20
	d := newFake(t)
	_, err := testmodel.Try(demo.Config(), demo.Weights(),
		model.Options{Device: &unprobed{fakeDriver: d, info: Info{Memory: memory}}})
	if err == nil || !strings.Contains(err.Error(), "want at most the device's memory of 1048576") ||
		d.closed != 1 {
		t.Errorf("the demo model: closed %d times, error %v", d.closed, err)
	}
	d = newFake(t)
	d.limit = memory
	config, file := fixture.Checkpoint(fixture.Options{Positions: 4000})
	m, err := testmodel.Try(config, file,
		model.Options{Device: &unprobed{fakeDriver: d, info: Info{Memory: memory}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := m.NewSession()
	full := 0
	for n := 1; n < 2000; n *= 2 {
		before := take(s)
		err := m.Eval(context.Background(), model.Input{Session: s, Tokens: make([]int, n)})
		if err != nil {
			before.check(t, n)
			full++
		}
		if err != nil && !errors.Is(err, errFull) && !errors.Is(err, model.ErrCacheFull) {
			t.Errorf("%d tokens: error %v", n, err)
		}
	}
	if full == 0 || s.Len() == 0 {
		t.Errorf("%d evaluations found no memory, %d tokens did", full, s.Len())
	}
}

// TestPagesOnADevice holds the cache to CacheBytes and to the memory that there is.
func TestPagesOnADevice(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 700})
	const page = 3 * 15 * 2 * 64 * 4 // layers, width, keys and values, positions, bytes
	d := newFake(t)
	m, err := testmodel.Try(config, file,
		model.Options{Device: &unprobed{fakeDriver: d}, CacheBytes: 5 * page})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	eval := func(s *model.Session, n int) error {
		return m.Eval(context.Background(), model.Input{Session: s, Tokens: make([]int, n)})
	}
	want := func(what string, err error, full bool, pages int64) {
		t.Helper()
		if errors.Is(err, model.ErrCacheFull) != full || err != nil && !full {
			t.Errorf("%s: error %v", what, err)
		}
		if m.CacheBytes() != pages*page {
			t.Errorf("%s: %d bytes, want %d pages of %d", what, m.CacheBytes(), pages, page)
		}
	}
	a := m.NewSession()
	want("two pages and a half", eval(a, 160), false, 3)
	f := a.Fork(130)
	want("a fork", nil, false, 3)
	want("a fork goes on", eval(f, 1), false, 4)
	want("the original goes on: its page is its own again", eval(a, 1), false, 4)
	want("a whole page", eval(f, 128), true, 4)
	want("less", eval(f, 64), false, 5)
	want("no more", eval(a, 64), true, 5)
	f.Truncate(128)
	want("truncated to what is shared", nil, false, 3)
	want("a page of its own", eval(f, 1), false, 4)
	a.Release()
	want("the fork keeps what it shares", nil, false, 3)
	f.Release()
	want("all released", nil, false, 0)
}

// TestPagesGrowWithinTheBudget: the buffer of pages is not larger than what may be taken.
func TestPagesGrowWithinTheBudget(t *testing.T) {
	const page = 100
	d := newFake(t)
	p := pool{driver: d, info: &Info{}, budget: engine.NewBudget(5 * page), page: page}
	for n := 1; n <= 6; n++ {
		if _, err := p.get(); (err != nil) != (n > 5) {
			t.Errorf("page %d: error %v", n, err)
		}
		if size := d.live[p.buffer]; size < int64(min(n, 5)*page) || size > 5*page {
			t.Errorf("page %d: a buffer of %d bytes, want %d at most", n, size, 5*page)
		}
	}
}

// TestLogitsEndWithTheirContext: a group of rows whose logits are handed out is the last.
func TestLogitsEndWithTheirContext(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 700})
	m, err := testmodel.Try(config, file, model.Options{Device: &unprobed{fakeDriver: newFake(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := m.NewSession()
	ctx, cancel := context.WithCancel(context.Background())
	var rows atomic.Int64
	err = m.Eval(ctx, model.Input{Session: s, Tokens: make([]int, 300),
		Visit: func(model.Row) { rows.Add(1); cancel() }})
	if !errors.Is(err, context.Canceled) || s.Len() != 0 || rows.Load() > 64 {
		t.Errorf("error %v, %d tokens, %d rows handed out", err, s.Len(), rows.Load())
	}
}

// TestAPassEndsWithItsContext: what has been launched for a layer is the last.
func TestAPassEndsWithItsContext(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Layer: 9})
	d := newFake(t)
	m, err := testmodel.Try(config, file, model.Options{Device: &unprobed{fakeDriver: d}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := m.NewSession()
	ctx, cancel := context.WithCancel(context.Background())
	d.onLaunch = func() {
		if d.launches == 30 {
			cancel()
		}
	}
	err = m.Eval(ctx, model.Input{Session: s, Tokens: []int{1, 2, 3}})
	if !errors.Is(err, context.Canceled) || s.Len() != 0 || m.CacheBytes() != 0 {
		t.Errorf("error %v, %d tokens, %d bytes", err, s.Len(), m.CacheBytes())
	}
	if d.launches > 30+12 {
		t.Errorf("%d launches, want none after the layer of launch 30", d.launches)
	}
	d.onLaunch = nil
	if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: []int{1}}); err != nil {
		t.Errorf("after it: %v", err)
	}
}
