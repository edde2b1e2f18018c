//go:build gpu

package testdevice

// The device of $GPT_DEVICE.

import (
	"errors"
	"os"
	"testing"

	"picogpt/gpu"
	"picogpt/gpu/opencl"
)

// Open returns the device. A test is skipped where $GPT_DEVICE is empty or cpu, and fails where it
// names what is not there.
func Open(t testing.TB) *gpu.Device {
	t.Helper()
	name := os.Getenv("GPT_DEVICE")
	if name == "" || name == "cpu" {
		t.Skip("GPT_DEVICE names no GPU, such as pocl or cuda")
	}
	devices, err := All()
	d, none := gpu.Choose(devices, name)
	if none != nil {
		t.Fatal(errors.Join(none, err))
	}
	return d
}

// All returns the devices of all drivers.
func All() ([]*gpu.Device, error) {
	return opencl.Devices()
}
