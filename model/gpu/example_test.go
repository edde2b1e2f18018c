package gpu_test

import (
	"context"
	"errors"
	"fmt"

	"picogpt/model/gpu"
)

// devices stands for drivers.Devices, whose result depends on the machine.
func devices() []*gpu.Device {
	none := func() (gpu.Driver, error) { return nil, fmt.Errorf("no such machine") }
	return []*gpu.Device{
		gpu.NewDevice(gpu.Info{Driver: "opencl", Name: "a processor", Platform: "pocl", Version: "5",
			Processor: true}, none),
		gpu.NewDevice(gpu.Info{Driver: "cuda", Name: "a GPU", Vendor: "NVIDIA", Platform: "CUDA",
			Version: "12"}, none),
	}
}

// A device that is found goes to model.Options.Device. Automatic takes the first GPU that gives the
// processor's bits.
func ExampleChoose() {
	d, err := gpu.Choose(devices(), "nvidia")
	fmt.Println(d.Name, err)
	_, err = gpu.Choose(devices(), "radeon")
	fmt.Println(errors.Is(err, gpu.ErrNotFound)) // it lists the devices that there are
	_, refused := gpu.Automatic(context.Background(), devices())
	fmt.Println(refused, "refused")
	// Output:
	// a GPU <nil>
	// true
	// 1 refused
}
