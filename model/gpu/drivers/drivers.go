// Package drivers joins all drivers of GPUs, for programs that use any of them. It links what
// gpu/opencl and gpu/cuda link.
package drivers

import (
	"errors"

	"picogpt/model/gpu"
	"picogpt/model/gpu/cuda"
	"picogpt/model/gpu/opencl"
)

// Devices returns the devices of all drivers that are present, those of CUDA first. The error says
// why each missing driver is missing; there may be devices of other drivers besides.
func Devices() ([]*gpu.Device, error) {
	var all []*gpu.Device
	var missing []error
	for _, driver := range []func() ([]*gpu.Device, error){cuda.Devices, opencl.Devices} {
		devices, err := driver()
		all, missing = append(all, devices...), append(missing, err)
	}
	return all, errors.Join(missing...)
}
