package model_test

// Memory is given back once: a session's pages by its methods, the garbage collector, or both at
// the same time; workers and the device when nothing refers to a model any more.

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
)

// A watchedDevice is a listDevice whose caches check that no other goroutine uses them during a
// call; during the call the garbage collector runs.
type watchedDevice struct {
	*listDevice
	during  func() // called inside every call of a cache, where it is not nil
	overlap atomic.Int32
}

func (d *watchedDevice) Open(
	ctx context.Context, p *stack.Params, b *engine.Budget, team *kernels.Team,
) (engine.Backend, error) {
	_, err := d.listDevice.Open(ctx, p, b, team)
	return d, err
}

func (d *watchedDevice) NewCache() engine.Cache {
	return &watchedCache{d.listDevice.NewCache(), d, atomic.Int32{}}
}

func (d *watchedDevice) Run(ctx context.Context, p *engine.Pass) error {
	inner := *p
	inner.Spans = nil
	for _, s := range p.Spans {
		s.Cache = s.Cache.(*watchedCache).Cache
		inner.Spans = append(inner.Spans, s)
	}
	return d.listDevice.Run(ctx, &inner)
}

type watchedCache struct {
	engine.Cache
	device *watchedDevice
	users  atomic.Int32
}

// use is deferred twice: c.use()().
func (c *watchedCache) use() func() {
	if c.users.Add(1) > 1 {
		c.device.overlap.Add(1)
	}
	if c.device.during != nil {
		c.device.during()
	}
	return func() { c.users.Add(-1) }
}

func (c *watchedCache) Fork(n int) engine.Cache {
	defer c.use()()
	return &watchedCache{c.Cache.Fork(n), c.device, atomic.Int32{}}
}

func (c *watchedCache) Truncate(n int) { defer c.use()(); c.Cache.Truncate(n) }
func (c *watchedCache) Bytes() int64   { defer c.use()(); return c.Cache.Bytes() }
func (c *watchedCache) Release()       { defer c.use()(); c.Cache.Release() }
func (c *watchedCache) Commit()        { defer c.use()(); c.Cache.Commit() }
func (c *watchedCache) Rollback()      { defer c.use()(); c.Cache.Rollback() }

func (c *watchedCache) Read(dst kernels.KV, page, n int) error {
	defer c.use()()
	return c.Cache.Read(dst, page, n)
}

func (c *watchedCache) Write(page, n int, src kernels.KV) error {
	defer c.use()()
	return c.Cache.Write(page, n, src)
}

func (c *watchedCache) Reserve(n int) error {
	defer c.use()()
	return c.Cache.Reserve(n)
}

// collect runs the garbage collector until what nobody had before is cleaned up, or waits for us.
func collect() {
	for range 3 {
		var cleaned atomic.Bool
		runtime.AddCleanup(new([16]byte), func(b *atomic.Bool) { b.Store(true) }, &cleaned)
		for range 50 {
			if runtime.GC(); cleaned.Load() {
				break
			}
			runtime.Gosched()
		}
	}
}

// lastUses are all calls that may be the last one of a session. Each takes a session of a few
// tokens to which nothing else refers.
var lastUses = map[string]func(s *model.Session){
	"Release":       func(s *model.Session) { s.Release() },
	"Truncate to 0": func(s *model.Session) { s.Truncate(0) },
	"Truncate to 1": func(s *model.Session) { s.Truncate(1) },
	"Bytes":         func(s *model.Session) { s.Bytes() },
	"Fork":          func(s *model.Session) { s.Fork(1) },
	"Take from":     func(s *model.Session) { s.Model().NewSession().Take(s) },
	"Take into":     func(s *model.Session) { s.Take(s.Model().NewSession()) },
	"Save": func(s *model.Session) {
		if err := s.Save(context.Background(), io.Discard); err != nil {
			panic(err)
		}
	},
	"Eval": func(s *model.Session) {
		if err := s.Model().Eval(context.Background(),
			model.Input{Session: s, Tokens: []int{4}}); err != nil {
			panic(err)
		}
	},
	"Eval of several": func(s *model.Session) {
		if err := s.Model().Eval(context.Background(),
			model.Input{Session: s, Tokens: []int{4}},
			model.Input{Session: s.Fork(2), Tokens: []int{5}, NoLogits: true}); err != nil {
			panic(err)
		}
	},
	"Eval that fails": func(s *model.Session) {
		ctx, cancel := context.WithCancel(context.Background())
		err := s.Model().Eval(ctx, model.Input{Session: s, Tokens: []int{4, 5},
			Visit: func(model.Row) { cancel(); panic("a visitor's own") }})
		panic(err)
	},
}

