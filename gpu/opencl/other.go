//go:build !((linux || darwin || windows) && (amd64 || arm64))

package opencl

import (
	"fmt"
	"runtime"

	"picogpt/gpu"
)

// Devices finds nothing on this system.
func Devices() ([]*gpu.Device, error) {
	return nil, fmt.Errorf("no OpenCL: not on %s/%s", runtime.GOOS, runtime.GOARCH)
}
