//go:build linux && (amd64 || arm64)

package cuda

// Calls that must not be made while a stream is captured, and memory of the host that the device
// may read late: the fake is as strict as any version of CUDA.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/ptx"
	"picogpt/dev/testmodel"
	"picogpt/internal/engine"
	"picogpt/model"
	"picogpt/model/gpu"
)

// opened returns a driver of the fake, and a launch of a kernel that it has launched before.
func opened(t *testing.T, f *fake, l *library) (*driver, *gpu.Launch) {
	t.Helper()
	got, err := l.open(7, kernels)
	if err != nil {
		t.Fatal(err)
	}
	d := got.(*driver)
	b, err := d.Alloc(1 << 10)
	if err != nil {
		t.Fatal(err)
	}
	launch := &gpu.Launch{Kernel: "activate", Groups: [3]int{1, 1, 1}, Items: 64, Args: []gpu.Arg{
		{Bits: uint64(b), Size: 8}, {Size: 4}, {Bits: 1, Size: 4}, {Bits: 64, Size: 4}, {Size: 4}}}
	if err := d.Launch(launch); err != nil {
		t.Fatal(err)
	}
	return d, launch
}

// TestARecordingIsOfLaunchesAlone: the driver refuses every other call before the library does,
// because the library would end the capture.
func TestARecordingIsOfLaunchesAlone(t *testing.T) {
	f := newFake(t)
	d, launch := opened(t, f, connections()["callbacks"](f))
	b := gpu.Buffer(launch.Args[0].Bits)
	recording, err := d.Record(func() error { return d.Launch(launch) })
	if err != nil {
		t.Fatal(err)
	}
	word := make([]byte, 4)
	for name, call := range map[string]func() error{
		"cuMemcpyDtoHAsync":    func() error { return d.Read(word, b, 0) },
		"cuStreamSynchronize":  func() error { return d.Read(nil, b, 0) },
		"cuMemcpyHtoDAsync":    func() error { return d.Write(b, 0, word) },
		"cuMemcpyDtoDAsync":    func() error { return d.Copy(b, 0, b, 64, 4) },
		"cuMemAlloc":           func() error { _, err := d.Alloc(4); return err },
		"cuGraphLaunch":        func() error { return d.Replay(recording) },
		"cuStreamBeginCapture": func() error { _, err := d.Record(nil); return err },
	} {
		_, err := d.Record(func() error {
			d.Free(b)
			d.Forget(recording)
			return errors.Join(d.Launch(launch), call())
		})
		if err == nil || err.Error() != name+": launches are recorded, want nothing else meanwhile" {
			t.Errorf("%s: error %v", name, err)
		}
		if err := d.Replay(recording); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	if err := d.Close(); err != nil || len(f.refused) > 0 || f.left() != 0 {
		t.Errorf("Close: error %v, %d things left, the library refused %q", err, f.left(), f.refused)
	}
}

// TestCopiesAreRecorded where the host's memory is pinned: each replay copies what it then holds.
func TestCopiesAreRecorded(t *testing.T) {
	f := newFake(t)
	d, launch := opened(t, f, connections()["callbacks"](f))
	b := gpu.Buffer(launch.Args[0].Bits)
	from, err := d.Pin(16)
	if err != nil {
		t.Fatal(err)
	}
	to, err := d.Pin(12)
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Record(func() error {
		return errors.Join(d.Write(b, 4, from[:12]), d.Launch(launch), d.Write(b, 0, from),
			d.Read(to, b, 4))
	})
	if err != nil {
		t.Fatal(err)
	}
	for round := range byte(3) {
		for i := range from {
			from[i] = 16*round + byte(i)
		}
		clear(to)
		if err := errors.Join(d.Replay(r), d.Wait()); err != nil || !bytes.Equal(to, from[4:]) {
			t.Errorf("error %v, %v is read, want %v", err, to, from[4:])
		}
	}
	d.Unpin(from)
	if err := d.Close(); err != nil || f.left() != 0 || len(f.refused) > 0 {
		t.Errorf("Close: error %v, %d things left, the library refused %q", err, f.left(), f.refused)
	}
}

// TestAReplayedPassIsOneLaunchAndOneWait, with the copies of the plan and of the best logits.
func TestAReplayedPassIsOneLaunchAndOneWait(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Vocab: 300, Positions: 70})
	f := newFake(t)
	f.idle = true
	m, err := testmodel.Try(config, file, model.Options{Device: f.device()})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var batch []model.Input
	for range 5 {
		batch = append(batch, model.Input{Session: m.NewSession(), Tokens: []int{1}, Best: 3,
			NoLogits: true, Visit: func(model.Row) {}})
	}
	var before map[string]int
	for range 4 {
		before = maps.Clone(f.count)
		if err := m.Eval(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int{}
	for name, n := range f.count {
		if n -= before[name]; n > 0 && !strings.HasPrefix(name, "cuCtx") {
			got[name] = n
		}
	}
	// Of an idle device nothing is chosen, since all logits are equal: the rows are then read, each
	// with its hidden state.
	want := map[string]int{"cuGraphLaunch": 1, "cuStreamSynchronize": 1 + 2*5,
		"cuMemcpyDtoHAsync_v2": 2 * 5}
	if !maps.Equal(got, want) {
		t.Errorf("calls %v, want %v", got, want)
	}
}

// TestARecordingThatPanics: its capture is ended, and the driver continues to work.
func TestARecordingThatPanics(t *testing.T) {
	f := newFake(t)
	d, launch := opened(t, f, connections()["callbacks"](f))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = d.Record(func() error { panic("a fault") })
	}()
	r, err := d.Record(func() error { return d.Launch(launch) })
	if err == nil {
		err = errors.Join(d.Replay(r), d.Read(make([]byte, 4), gpu.Buffer(launch.Args[0].Bits), 0))
	}
	if err = errors.Join(err, d.Close()); err != nil || len(f.refused) > 0 {
		t.Errorf("error %v, the library refused %q", err, f.refused)
	}
}

