//go:build linux && (amd64 || arm64)

package cuda

// The driver on a library that is strict about how it is called: what is there, and why there is
// nothing.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/ptx"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/model/gpu"
)

// connections are the ways to a fake: through C, and without.
func connections() map[string]func(f *fake) *library {
	return map[string]func(f *fake) *library{
		"C": func(f *fake) *library {
			l, err := load(f.file())
			if err != nil {
				f.t.Fatal(err)
			}
			return l
		},
		"callbacks": func(f *fake) *library {
			l := f.direct()
			if err := l.call(&l.init, 0); err != nil {
				f.t.Fatal(err)
			}
			return l
		},
	}
}

// work does all that a driver can: activations of n numbers in two launches, one of them recorded,
// copied and read. It is the activation's floats.
func work(d gpu.Recorder, n int) (result []byte, err error) {
	fail := func(e error) bool { err = e; return e != nil }
	a, e := d.Alloc(int64(4*n) + 8)
	if fail(e) {
		return nil, err
	}
	b, e := d.Alloc(int64(8 * n))
	if fail(e) {
		return nil, err
	}
	if fail(d.Write(a, 0, make([]byte, 4*n+8))) {
		return nil, err
	}
	value := func(bits uint32) gpu.Arg { return gpu.Arg{Bits: uint64(bits), Size: 4} }
	launch := gpu.Launch{
		Kernel: "activate", Groups: [3]int{(n + 63) / 64, 1, 1}, Items: 64,
		Args: []gpu.Arg{{Bits: uint64(a), Size: 8}, value(math.Float32bits(0.5)), value(1000),
			value(uint32(n)), value(1)},
	}
	if fail(d.Launch(&launch)) || fail(d.Copy(b, int64(4*n), a, 0, int64(4*n))) {
		return nil, err
	}
	recording, e := d.Record(func() error {
		l := launch
		l.Args = append([]gpu.Arg(nil), launch.Args...)
		l.Args[0].Bits = uint64(b)
		l.Args[4] = value(2)
		return d.Launch(&l)
	})
	if fail(e) || fail(d.Replay(recording)) {
		return nil, err
	}
	result = make([]byte, 8*n)
	if fail(d.Read(result[:4*n], b, 0)) || fail(d.Read(result[4*n:], b, int64(4*n))) {
		return nil, err
	}
	return result, nil
}

func TestCallsArriveAsTheyAreMade(t *testing.T) {
	const n = 100
	program, err := ptx.Parse(kernels)
	if err != nil {
		t.Fatal(err)
	}
	want, err := work(ptx.NewDriver(program, 2), n)
	if err != nil {
		t.Fatal(err)
	}
	if binary.LittleEndian.Uint32(want) == 0 || bytes.Equal(want[:4*n], want[4*n:]) {
		t.Fatalf("the work is not what it says: %x", want[:16])
	}
	for name, connect := range connections() {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			d, err := connect(f).open(7, kernels)
			if err != nil {
				t.Fatal(err)
			}
			got, err := work(d.(*driver), n)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("error %v, %x…, want %x…", err, got[:min(16, len(got))], want[:16])
			}
			if f.count["cuGraphLaunch"] != 1 || f.count["cuLaunchKernel"] != 2 {
				t.Errorf("calls: %v", f.count)
			}
			if err := d.Close(); err != nil || f.left() != 0 {
				t.Errorf("Close: error %v, %d things left", err, f.left())
			}
			if err := d.Close(); err != nil {
				t.Errorf("a second Close: %v", err)
			}
		})
	}
}

func TestFreedAndForgotten(t *testing.T) {
	f := newFake(t)
	got, err := connections()["callbacks"](f).open(7, kernels)
	if err != nil {
		t.Fatal(err)
	}
	d := got.(*driver)
	own := f.left()
	b, err := d.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Record(func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if n := f.left() - own; n != 2 {
		t.Errorf("a buffer and a recording are %d things", n)
	}
	for range 2 { // twice is as once
		d.Free(b)
		d.Forget(r)
		if n := f.left() - own; n != 0 {
			t.Errorf("%d things left after Free and Forget", n)
		}
	}
	if err := d.Close(); err != nil || f.left() != 0 {
		t.Errorf("Close: error %v, %d things left", err, f.left())
	}
}

// Call n fails, alone or with all calls after it. The error has the library's text; nothing
// crashes, and everything that can be released is.
func TestAnyCallCanFail(t *testing.T) {
	cases.NotShort(t)
	f := newFake(t)
	l := f.direct()
	for _, lost := range []bool{false, true} {
		for n := 1; ; n++ {
			f.reset()
			f.failAt, f.lost = n, lost
			err := failing(l)
			if f.failed == "" {
				if n < 60 {
					t.Errorf("only %d calls were made", n)
				}
				break
			}
			what := fmt.Sprintf("call %d, %s, lost %v", n, f.failed, lost)
			if err == nil && f.failed != "cuCtxPopCurrent_v2" {
				t.Errorf("%s: no error", what)
			}
			if err != nil && !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS (700)") {
				t.Errorf("%s: error %v", what, err)
			}
			taken := regexp.MustCompile("Free|Destroy|Unload|Release|Ctx").MatchString(f.failed)
			if !lost && !taken && f.left() != 0 {
				t.Errorf("%s: %d things left", what, f.left())
			}
		}
	}
}

