package gpu

import (
	"strings"
	"testing"
)

func TestADeviceHasManyNames(t *testing.T) {
	devices := []*Device{
		{Info: Info{Driver: "opencl", Name: "cpu-haswell", Vendor: "GenuineIntel",
			Platform: "Portable Computing Language", Version: "OpenCL 3.0 PoCL, driver 3.1"}},
		{Info: Info{Driver: "opencl", Name: "NVIDIA H200", Vendor: "NVIDIA Corporation",
			Platform: "NVIDIA CUDA", Version: "OpenCL 3.0 CUDA, driver 570"}},
		{Info: Info{Driver: "cuda", Name: "NVIDIA H200", Vendor: "NVIDIA", Platform: "CUDA",
			Version: "driver 12.8"}},
	}
	for name, want := range map[string]int{
		"pocl": 0, "POCL": 0, "genuine": 0, "portable": 0, "haswell": 0, "opencl:0": 0,
		"OpenCL:1": 1, "nvidia corp": 1, "driver 570": 1, "cuda:0": 2, "12.8": 2, " pocl ": 0,
		"cuda": 2, "CUDA ": 2, "nvidia cuda": 1,
	} {
		d, err := Choose(devices, name)
		if err != nil || d != devices[want] {
			t.Errorf("%q: %v, error %v, want device %d", name, d, err, want)
		}
	}
	for name, want := range map[string]string{
		"nvidia":   "2 match, want one: opencl:1 NVIDIA H200 (NVIDIA CUDA, ",
		"opencl":   "2 match",
		"":         "not found",
		" ":        "not found",
		"opencl:2": "not found, want part of one of: opencl:0 cpu-haswell (Portable",
		"radeon":   "not found",
	} {
		if d, err := Choose(devices, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v, want %q", name, d, err, want)
		}
	}
	if _, err := Choose(nil, "pocl"); err == nil || !strings.Contains(err.Error(), "no device") {
		t.Errorf("nothing there: error %v", err)
	}
}
