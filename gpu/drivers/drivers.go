// Package drivers is all drivers of GPUs together, for programs that take whatever there is. It
// links what gpu/opencl and gpu/cuda link.
package drivers

import (
	"errors"

	"picogpt/gpu"
	"picogpt/gpu/cuda"
	"picogpt/gpu/opencl"
)

// Devices returns the devices of all drivers, as far as they are there, those of CUDA first. The
// error says of each driver that is not there why; there may be devices of others nevertheless.
func Devices() ([]*gpu.Device, error) {
	var all []*gpu.Device
	var missing []error
	for _, driver := range []func() ([]*gpu.Device, error){cuda.Devices, opencl.Devices} {
		devices, err := driver()
		all, missing = append(all, devices...), append(missing, err)
	}
	return all, errors.Join(missing...)
}
