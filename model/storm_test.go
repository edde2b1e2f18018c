package model_test

// Sessions that are forked, released and forgotten by many goroutines beside a garbage collector
// that is always at work.

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

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
