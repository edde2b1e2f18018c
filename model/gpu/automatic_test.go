package gpu_test

// Which device is chosen where the user says auto.

import (
	"errors"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/ptx"
	"picogpt/kernels"
	"picogpt/model/gpu"
	"picogpt/model/gpu/cuda"
	"picogpt/model/stack"
)

// Keys and values in 8 bits are the processor's only: New says which device has none.
func TestADeviceNamesTheCacheThatItLacks(t *testing.T) {
	d := gpu.NewDevice(gpu.Info{Name: "some GPU"}, func() (gpu.Driver, error) {
		t.Error("it is opened")
		return nil, errors.New("")
	})
	_, err := d.Open(t.Context(), &stack.Params{CacheFormat: kernels.Q8}, nil, nil)
	if want := "some GPU: has no cache in q8, want f32 or f16"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAutomaticIsTheFirstGPUThatPasses(t *testing.T) {
	program, err := ptx.Parse(cuda.PTX())
	if err != nil {
		t.Fatal(err)
	}
	works := ptx.Device(program)
	if !cases.Long { // the probe takes seconds
		works = works.WithoutProbe()
	}
	processor := gpu.NewDevice(gpu.Info{Name: "a processor", Processor: true},
		func() (gpu.Driver, error) { t.Error("a processor is opened"); return nil, errors.New("") })
	lacks := gpu.NewDevice(gpu.Info{Name: "old", Lacks: []string{"fma"}}, nil)
	fails := gpu.NewDevice(gpu.Info{Name: "broken"},
		func() (gpu.Driver, error) { return nil, errors.New("no memory") })
	for _, c := range []struct {
		devices []*gpu.Device
		want    *gpu.Device
		refused int
	}{
		{nil, nil, 0},
		{[]*gpu.Device{processor}, nil, 0},
		{[]*gpu.Device{lacks, processor, fails}, nil, 2},
		{[]*gpu.Device{processor, lacks, works, fails}, works, 1},
	} {
		got, refused := gpu.Automatic(t.Context(), c.devices)
		if got != c.want || refused != c.refused {
			t.Errorf("%d devices: %v, %d refused, want %v, %d", len(c.devices), got, refused, c.want,
				c.refused)
		}
	}
}
