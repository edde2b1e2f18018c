//go:build !gpu

package main

// A program without drivers: the processor computes.

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"picogpt/cmd/gpt/internal/show"
	"picogpt/internal/engine"
)

const (
	hasDrivers  = false
	devicesHint = ""
)

var errNoDrivers = errors.New("this program has no drivers of GPUs, " +
	"which go build -tags gpu ./cmd/gpt adds")

func namedDevice(name string) (engine.Device, error) {
	return nil, fmt.Errorf("device %q: %w", name, errNoDrivers)
}

func automaticDevice(context.Context) (engine.Device, string) {
	return nil, "the processor, since " + errNoDrivers.Error()
}

func probedDevices(context.Context) (iter.Seq[show.Device], error) {
	return func(func(show.Device) bool) {}, errNoDrivers
}
