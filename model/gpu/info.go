package gpu

// What is known of a device before it is opened.

import (
	"fmt"
	"strings"
)

// An Info describes a device, as its driver knows it.
type Info struct {
	Driver   string // "opencl", "cuda"
	Name     string // of the device
	Vendor   string
	Platform string // the driver's own name, for example "Portable Computing Language", or "CUDA"
	Version  string // of the platform and the driver
	Memory   int64  // bytes
	MostOne  int64  // bytes of the largest buffer; 0 for Memory

	Processor bool // a processor that OpenCL runs on, not a GPU
	Doubles   bool // it has float64; without it, rows of logits are handed out whole

	// Lacks names what kernels need and the device does not have, for example "correctly rounded
	// fma". Such a device cannot be opened.
	Lacks []string
}

// A Device is a GPU that a driver has found, for model.Options.Device. Each model that is opened on
// it has a Driver of its own.
type Device struct {
	Info
	open    func() (Driver, error)
	bus     func() string // nil if the driver does not say it
	trusted bool
}

// NewDevice is called by drivers. open opens the device and compiles the kernels for it.
func NewDevice(info Info, open func() (Driver, error)) *Device {
	return &Device{Info: info, open: open}
}

// OnBus sets the function that returns the device's PCI domain, bus and device, or "". It is called
// if several drivers have a device of this name. OnBus returns the device.
func (d *Device) OnBus(ask func() string) *Device {
	d.bus = ask
	return d
}

// WithoutProbe returns a device that opens without the probe, for tests of what the probe finds.
func (d *Device) WithoutProbe() *Device {
	own := *d
	own.trusted = true
	return &own
}

// usable returns an error if the device lacks something.
func (i *Info) usable() error {
	if len(i.Lacks) > 0 {
		return fmt.Errorf("%s: the device lacks %s", i.Name, strings.Join(i.Lacks, ", "))
	}
	return nil
}