func TestNobodyUsesACacheWhileItIsGivenUp(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{})
	for name, use := range lastUses {
		d := &watchedDevice{listDevice: &listDevice{}}
		m := testmodel.New(t, config, file, model.Options{Device: d, Digest: digested("own")})
		func() {
			defer func() { _ = recover() }()
			s := m.NewSession()
			eval(t, s, 1, 2, 3)
			d.during = collect
			use(s)
		}()
		d.during = nil
		collectUntil(t, func() bool { return m.CacheBytes() == 0 },
			func() string { return fmt.Sprintf("%s: %d bytes of cache", name, m.CacheBytes()) })
		if n := d.overlap.Load(); n > 0 {
			t.Errorf("%s: %d calls of a cache while another ran", name, n)
		}
	}
}

// After any of these calls a session can be used again, and later all its pages are released.
func TestASessionIsUsedAgain(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 150, Layer: 1})
	m := testmodel.New(t, config, file, model.Options{Threads: 1})
	empties := map[string]func(s *model.Session){
		"Release":       func(s *model.Session) { s.Release() },
		"Truncate to 0": func(s *model.Session) { s.Truncate(0) },
		"Take":          func(s *model.Session) { m.NewSession().Take(s) },
		"Take nothing":  func(s *model.Session) { s.Take(m.NewSession()) },
	}
	want := fmt.Sprint(eval(t, m.NewSession(), 1, 2, 3))
	for name, empty := range empties {
		s := m.NewSession()
		for round := range 1000 {
			eval(t, s, make([]int, 1+round%9*8)...)
			if empty(s); s.Len() != 0 || s.Bytes() != 0 || s.Logits() != nil {
				t.Fatalf("%s: %d tokens, %d bytes", name, s.Len(), s.Bytes())
			}
		}
		if got := fmt.Sprint(eval(t, s, 1, 2, 3)); got != want {
			t.Errorf("%s: the session gives %s when it is used again, want %s", name, got, want)
		}
		s.Release()
		collectUntil(t, func() bool { return m.CacheBytes() == 0 },
			func() string { return fmt.Sprintf("%s: %d bytes of cache", name, m.CacheBytes()) })
		eval(t, s, 1, 2, 3) // and now it is forgotten
		collectUntil(t, func() bool { return m.CacheBytes() == 0 },
			func() string { return fmt.Sprintf("%s: %d bytes of cache", name, m.CacheBytes()) })
	}
}

func TestCallersErrorsPanic(t *testing.T) {
	m, other := small(t, model.Options{}), small(t, model.Options{})
	s := m.NewSession()
	eval(t, s, 1, 2, 3, 4, 5)
	s.Truncate(3) // two tokens are still in the memory behind its slice
	used := m.CacheBytes()
	inVisit := func(do func()) func() {
		return func() {
			_ = m.Eval(context.Background(),
				model.Input{Session: s, Tokens: []int{6}, Visit: func(model.Row) { do() }})
		}
	}
	for want, do := range map[string]func(){
		"model: Session.Fork(4) of 3 tokens, want 0 to 3":      func() { s.Fork(4) },
		"model: Session.Fork(-1) of 3 tokens, want 0 to 3":     func() { s.Fork(-1) },
		"model: Session.Truncate(5) of 3 tokens, want 0 to 3":  func() { s.Truncate(5) },
		"model: Session.Truncate(-2) of 3 tokens, want 0 to 3": func() { s.Truncate(-2) },
		"model: Session.Fork(1) of 0 tokens, want 0 to 0":      func() { m.NewSession().Fork(1) },
		"model: Session.Take: the sessions are of different models": func() {
			s.Take(other.NewSession())
		},
		"model: Session.Release during an Eval of the session":  inVisit(s.Release),
		"model: Session.Truncate during an Eval of the session": inVisit(func() { s.Truncate(1) }),
		"model: Session.Take during an Eval of the session": inVisit(func() {
			m.NewSession().Take(s)
		}),
	} {
		func() {
			defer func() {
				if p := recover(); p != want {
					t.Errorf("panic %v, want %s", p, want)
				}
			}()
			do()
		}()
		if s.Len() != 3 || m.CacheBytes() != used {
			t.Fatalf("%s: %d tokens, %d bytes of cache, %d before", want, s.Len(), m.CacheBytes(),
				used)
		}
	}
	fresh := m.NewSession()
	eval(t, fresh, 1, 2, 3)
	sameBits(t, "afterwards", eval(t, s, 6), eval(t, fresh, 6))
}

// stormRounds is how many forks each goroutine of a storm makes: for about 20 s in exhaustive runs
// and under the race detector.
func stormRounds() int {
	switch {
	case raced:
		return 8000
	case cases.Long:
		return 80_000
	}
	return 500
}

