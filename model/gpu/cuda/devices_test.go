//go:build linux && (amd64 || arm64)

package cuda

// What is there, and why there is nothing.

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/model/gpu"
)

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
