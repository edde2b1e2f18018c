//go:build linux && (amd64 || arm64)

package cuda

// A model through the driver's functions: every call by its C type, kernels on the interpreter.

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/engine"

	"picogpt/model"
	"picogpt/model/gpu"
)

// device is the one that a fake has, found as a program finds it.
func (f *fake) device() *gpu.Device {
	f.t.Helper()
	all, err := devices(f.file())
	if err != nil || len(all) != 1 {
		f.t.Fatalf("%d devices, error %v", len(all), err)
	}
	return all[0].WithoutProbe()
}

func TestAModelThroughTheLibrary(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Seed: 6, Vocab: 31, Positions: 99, Layer: 2})
	f := newFake(t)
	d := f.device()
	for _, w := range []way{{"f32", "f16"}, {"q8", "f32"}} {
		t.Run(w.weights, func(t *testing.T) {
			want, err := story(testmodel.New(t, config, file, w.options()))
			if err != nil {
				t.Fatal(err)
			}
			o := w.options()
			o.Device = d
			m, err := testmodel.Try(config, file, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := story(m)
			if err != nil {
				t.Error(err)
			} else if wrong := differs(got, want); wrong != "" {
				t.Error(wrong)
			}
			if err := m.Close(); err != nil || f.left() != 0 {
				t.Errorf("Close: error %v, %d things left", err, f.left())
			}
		})
	}
}

func TestTwoModelsAndManyGoroutinesOnOneDevice(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Seed: 7, Positions: 20, Layer: 1})
	f := newFake(t)
	o := model.Options{Device: f.device(), Threads: 1}
	var all sync.WaitGroup
	for range 2 {
		m, err := testmodel.Try(config, file, o)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			var users sync.WaitGroup
			for i := range 4 {
				users.Go(func() {
					s := m.NewSession()
					for n := range 3 {
						err := m.Eval(context.Background(),
							model.Input{Session: s, Tokens: []int{i, n, 2}})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			users.Wait()
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if f.left() != 0 {
		t.Errorf("%d things left", f.left())
	}
}

// TestTwoModelsOnEachOfTwoDevices: they are opened, evaluated and closed at the same time, each in
// its own device's context, and give the processor's bits.
func TestTwoModelsOnEachOfTwoDevices(t *testing.T) {
	cases.NotShort(t)
	f := newFake(t)
	f.devices = 2
	all, err := devices(f.file())
	if err != nil || len(all) != 2 {
		t.Fatalf("%d devices, error %v", len(all), err)
	}
	rows := func(seed uint64, d engine.Device) (rows [][]float32) {
		config, file := fixture.Checkpoint(fixture.Options{Seed: seed, Positions: 20, Layer: 1})
		m, err := testmodel.Try(config, file, model.Options{Device: d, Threads: 1})
		if err != nil {
			t.Error(err)
			return nil
		}
		s := m.NewSession()
		for n := range 5 {
			err := m.Eval(context.Background(), model.Input{Session: s, Tokens: []int{n, 2}})
			if err != nil {
				t.Error(err)
			}
			rows = append(rows, slices.Clone(s.Logits()))
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		return rows
	}
	var users sync.WaitGroup
	for i := range 4 {
		users.Go(func() {
			got := rows(uint64(i), all[i%2].WithoutProbe())
			if wrong := differs(got, rows(uint64(i), nil)); wrong != "" {
				t.Errorf("model %d: %s", i, wrong)
			}
		})
	}
	users.Wait()
	if f.left() != 0 || len(f.refused) > 0 || f.count["cuGraphLaunch"] == 0 {
		t.Errorf("%d things left, %d graphs, the library refused %q", f.left(),
			f.count["cuGraphLaunch"], f.refused)
	}
}

// A device that is lost in the middle leaves a session as it was; the error names it.
func TestADeviceIsLost(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Seed: 8, Positions: 20, Layer: 1})
	f := newFake(t)
	m, err := testmodel.Try(config, file, model.Options{Device: f.device(), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := m.NewSession()
	eval := func() error {
		return m.Eval(context.Background(), model.Input{Session: s, Tokens: []int{1, 2, 3}})
	}
	if err := eval(); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.failAt, f.lost = f.calls+10, true
	f.mu.Unlock()
	for range 2 {
		err := eval()
		if err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") ||
			!strings.Contains(err.Error(), "Fake GPU") || s.Len() != 3 {
			t.Errorf("error %v, %d tokens, want one with the device's name, and 3", err, s.Len())
		}
	}
	m.Close() // may fail: there is nothing to give back to
}
