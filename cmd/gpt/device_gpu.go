//go:build gpu

package main

// The devices of a program with drivers.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"picogpt/cmd/gpt/internal/show"
	"picogpt/internal/engine"
	"picogpt/internal/quote"
	"picogpt/model/gpu"
	"picogpt/model/gpu/drivers"
)

const (
	hasDrivers  = true
	devicesHint = "gpt devices lists them"
)

// namedDevice returns the device that a name means.
func namedDevice(name string) (engine.Device, error) {
	devices, missing := drivers.Devices()
	d, err := gpu.Choose(devices, name)
	if err == nil {
		return d, nil
	}
	if errors.Is(err, gpu.ErrNotFound) {
		err = errors.Join(err, missing)
	}
	return nil, err
}

// automaticDevice returns the first GPU that passes the probe, or nil for the processor, and what
// to tell of that.
func automaticDevice(ctx context.Context) (engine.Device, string) {
	devices, missing := drivers.Devices()
	d, refused := gpu.Automatic(ctx, devices)
	switch {
	case d != nil:
		return d, fmt.Sprintf("%s, %s", gpu.Labels(devices)[slices.Index(devices, d)], d.Name)
	case refused > 0:
		return nil, fmt.Sprintf("the processor, since none of %d GPUs passes the probe", refused)
	case missing != nil:
		return nil, "the processor, since there is no GPU: " + quote.OneLine(missing)
	}
	return nil, "the processor, since there is no GPU"
}

// probedDevices returns all devices, each with the result of its probe when that is known, and what
// is missing: the kernels may have to be compiled for each, which takes up to a minute.
func probedDevices(ctx context.Context) (iter.Seq[show.Device], error) {
	devices, missing := drivers.Devices()
	return func(yield func(show.Device) bool) {
		for i, label := range gpu.Labels(devices) {
			d := devices[i]
			shown := show.Device{Device: label, Name: d.Name,
				Platform: d.Platform + ", " + d.Version, Memory: d.Memory,
				Lacks: append([]string{}, d.Lacks...), Probe: "passed"}
			if err := d.Probe(ctx); err != nil {
				shown.Probe = quote.OneLine(err)
			}
			if ctx.Err() != nil || !yield(shown) {
				return
			}
		}
	}, missing
}
