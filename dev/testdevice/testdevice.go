//go:build gpu

package testdevice

// The device of $GPT_DEVICE.

import (
	"errors"
	"os"
	"testing"

	"picogpt/dev/ptx"
	"picogpt/model/gpu"
	"picogpt/model/gpu/cuda"
	"picogpt/model/gpu/drivers"
)

// Open returns the device. It skips the test if $GPT_DEVICE is empty or cpu, and fails it if there
// is no such device. The name ptx means the interpreter of the PTX that ships, and ptx80 that of the
// PTX for GPUs that multiply matrices.
func Open(t testing.TB) *gpu.Device {
	t.Helper()
	name := os.Getenv("GPT_DEVICE")
	if name == "" || name == "cpu" {
		t.Skip("GPT_DEVICE names no GPU, such as pocl or cuda")
	}
	devices, missing := drivers.Devices()
	if name == "ptx" || name == "ptx80" {
		text := cuda.PTX()
		if name == "ptx80" {
			text = cuda.PTX80()
		}
		program, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return ptx.Device(program)
	}
	d, err := gpu.Choose(devices, name)
	if err != nil {
		t.Fatal(errors.Join(err, missing))
	}
	return d
}
