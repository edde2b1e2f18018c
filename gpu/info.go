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
	Platform string // the driver's own name, as "Portable Computing Language", or "CUDA"
	Version  string // of the platform and the driver
	Memory   int64  // bytes
	MostOne  int64  // bytes of the largest buffer; 0 for Memory

	Processor bool // that it is one, which OpenCL may run on, and no GPU
	Doubles   bool // that it has float64; one that has not hands out rows of logits whole

	// Lacks names what the device does not have and kernels need, as "correctly rounded fma". Such
	// a device is not opened.
	Lacks []string
}

// A Device is a GPU that a driver has found. It is what model.Options.Device takes. Each model that
// is opened on it has a Driver of its own.
type Device struct {
	Info
	open    func() (Driver, error)
	bus     func() string // nil where the driver does not say
	trusted bool
}

// NewDevice is for drivers: open opens the device and compiles the kernels for it.
func NewDevice(info Info, open func() (Driver, error)) *Device {
	return &Device{Info: info, open: open}
}

// OnBus says where the device is: ask returns its PCI domain, bus and device, or nothing. It is
// asked where several drivers have a device of this name. It returns the device.
func (d *Device) OnBus(ask func() string) *Device {
	d.bus = ask
	return d
}

// WithoutProbe returns the device, which then opens without the probe. It is for tests that look
// for what the probe would find.
func (d *Device) WithoutProbe() *Device {
	own := *d
	own.trusted = true
	return &own
}

// usable is an error where the device lacks something.
func (i *Info) usable() error {
	if len(i.Lacks) > 0 {
		return fmt.Errorf("%s: the device lacks %s", i.Name, strings.Join(i.Lacks, ", "))
	}
	return nil
}
