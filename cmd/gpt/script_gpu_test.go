//go:build gpu

package main

// What a user of a GPU sees: testdata/gpu, on the device that $GPT_DEVICE names.

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestScriptsOnADevice(t *testing.T) {
	device := os.Getenv("GPT_DEVICE")
	if device == "" || device == "cpu" {
		t.Skip("GPT_DEVICE names no GPU, such as pocl or cuda")
	}
	params := scripts("testdata/gpu")
	setup := params.Setup
	params.Setup = func(e *testscript.Env) error {
		e.Setenv("GPT_DEVICE", device)
		// compiled kernels are kept in the home directory
		e.Setenv("HOME", os.Getenv("HOME"))
		return setup(e)
	}
	testscript.Run(t, params)
}
