//go:build linux && (amd64 || arm64)

package opencl

// Which devices there are, with a library of testdata/libOpenCL.c: no platform, one, two.

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/model/gpu"
	"picogpt/model/gpu/internal/dl"
)

// stub is a library with so many platforms.
func stub(t *testing.T, platforms uintptr) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "libOpenCL.so.1")
	gcc := exec.Command("gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", path,
		"testdata/libOpenCL.c")
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	handle, err := dl.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := handle.Function("stub_platforms")
	if err != nil {
		t.Fatal(err)
	}
	dl.Call(set, platforms)
	return path
}

func TestTwoPlatforms(t *testing.T) {
	all, err := devices(stub(t, 2))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d devices, error %v", len(all), err)
	}
	old, new := all[0], all[1]
	if strings.Join(old.Lacks, ", ") != "OpenCL 1.2" || !old.Processor || old.Doubles {
		t.Errorf("%+v, want a processor that lacks OpenCL 1.2", old.Info)
	}
	if len(new.Lacks) > 0 || new.Processor || !new.Doubles || new.Memory != 1<<20 ||
		new.Platform != "Second Platform" || new.Version != "OpenCL 3.0 x, driver 7" {
		t.Errorf("%+v, want a GPU that lacks nothing", new.Info)
	}
	_, err = gpu.Choose(all, "opencl")
	const want = `device "opencl": 2 match, want one: opencl:0 Old Device (First Platform, ` +
		`OpenCL 1.1 x, driver 7); opencl:1 New Device (Second Platform, OpenCL 3.0 x, driver 7)`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if d, err := gpu.Choose(all, "second"); err != nil || d != new {
		t.Errorf("part of a platform's name: %v, error %v", d, err)
	}
	if err := old.Probe(context.Background()); err == nil ||
		err.Error() != "Old Device: the device lacks OpenCL 1.2" {
		t.Errorf("an old device: error %v", err)
	}
	if err := new.Probe(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "clCreateContext: error -2, the device is not available") {
		t.Errorf("a device that does not open: error %v", err)
	}
}

func TestWhereADeviceIs(t *testing.T) {
	l, err := load(stub(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := l.all()
	if err != nil || len(ids) != 2 {
		t.Fatalf("%d devices, error %v", len(ids), err)
	}
	if old, new := l.bus(ids[0].device), l.bus(ids[1].device); old != "" || new != "0000:18:01" {
		t.Errorf("%q and %q, want nothing and 0000:18:01", old, new)
	}
}

func TestThereIsNoOpenCL(t *testing.T) {
	for library, want := range map[string]string{
		"/none/libOpenCL.so.1": "no OpenCL: /none/libOpenCL.so.1: cannot open",
		stub(t, 0):             "no OpenCL: its library has no platform with a device",
		"libm.so.6":            "OpenCL: no function ",
	} {
		if all, err := devices(library); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d devices, error %v, want %q", library, len(all), err, want)
		}
	}
}
