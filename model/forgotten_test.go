package model_test

// The garbage collector gives back the workers and the device of a model that nothing refers to,
// once.

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
)

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