// Eight goroutines fork a parent of 4,004 positions, and give the forks up in one way or another.
func TestForksAreGivenUpBesideTheCollector(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Positions: 4100, Layer: 1})
	m := testmodel.New(t, config, file, model.Options{})
	ids := make([]int, 4004)
	for i := range ids {
		ids[i] = i * i % 29
	}
	parent := m.NewSession()
	eval(t, parent, ids...)
	before, used := slices.Clone(eval(t, parent.Fork(4003), ids[4003])), parent.Bytes()

	var done atomic.Bool
	var others, collector sync.WaitGroup
	collector.Go(func() {
		for !done.Load() {
			runtime.GC()
		}
	})
	for g := range 8 {
		others.Go(func() {
			for i := range stormRounds() {
				giveUp(m, parent, g+i)
			}
		})
	}
	others.Wait()
	done.Store(true)
	collector.Wait()

	sameBits(t, "a fork of the parent afterwards", eval(t, parent.Fork(4003), ids[4003]), before)
	collectUntil(t, func() bool { return m.CacheBytes() == used },
		func() string { return fmt.Sprintf("%d bytes of cache, want %d", m.CacheBytes(), used) })
	parent.Release() // a forgotten fork that shares all of its pages may still be there
	collectUntil(t, func() bool { return m.CacheBytes() == 0 },
		func() string { return fmt.Sprintf("%d bytes of cache when all is released", m.CacheBytes()) })
}

// giveUp makes a fork whose last use is one of the methods of a session.
func giveUp(m *model.Model, parent *model.Session, way int) {
	f := parent.Fork(parent.Len() - way%70)
	switch way % 6 {
	case 0, 1:
		f.Release()
	case 2:
		f.Truncate(0)
	case 3:
		f.Bytes()
	case 4:
		f.Fork(f.Len() / 2)
	case 5:
		m.NewSession().Take(f)
	}
}

// collectUntil runs the garbage collector until done, a bounded number of times.
func collectUntil(t *testing.T, done func() bool, found func() string) {
	t.Helper()
	for range 2000 {
		if done() {
			return
		}
		runtime.GC()
	}
	t.Error(found())
}

// A closingDevice counts how often it is closed.
type closingDevice struct {
	watchedDevice
	closes atomic.Int32
}

func (d *closingDevice) Open(
	ctx context.Context, p *stack.Params, b *engine.Budget, team *kernels.Team,
) (engine.Backend, error) {
	_, err := d.watchedDevice.Open(ctx, p, b, team)
	return d, err
}

func (d *closingDevice) Close() error {
	if d.closes.Add(1); d.during != nil {
		d.during()
	}
	return nil
}

func forgettable(t *testing.T, o model.Options) *model.Model {
	t.Helper()
	config, file := fixture.Checkpoint(fixture.Options{})
	m, err := testmodel.Try(config, file, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func checkClosed(t *testing.T, about string, d *closingDevice) {
	t.Helper()
	found := func() string { return fmt.Sprintf("%s: closed %d times", about, d.closes.Load()) }
	collectUntil(t, func() bool { return d.closes.Load() > 0 }, found)
	if collect(); d.closes.Load() > 1 {
		t.Error(found())
	}
}

func TestAForgottenModelIsClosed(t *testing.T) {
	cases.NotShort(t)
	ids := []int{1, 2, 3}
	for about, use := range map[string]func(m *model.Model, d *closingDevice){
		"never used": func(*model.Model, *closingDevice) {},
		"used":       func(m *model.Model, _ *closingDevice) { eval(t, m.NewSession(), ids...) },
		"closed":     func(m *model.Model, _ *closingDevice) { m.Close(); m.Close() },
		"closed beside the collector": func(m *model.Model, d *closingDevice) {
			d.during = collect
			m.Close()
		},
		"a Visit panics": func(m *model.Model, _ *closingDevice) {
			defer func() { _ = recover() }()
			_ = m.Eval(context.Background(), model.Input{Session: m.NewSession(), Tokens: ids,
				Visit: func(model.Row) { panic(m) }})
		},
	} {
		d := &closingDevice{watchedDevice: watchedDevice{listDevice: &listDevice{}}}
		use(forgettable(t, model.Options{Device: d}), d)
		checkClosed(t, about, d)
	}
}

func TestASessionKeepsItsModel(t *testing.T) {
	d := &closingDevice{watchedDevice: watchedDevice{listDevice: &listDevice{}}}
	s := forgettable(t, model.Options{Device: d}).NewSession()
	for n := range 5 {
		collect()
		eval(t, s, n)
	}
	if n := d.closes.Load(); n != 0 {
		t.Fatalf("closed %d times while a session is there", n)
	}
	runtime.KeepAlive(s)
	s = nil
	checkClosed(t, "with its session", d)
}

// Workers that have computed a pass, or unwound from one, end as well.
func TestAForgottenModelLeavesNoWorkers(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		m := forgettable(t, model.Options{Threads: 4})
		s := m.NewSession()
		eval(t, s, 1, 2, 3)
		func() {
			defer func() { _ = recover() }()
			_ = m.Eval(context.Background(), model.Input{Session: s, Tokens: []int{1, 2, 3},
				Visit: func(model.Row) { panic(m) }})
		}()
	}
	collectUntil(t, func() bool { return runtime.NumGoroutine() <= before },
		func() string {
			return fmt.Sprintf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		})
}
