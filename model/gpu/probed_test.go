//go:build gpu

package gpu_test

// The probe runs every kernel that models need.

import (
	"regexp"
	"testing"

	"picogpt/dev/testdevice"
	"picogpt/model/gpu"
	"picogpt/model/gpu/cuda"
)

func TestTheProbeRunsEveryKernel(t *testing.T) {
	device, count := gpu.WithRecorder(testdevice.Open(t))
	if err := device.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	elsewhere := map[string]bool{"activate": true, "read_peak": true, "fma_peak": true}
	all := regexp.MustCompile(`\.entry (\w+)\(`).FindAllStringSubmatch(cuda.PTX(), -1)
	if len(all) < 30 {
		t.Fatalf("%d kernels, want more", len(all))
	}
	for _, m := range all {
		if count.Launches[m[1]] == 0 && !elsewhere[m[1]] {
			t.Errorf("the probe does not run %s", m[1])
		}
	}
}
