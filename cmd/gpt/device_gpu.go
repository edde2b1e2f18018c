//go:build gpu

package main

// The devices of a program with drivers.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"picogpt/gpu"
	"picogpt/gpu/drivers"
	"picogpt/internal/engine"
	"picogpt/internal/quote"
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

// automaticDevice returns the first GPU that passes the probe, or nil for the processor, and what to
// tell of that.
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

// probedDevices returns all devices, with the results of the probe.
func probedDevices(ctx context.Context) (all []shownDevice, missing error) {
	devices, missing := drivers.Devices()
	for i, label := range gpu.Labels(devices) {
		d := devices[i]
		shown := shownDevice{Device: label, Name: d.Name, Platform: d.Platform + ", " + d.Version,
			Memory: d.Memory, Lacks: append([]string{}, d.Lacks...), Probe: "passed"}
		if err := d.Probe(ctx); err != nil {
			shown.Probe = quote.OneLine(err)
		}
		all = append(all, shown)
	}
	return all, missing
}
