//go:build gpu

package testdevice

// The device of $GPT_DEVICE.

import (
	"errors"
	"os"
	"testing"

	"picogpt/gpu"
	"picogpt/gpu/cuda"
	"picogpt/gpu/drivers"
	"picogpt/internal/ptx"
)

// Open returns the device. It skips the test if $GPT_DEVICE is empty or cpu, and fails it if there
// is no such device. The name ptx means the interpreter of the PTX that ships.
func Open(t testing.TB) *gpu.Device {
	t.Helper()
	name := os.Getenv("GPT_DEVICE")
	if name == "" || name == "cpu" {
		t.Skip("GPT_DEVICE names no GPU, such as pocl or cuda")
	}
	devices, missing := drivers.Devices()
	program, err := ptx.Parse(cuda.PTX())
	if err != nil {
		t.Fatal(err)
	}
	d, err := gpu.Choose(append(devices, ptx.Device(program)), name)
	if err != nil {
		t.Fatal(errors.Join(err, missing))
	}
	return d
}
