//go:build (linux || darwin || windows) && (amd64 || arm64)

package opencl

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/model/gpu"
)

// find returns the device that $GPT_DEVICE names. Where it names none of OpenCL, the test is skipped:
// the first run on a device takes a minute or two, in which its driver compiles kernels. CI names
// pocl, and there the device must be found.
func find(t *testing.T) (*library, id) {
	t.Helper()
	name := os.Getenv("GPT_DEVICE")
	if name == "" || name == "cpu" || strings.HasPrefix(name, "cuda") {
		t.Skip("GPT_DEVICE names no device of OpenCL, such as pocl")
	}
	l, err := load(libraryNames()...)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := l.all()
	if err != nil {
		t.Fatal(err)
	}
	var devices []*gpu.Device
	for _, id := range ids {
		devices = append(devices, gpu.NewDevice(l.describe(id), nil))
	}
	d, err := gpu.Choose(devices, name)
	if err != nil {
		t.Fatal(err)
	}
	return l, ids[slices.Index(devices, d)]
}

func TestADevicePassesTheProbe(t *testing.T) {
	if err := changed(t, "", "", options).Probe(context.Background()); err != nil {
		t.Error(err)
	}
}

// changed is the device with other kernels, or other options of the compiler.
func changed(t *testing.T, old, new, options string) *gpu.Device {
	t.Helper()
	source := strings.Replace(gpu.Source(), old, new, 1)
	if old != new && source == gpu.Source() {
		t.Fatalf("the source has no %q", old)
	}
	l, id := find(t)
	return gpu.NewDevice(l.describe(id), func() (gpu.Driver, error) {
		return l.newDriver(id, source, options)
	})
}

// TestFaultsAreSeen: kernels that differ in one operation do not pass the probe.
func TestFaultsAreSeen(t *testing.T) {
	faults := []struct{ what, old, new, options string }{
		{"contraction", "FP_CONTRACT OFF", "FP_CONTRACT ON", options},
		{"another tree", "(l[0] + l[1]) + (l[2] + l[3])", "(l[0] + l[2]) + (l[1] + l[3])", options},
		{"a fused score", "return chain * scale;", "return fma(chain, scale, 1e-9f);", options},
		{"subnormals flushed", "", "", options + " -cl-denorms-are-zero"},
		{"relaxed arithmetic", "", "", options + " -cl-fast-relaxed-math"},
		{"one chain in place of segments", "#define SEGMENT 256", "#define SEGMENT 512", options},
		{"a key at another place", "set_number(pool, at + d * BLOCK",
			"set_number(pool, at + 1 + d * BLOCK", options},
		{"a layer norm without its barrier", "lanes[0][ITEM] = sum;\n\tBARRIER;",
			"lanes[0][ITEM] = sum;", options},
	}
	if !cases.Long {
		faults = faults[:3] // each is compiled anew
	}
	for _, f := range faults {
		err := changed(t, f.old, f.new, f.options).Probe(context.Background())
		if err == nil || !strings.Contains(err.Error(), "the device") {
			t.Errorf("%s: error %v", f.what, err)
		} else {
			t.Logf("%s: %v", f.what, err)
		}
	}
}

func TestASourceThatDoesNotCompile(t *testing.T) {
	err := changed(t, "KERNEL void probe", "KERNEL vide probe", options).
		Probe(context.Background())
	if err == nil || !strings.Contains(err.Error(), "the program does not build: ") ||
		!strings.Contains(err.Error(), "vide") {
		t.Errorf("error %v", err)
	}
}

// TestTheCompilerPrintsNothing compiles in a process of its own, whose stderr nobody else writes to,
// what compilers warn of. pocl would remember the program, and not compile it again.
func TestTheCompilerPrintsNothing(t *testing.T) {
	const child = "GPT_TEST_COMPILES"
	l, id := find(t)
	if os.Getenv(child) != "" {
		driver, err := l.newDriver(id, "#warning this\n__kernel void nothing(void) {}\n", options)
		if err == nil {
			err = driver.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheCompilerPrintsNothing$")
	c.Env = append(os.Environ(), child+"=1", "POCL_CACHE_DIR="+t.TempDir())
	var printed bytes.Buffer
	c.Stderr = &printed
	if err := c.Run(); err != nil || printed.Len() > 0 {
		t.Errorf("error %v, on stderr %q", err, printed.String())
	}
}

func TestADriverMovesBytes(t *testing.T) {
	l, id := find(t)
	driver, err := l.newDriver(id, gpu.Source(), options)
	if err != nil {
		t.Fatal(err)
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err := driver.Alloc(100)
	ok(err)
	b, err := driver.Alloc(50)
	ok(err)
	text := []byte("what is written is read")
	ok(driver.Write(a, 10, text))
	ok(driver.Copy(b, 5, a, 12, 20))
	got := make([]byte, 18)
	ok(driver.Read(got, b, 5))
	if !bytes.Equal(got, text[2:20]) {
		t.Errorf("%q, want %q", got, text[2:20])
	}
	err = driver.Launch(&gpu.Launch{Kernel: "nothing", Groups: [3]int{1, 1, 1}, Items: 1})
	if err == nil || !strings.Contains(err.Error(), "nothing: clCreateKernel") {
		t.Errorf("a kernel that is not there: error %v", err)
	}
	err = driver.Read(make([]byte, 200), a, 0)
	if err == nil || !strings.Contains(err.Error(), "clEnqueueReadBuffer: error -30") {
		t.Errorf("more than a buffer has: error %v", err)
	}
	driver.Free(a)
	ok(driver.Close())
	ok(driver.Close())
}