// failing opens a device, works and closes, whatever happens.
func failing(l *library) error {
	if err := l.call(&l.init, 0); err != nil {
		return err
	}
	if _, _, err := l.info(7); err != nil {
		return err
	}
	d, err := l.open(7, kernels)
	if err != nil {
		return err
	}
	_, err = work(d.(*driver), 10)
	return errors.Join(err, d.Close())
}

func TestManyGoroutinesManyModels(t *testing.T) {
	f := newFake(t)
	l := connections()["callbacks"](f)
	var all sync.WaitGroup
	for range 4 {
		d, err := l.open(7, kernels)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer d.Close()
			for range 3 { // one at a time, on whatever thread
				done := make(chan error)
				go func() {
					runtime.LockOSThread() // ends with this goroutine
					_, err := work(d.(*driver), 50)
					done <- err
				}()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if f.left() != 0 {
		t.Errorf("%d things left", f.left())
	}
}

func TestNoMemoryLeft(t *testing.T) {
	f := newFake(t)
	f.memory = 1000
	d, err := connections()["callbacks"](f).open(7, kernels)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Alloc(400); err != nil {
		t.Fatal(err)
	}
	const want = "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2), what CUDA_ERROR_OUT_OF_MEMORY means: " +
		"700 bytes wanted, 600 of 1000 free"
	if _, err := d.Alloc(700); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := d.Alloc(600); err != nil {
		t.Errorf("what is free: %v", err)
	}
}

func TestPTXThatDoesNotCompile(t *testing.T) {
	f := newFake(t)
	_, err := connections()["callbacks"](f).open(7, "nonsense")
	const want = "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218), " +
		"what CUDA_ERROR_INVALID_PTX means: ptxas error: "
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want %s…", err, want)
	}
	if f.left() != 0 {
		t.Errorf("%d things left", f.left())
	}
}

func TestDevicesSayWhatTheyAre(t *testing.T) {
	f := newFake(t)
	f.devices = 1
	got, err := devices(f.file())
	if err != nil || len(got) != 1 {
		t.Fatalf("%d devices, error %v", len(got), err)
	}
	want := gpu.Info{
		Driver: "cuda", Name: "Fake GPU", Vendor: "NVIDIA", Platform: "CUDA",
		Version: "CUDA 12.4, compute capability 9.0", Memory: 1 << 30,
		Doubles: true,
	}
	if !reflect.DeepEqual(got[0].Info, want) {
		t.Errorf("%+v, want %+v", got[0].Info, want)
	}
}

func TestOldDevicesLackSomething(t *testing.T) {
	f := newFake(t)
	f.major = 6
	got, err := devices(f.file())
	if err != nil || len(got) != 1 {
		t.Fatalf("%d devices, error %v", len(got), err)
	}
	if lacks := got[0].Lacks; !reflect.DeepEqual(lacks, []string{"compute capability 7.0"}) {
		t.Errorf("lacks %q", lacks)
	}
}

// Devices of Ampere and later get the PTX that multiplies matrices; others would refuse it.
func TestADeviceGetsThePTXForIt(t *testing.T) {
	f := newFake(t)
	for major, want := range map[int32]string{7: kernels, 8: kernels80, 12: kernels80} {
		f.reset()
		f.major = major
		config, file := fixture.Checkpoint(fixture.Options{})
		m, err := testmodel.Try(config, file, model.Options{Device: f.device(), Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		if f.module != want {
			t.Errorf("compute capability %d: PTX of %d bytes, want %d", major, len(f.module),
				len(want))
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestThereIsNoCUDA(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	old, none := newFake(t), newFake(t)
	old.version, none.devices = 10020, 0
	for _, c := range []struct {
		name, library, want string
	}{
		{"no library", "/none/libcuda.so.1", "/none/libcuda.so.1: cannot open shared object file"},
		{"a text", text, "file too short"},
		{"another library", "libm.so.6", "the library has no function cuDriverGetVersion"},
		{"a driver too old", old.file(), "the driver is of CUDA 10.2, want 11.4 or later"},
		{"no device", none.file(), "cuInit: CUDA_ERROR_NO_DEVICE (100), what CUDA_ERROR_NO"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := devices(c.library)
			if len(got) > 0 || err == nil || !strings.HasPrefix(err.Error(), "no CUDA: ") ||
				!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%d devices, error %v, want one with %q", len(got), err, c.want)
			}
		})
	}
}
