package main

// What computes the models: --device, $GPT_DEVICE, and gpt devices. device_gpu.go has the drivers,
// which only go build -tags gpu links; device_none.go stands in for them.

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/internal/engine"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/kernels"
)

// deviceName returns what --device or else $GPT_DEVICE says, with where it was said.
func (g *globals) deviceName() (name, said string, err error) {
	name, said = os.Getenv("GPT_DEVICE"), "GPT_DEVICE"
	if g.Device != nil {
		name, said = *g.Device, "--device"
		if strings.TrimSpace(name) == "" {
			return "", "", usagef("--device: want cpu, auto or a part of a device's name, " +
				"found nothing")
		}
	}
	return cmp.Or(strings.ToLower(strings.TrimSpace(name)), "cpu"), said, nil
}

// A chosenDevice is what --device has led to: nil for the processor.
type chosenDevice struct {
	device engine.Device
	known  bool
}

// chooseDevice settles what computes the models, once in a process.
func (a *app) chooseDevice() error {
	if a.chosen.known {
		return nil
	}
	name, said, err := a.deviceName()
	if err != nil {
		return err
	}
	switch name {
	case "cpu":
	case "auto":
		var what string
		a.chosen.device, what = automaticDevice(context.Background())
		a.Notef("device auto: %s", what)
	default:
		if a.chosen.device, err = namedDevice(name); err != nil {
			return fault.Hint(fmt.Errorf("%s: %w", said, err), devicesHint)
		}
	}
	a.chosen.known = true
	return nil
}

type devicesCommand struct {
	JSON bool
}

func newDevices(a *app) *cli.Command {
	c := &devicesCommand{}
	return &cli.Command{
		Name: "devices", Group: "about",
		Short: "show what can compute a model: the processor, and GPUs",
		Flags: func(f *cli.Flags) {
			f.Add(&c.JSON, "--json", "print one JSON object for each device, a line each")
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *devicesCommand) Run(a *app) error {
	ctx, release := a.Graceful()
	defer release()
	cpu := show.Device{Device: "cpu", Name: "the processor", Lacks: []string{}, Probe: "passed",
		Platform: "kernels " + kernels.Variants()[0]}
	devices, missing := probedDevices(ctx)
	if missing != nil {
		a.Notef("%s", quote.OneLine(missing))
	}
	if err := c.show(a, cpu); err != nil {
		return err
	}
	for d := range devices {
		if err := c.show(a, d); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// show prints a device.
func (c *devicesCommand) show(a *app, d show.Device) error {
	p := &cli.Page{Width: max(60, min(terminal.Columns(a.stdout.File), 100))}
	d.Show(p)
	return a.print(c.JSON, d, p.String())
}