// TestTheFakeIsStrict calls the library directly.
func TestTheFakeIsStrict(t *testing.T) {
	f := newFake(t)
	d, launch := opened(t, f, connections()["callbacks"](f))
	for want, call := range map[string]func() error{
		"cuStreamSynchronize": func() error { return d.call(&d.l.streamSynchronize, d.stream) },
		"cuMemAlloc_v2": func() error {
			return d.call(&d.l.memAlloc, uintptr(launch.Args[0].Bits), 1)
		},
		"cuMemFree_v2": func() error { return d.call(&d.l.memFree, uintptr(launch.Args[0].Bits)) },
		"cuLaunchKernel": func() error {
			first := *launch
			first.Kernel = "embed_f32"
			return d.Launch(&first)
		},
	} {
		f.refused = nil
		_, err := d.Record(func() error {
			if err := call(); err == nil || !strings.Contains(err.Error(), "(900)") {
				t.Errorf("%s: error %v, want 900", want, err)
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "(901)") ||
			!slices.Equal(f.refused, []string{want}) {
			t.Errorf("%s: error %v, refused %q", want, err, f.refused)
		}
	}
	if err := d.Close(); err != nil || f.left() != 0 {
		t.Errorf("Close: error %v, %d things left", err, f.left())
	}
}

// TestOthersWaitForARecording: other models that are opened and closed at the same time, in the
// same context.
func TestOthersWaitForARecording(t *testing.T) {
	f := newFake(t)
	l := connections()["callbacks"](f)
	d, launch := opened(t, f, l)
	other, _ := opened(t, f, l)
	var all sync.WaitGroup
	all.Go(func() {
		for range 300 {
			if b, err := other.Alloc(64); err != nil {
				t.Error(err)
			} else {
				other.Free(b)
			}
		}
	})
	for range 300 {
		r, err := d.Record(func() error {
			if capturing.TryRLock() {
				t.Error("others may call the library")
			}
			return errors.Join(d.Launch(launch), d.Launch(launch))
		})
		if err != nil {
			t.Fatal(err)
		}
		d.Forget(r)
	}
	all.Wait()
	if err := errors.Join(d.Close(), other.Close()); err != nil || len(f.refused) > 0 {
		t.Errorf("Close: error %v, the library refused %q", err, f.refused)
	}
}

// TestWhatIsWrittenMayBeChanged: the fake reads the host's memory when the stream gets there.
func TestWhatIsWrittenMayBeChanged(t *testing.T) {
	f := newFake(t)
	d, _ := opened(t, f, connections()["callbacks"](f))
	for _, n := range []int{1, 1000, mostStaged, mostStaged + 1, stagingBytes + 1} {
		before := f.count["cuStreamSynchronize"]
		all, err := rewritten(d, n)
		if err != nil {
			t.Errorf("pieces of %d bytes: %v", n, err)
		}
		waits := f.count["cuStreamSynchronize"] - before - 1 // that of the read
		if n <= mostStaged && waits > all/(stagingBytes-mostStaged) {
			t.Errorf("%d bytes in pieces of %d: the stream is waited for %d times", all, n, waits)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// rewritten writes pieces of n bytes, each from a slice that then changes, and reads them all. It
// returns how many bytes that is.
func rewritten(d *driver, n int) (all int, err error) {
	const room = 3 * stagingBytes
	b, err := d.Alloc(room)
	if err != nil {
		return 0, err
	}
	defer d.Free(b)
	var want []byte
	from := make([]byte, n)
	for i := byte(1); len(want)+n <= room && i < 200; i++ {
		for at := range from {
			from[at] = i + byte(at)
		}
		if err := d.Write(b, int64(len(want)), from); err != nil {
			return 0, err
		}
		want = append(want, from...)
		clear(from)
	}
	got := make([]byte, len(want))
	if err := d.Read(got, b, 0); err != nil {
		return 0, err
	}
	if !bytes.Equal(got, want) {
		return 0, errors.New("what is read is not what was written")
	}
	return len(want), nil
}

// TestTheDriverOnARealDevice does all that a driver can on the device that GPT_DEVICE names, as
// cuda:0. Its twins above have the fake.
func TestTheDriverOnARealDevice(t *testing.T) {
	name, number, _ := strings.Cut(os.Getenv("GPT_DEVICE"), ":")
	if name != "cuda" {
		t.Skip("GPT_DEVICE names no device of CUDA, such as cuda:0")
	}
	ordinal, _ := strconv.Atoi(number)
	l, err := load(libraryNames()...)
	if err != nil {
		t.Fatal(err)
	}
	var id int32
	if err := l.call(&l.deviceGet, uintptr(unsafe.Pointer(&id)), uintptr(ordinal)); err != nil {
		t.Fatal(err)
	}
	t.Logf("at %q of the PCI bus", l.bus(id))
	program, err := ptx.Parse(kernels)
	if err != nil {
		t.Fatal(err)
	}
	want, err := work(ptx.NewDriver(program, 2), 100)
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.open(id, kernels)
	if err != nil {
		t.Fatal(err)
	}
	d := got.(*driver)
	if result, err := work(d, 100); err != nil || !bytes.Equal(result, want) {
		t.Errorf("error %v, or other activations than the interpreter's", err)
	}
	for _, n := range []int{1, 1000, mostStaged, stagingBytes + 1} {
		if _, err := rewritten(d, n); err != nil {
			t.Errorf("pieces of %d bytes: %v", n, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestWidePassesThroughTheLibrary has GPT-2's own widths. The device computes nothing.
func TestWidePassesThroughTheLibrary(t *testing.T) {
	cases.NotShort(t)
	for _, s := range cases.Some([]struct{ embd, heads int }{{768, 12}, {1600, 25}, {448, 4}}, 2, 2) {
		t.Run(fmt.Sprint(s.embd), func(t *testing.T) {
			config, file := fixture.Checkpoint(fixture.Options{Embd: s.embd, Head: s.heads,
				Layer: 1, Vocab: 300, Positions: 70, DType: "F16"})
			f := newFake(t)
			f.idle = true
			m, err := testmodel.Try(config, file, model.Options{Device: f.device(), Format: "f16"})
			if err != nil {
				t.Fatal(err)
			}
			passes := 0
			for _, tokens := range [][]int{{1}, {5}, {7, 1}, slices.Repeat([]int{1}, 19),
				slices.Repeat([]int{1}, 64), {50}, {66, 1, 1}} {
				for range 3 {
					var batch []model.Input
					for _, n := range tokens {
						batch = append(batch, model.Input{Session: m.NewSession(),
							Tokens: make([]int, n)})
					}
					if err := m.Eval(context.Background(), batch...); err != nil {
						t.Fatalf("%d tokens: %v", tokens, err)
					}
					for _, in := range batch {
						in.Session.Release()
					}
					passes++
				}
			}
			if err := m.Close(); err != nil || f.left() != 0 || len(f.refused) > 0 ||
				f.count["cuGraphLaunch"] != 2*5 {
				t.Errorf("%d passes, %d of them graphs, want 10; Close: error %v, %d things left, "+
					"the library refused %q", passes, f.count["cuGraphLaunch"], err, f.left(),
					f.refused)
			}
		})
	}
}

// TestTheProbeRecords: a device whose recordings give other bits is found out when it is opened.
func TestTheProbeRecords(t *testing.T) {
	cases.NotShort(t)
	f := newFake(t)
	all, err := devices(f.file())
	if err != nil {
		t.Fatal(err)
	}
	config, file := fixture.Checkpoint(fixture.Options{})
	m, err := testmodel.Try(config, file, model.Options{Device: all[0]})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil || f.count["cuGraphLaunch"] != 2 || len(f.refused) > 0 {
		t.Errorf("%d passes are graphs, want 2; the library refused %q; error %v",
			f.count["cuGraphLaunch"], f.refused, err)
	}
}

// TestAWideModelThroughTheLibrary computes: passes that are launched, recorded and replayed have
// the processor's bits.
func TestAWideModelThroughTheLibrary(t *testing.T) {
	cases.NotShort(t)
	texts := 2
	if cases.Long {
		texts = 64
	}
	config, file := fixture.Checkpoint(fixture.Options{Embd: 448, Head: 4, Inner: cases.Of(512, 1792),
		Layer: 1, Positions: 70})
	f := newFake(t)
	rows := func(d engine.Device) (rows [][]float32) {
		m := testmodel.New(t, config, file, model.Options{Device: d, Format: "f16"})
		batch := make([]model.Input, texts)
		for i := range batch {
			batch[i].Session = m.NewSession()
		}
		for round := range 3 {
			for i := range batch {
				batch[i].Tokens = []int{(7*round + i) % 29}
			}
			if err := m.Eval(t.Context(), batch...); err != nil {
				t.Fatal(err)
			}
			for _, in := range batch {
				rows = append(rows, slices.Clone(in.Session.Logits()))
			}
		}
		return rows
	}
	if wrong := differs(rows(f.device()), rows(nil)); wrong != "" {
		t.Error(wrong)
	}
	if f.count["cuGraphLaunch"] != 2 || len(f.refused) > 0 {
		t.Errorf("%d passes are graphs, want 2; the library refused %q", f.count["cuGraphLaunch"],
			f.refused)
	}
}
