//go:build linux && (amd64 || arm64)

package cuda

// Buffers that grow where they are, models whose pages are in one, and a device without memory, at
// any time.

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/engine"
	"picogpt/model"
	"picogpt/model/gpu"
)

// grow makes a buffer larger, step by step, and checks that nothing in it changes.
func grow(d *driver, most int64) error {
	b, err := d.Reserve(most)
	if err != nil || b == 0 {
		return errors.Join(err, fmt.Errorf("buffer %d", b))
	}
	defer d.Free(b)
	var want []byte
	for n := int64(1000); n <= most; n *= 3 {
		if err := d.Grow(b, n); err != nil {
			return err
		}
		more := bytes.Repeat([]byte{byte(n)}, int(n)-len(want))
		if err := d.Write(b, int64(len(want)), more); err != nil {
			return err
		}
		want = append(want, more...)
		got := make([]byte, n)
		if err := d.Read(got, b, 0); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("with %d bytes, others are read than were written", n)
		}
	}
	if err := d.Grow(b, 10); err != nil { // it has more
		return err
	}
	return d.Write(b, 0, []byte{1}) // unfinished when the buffer is freed
}

func TestABufferGrowsWhereItIs(t *testing.T) {
	for name, connect := range connections() {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			d, launch := opened(t, f, connect(f))
			if err := d.Write(gpu.Buffer(launch.Args[0].Bits), 0, []byte{1}); err != nil {
				t.Fatal(err) // it has made the memory for later writes
			}
			before := f.left()
			const most = 1 << 20
			if err := grow(d, most); err != nil {
				t.Error(err)
			}
			if n := f.left(); n != before {
				t.Errorf("%d things left, want %d", n, before)
			}
			b, err := d.Reserve(most)
			if err == nil {
				err = d.Grow(b, 10)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Grow(b, 2*most); err == nil {
				t.Error("it grows further than was reserved")
			}
			f.mu.Lock()
			f.memory = f.used + mapStep
			f.mu.Unlock()
			if err := d.Grow(b, 3*mapStep); err == nil ||
				!strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY") {
				t.Errorf("error %v, want one for want of memory", err)
			}
			if err := d.Grow(b, 2*mapStep); err != nil {
				t.Errorf("what is free: %v", err)
			}
			if free, err := d.FreeMemory(); free != 0 || err != nil {
				t.Errorf("%d bytes free, error %v", free, err)
			}
			if err := d.Close(); err != nil || f.left() != 0 || f.used != 0 {
				t.Errorf("Close: error %v, %d things left, %d bytes", err, f.left(), f.used)
			}
		})
	}
}

// TestGrowingCanFailAtAnyCall: everything that can be given back is.
func TestGrowingCanFailAtAnyCall(t *testing.T) {
	cases.NotShort(t)
	f := newFake(t)
	l := f.direct()
	for n := 1; ; n++ {
		f.reset()
		if err := l.call(&l.init, 0); err != nil {
			t.Fatal(err)
		}
		got, err := l.open(7, kernels)
		if err != nil {
			t.Fatal(err)
		}
		d := got.(*driver)
		f.failAt = f.calls + n
		err = errors.Join(grow(d, 1<<20), d.Close())
		if f.failed == "" {
			if n < 60 {
				t.Errorf("only %d calls were made", n)
			}
			break
		}
		taken := strings.Contains("cuMemUnmap cuMemAddressFree cuMemRelease cuMemFreeHost cuStreamDestroy_v2 "+
			"cuModuleUnload cuDevicePrimaryCtxRelease_v2 cuCtxPushCurrent_v2 cuCtxPopCurrent_v2",
			f.failed)
		if err == nil && !taken && f.failed != "cuStreamSynchronize" {
			t.Errorf("call %d, %s: no error", n, f.failed)
		}
		if !taken && f.left() != 0 {
			t.Errorf("call %d, %s: %d things left, error %v", n, f.failed, f.left(), err)
		}
	}
}

