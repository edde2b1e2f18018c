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
		"nvidia": 2, "NVIDIA": 2, "h200": 2, "nvidia h200": 2, // one GPU of two drivers
	} {
		d, err := Choose(devices, name)
		if err != nil || d != devices[want] {
			t.Errorf("%q: %v, error %v, want device %d", name, d, err, want)
		}
	}
	for name, want := range map[string]string{
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

// gpus are devices of two drivers: cuda:0, cuda:1, …, opencl:0, opencl:1, …, where a name and a
// place of the bus stand for each.
func gpus(cuda, opencl [][2]string) (all []*Device) {
	for driver, devices := range [][][2]string{cuda, opencl} {
		for _, d := range devices {
			info := Info{Driver: []string{"cuda", "opencl"}[driver], Name: d[0],
				Platform: []string{"CUDA", "NVIDIA CUDA"}[driver]}
			all = append(all, NewDevice(info, nil).OnBus(func() string { return d[1] }))
		}
	}
	return all
}

func TestAGPUOfTwoDriversCountsOnce(t *testing.T) {
	const a, b = "H200", "L4"
	for _, c := range []struct {
		what         string
		cuda, opencl [][2]string
		name, want   string // what is chosen, or what the error lists
	}{
		{"one", [][2]string{{a, ""}}, [][2]string{{a, ""}}, "h200", "cuda:0"},
		{"the bus says so", [][2]string{{a, "0:1"}}, [][2]string{{"NVIDIA H200", "0:1"}}, "h200",
			"cuda:0"},
		{"hidden from CUDA", [][2]string{{a, "0:2"}}, [][2]string{{a, "0:1"}, {a, "0:2"}}, "h200",
			"cuda:0, opencl:0"},
		{"hidden, no bus", [][2]string{{a, "0:2"}}, [][2]string{{a, ""}, {a, ""}}, "h200",
			"cuda:0, opencl:1"},
		{"two of a kind", [][2]string{{a, ""}, {a, ""}}, [][2]string{{a, ""}, {a, ""}}, "h200",
			"cuda:0, cuda:1"},
		{"another order", [][2]string{{a, ""}, {b, ""}}, [][2]string{{b, ""}, {a, ""}}, "l4",
			"cuda:1"},
		{"all", [][2]string{{a, ""}, {b, ""}}, [][2]string{{b, ""}, {a, ""}}, "cuda",
			"cuda:0, cuda:1"},
		{"by label", [][2]string{{a, ""}}, [][2]string{{a, ""}}, "opencl:0", "opencl:0"},
		{"by driver", [][2]string{{a, ""}}, [][2]string{{a, ""}}, "opencl", "opencl:0"},
	} {
		all := gpus(c.cuda, c.opencl)
		labels := Labels(all)
		got := ""
		d, err := Choose(all, c.name)
		for i := range all {
			if d == all[i] || err != nil && strings.Contains(err.Error(), labels[i]+" ") {
				got += ", " + labels[i]
			}
		}
		if got = strings.TrimPrefix(got, ", "); got != c.want {
			t.Errorf("%s: %s, error %v, want %s", c.what, got, err, c.want)
		}
	}
	old := gpus([][2]string{{a, ""}}, [][2]string{{a, ""}})
	old[0].Lacks = []string{"compute capability 7.0"}
	if d, err := Choose(old, a); d != old[1] {
		t.Errorf("where CUDA's lacks something: %v, error %v, want OpenCL's", d, err)
	}
	old[1].Lacks = old[0].Lacks
	if d, refused := Automatic(t.Context(), old); d != nil || refused != 1 {
		t.Errorf("%v, %d GPUs refused, want one", d, refused)
	}
}