// TestPagesGrowWhereTheyAre: a model whose pages do not fit into the memory twice has all of it, to
// the same bits, and recordings stay. Devices without mapped memory have less at a time.
func TestPagesGrowWhereTheyAre(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Seed: 6, Positions: 400, Layer: 1, Embd: 32,
		Head: 1, Inner: 8})
	const page = 32 * 2 * 64 * 4 // 16 KiB; a step has four of them
	texts := func(d engine.Device) (rows [][]float32) {
		m, err := testmodel.Try(config, file, model.Options{Device: d, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		all := []*model.Session{m.NewSession(), m.NewSession(), m.NewSession()}
		for i, s := range all {
			in := model.Input{Session: s, Tokens: make([]int, 60+i)}
			if err := m.Eval(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		for step := range 12 {
			var batch []model.Input
			for i, s := range all {
				batch = append(batch, model.Input{Session: s, Tokens: []int{step + i}})
			}
			if err := m.Eval(t.Context(), batch...); err != nil {
				t.Fatal(err)
			}
			for _, s := range all {
				rows = append(rows, append([]float32(nil), s.Logits()...))
			}
		}
		return rows
	}
	want := texts(nil)
	for _, unmapped := range []bool{false, true} {
		f := newFake(t)
		f.unmapped = unmapped
		if wrong := differs(texts(f.device()), want); wrong != "" {
			t.Errorf("unmapped %v: %s", unmapped, wrong)
		}
		mapped, copies := f.count["cuMemMap"], f.count["cuMemcpyDtoDAsync_v2"]
		if copies -= 3 * 2; (mapped == 0) != unmapped || copies > 0 != unmapped { // of prompts' rows
			t.Errorf("unmapped %v: %d pieces mapped, %d copies of pages", unmapped, mapped, copies)
		}
		if f.left() != 0 || len(f.refused) > 0 {
			t.Errorf("%d things left, the library refused %q", f.left(), f.refused)
		}
	}
	// a session each, until there is no memory
	f := newFake(t)
	f.memory, f.idle = 4<<20, true
	m, err := testmodel.Try(config, file, model.Options{Device: f.device(), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	var all []*model.Session // or they would be released when they are collected
	for err == nil {
		all = append(all, m.NewSession())
		err = m.Eval(t.Context(), model.Input{Session: all[len(all)-1], Tokens: []int{1}})
	}
	pages := len(all)
	if free := f.memory - f.used; !errors.Is(err, model.ErrCacheFull) || pages < 20 ||
		free > f.memory/8+2*mapStep || m.CacheBytes() != int64(pages-1)*page {
		t.Errorf("%d sessions, %d bytes free, %d of cache, error %v", pages, free, m.CacheBytes(), err)
	}
	all[0].Release()
	if err := m.Eval(t.Context(), model.Input{Session: m.NewSession(), Tokens: make([]int, 10)}); err != nil {
		t.Errorf("where one was released: %v", err)
	}
	if err := m.Close(); err != nil || f.left() != 0 {
		t.Errorf("Close: error %v, %d things left", err, f.left())
	}
}

// TestNoMemoryAtAnyTime: each time that a model asks for memory, of the device or of the host,
// there is none, one after the other. Sessions stay as they were, and then continue.
func TestNoMemoryAtAnyTime(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Positions: 200, Layer: 1, Embd: 64, Head: 1,
		Inner: 8})
	f := newFake(t)
	library := f.file()
	refusals := 0
	for at := 1; ; at++ {
		f.reset()
		f.idle, f.refuse = true, at
		all, err := devices(library)
		if err != nil {
			t.Fatal(err)
		}
		m, err := testmodel.Try(config, file, model.Options{Device: all[0].WithoutProbe(), Threads: 1})
		if err != nil {
			if !strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY") || f.left() != 0 {
				t.Errorf("request %d: %d things left, error %v", at, f.left(), err)
			}
			continue
		}
		a, b := m.NewSession(), m.NewSession()
		work := func() error {
			for _, batch := range [][]model.Input{
				{{Session: a, Tokens: make([]int, 70)}, {Session: b, Tokens: []int{1}}},
				{{Session: a, Tokens: []int{2}}, {Session: b, Tokens: []int{3}}},
				{{Session: a, Tokens: []int{4}}, {Session: b, Tokens: []int{5}}},
				{{Session: a, Tokens: []int{6}}, {Session: b, Tokens: make([]int, 100)}},
			} {
				before := [][]int{slices.Clone(a.Tokens()), slices.Clone(b.Tokens())}
				used := m.CacheBytes()
				err := m.Eval(t.Context(), batch...)
				if err == nil {
					continue
				}
				refusals++
				if !slices.Equal(a.Tokens(), before[0]) || !slices.Equal(b.Tokens(), before[1]) ||
					m.CacheBytes() != used {
					t.Errorf("request %d: %d and %d tokens, %d bytes, want %d, %d, %d", at, a.Len(),
						b.Len(), m.CacheBytes(), len(before[0]), len(before[1]), used)
				}
				if !errors.Is(err, model.ErrCacheFull) &&
					!strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY") ||
					strings.Contains(err.Error(), "has failed") {
					t.Errorf("request %d: error %v", at, err)
				}
				if err := m.Eval(t.Context(), batch...); err != nil { // there is memory again
					return fmt.Errorf("the second time: %w", err)
				}
			}
			return nil
		}
		if err := work(); err != nil {
			t.Errorf("request %d: %v", at, err)
		}
		if err := m.Close(); err != nil || f.left() != 0 || len(f.refused) > 0 {
			t.Errorf("request %d: Close: error %v, %d things left, the library refused %q", at, err,
				f.left(), f.refused)
		}
		if f.refuse > f.requests {
			break
		}
	}
	if refusals < 5 {
		t.Errorf("%d evaluations found no memory, want more", refusals)
	}
}
