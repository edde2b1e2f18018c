package gpu

// Devices: what is known of them before they are opened, and which one is chosen.

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Need adds to what the device lacks.
func (i *Info) Need(what string, has bool) {
	if !has {
		i.Lacks = append(i.Lacks, what)
	}
}

// usable returns an error if the device lacks something.
func (i *Info) usable() error {
	if len(i.Lacks) > 0 {
		return fmt.Errorf("%s: the device lacks %s", i.Name, strings.Join(i.Lacks, ", "))
	}
	return nil
}

// ErrNotFound says that no device has the given name.
var ErrNotFound = errors.New("not found")

// Labels returns the short name of each device: opencl:0, opencl:1, cuda:0, ….
func Labels(devices []*Device) []string {
	labels, count := make([]string, len(devices)), map[string]int{}
	for i, d := range devices {
		labels[i] = fmt.Sprintf("%s:%d", d.Driver, count[d.Driver])
		count[d.Driver]++
	}
	return labels
}

// Choose returns the device of that name: its label, its driver, or a part of its name, vendor,
// platform or version, in upper or lower case. A driver's name means only that driver's devices:
// NVIDIA's OpenCL has a platform that is called CUDA too. If several drivers have the same GPU it
// counts once, with the driver CUDA. If no device has the name (ErrNotFound), or several have it,
// the error lists the devices.
func Choose(devices []*Device, name string) (*Device, error) {
	labels := Labels(devices)
	var found []*Device
	ofDriver := slices.ContainsFunc(devices, func(d *Device) bool { return d.hasDriver(name) })
	for i, d := range devices {
		if strings.EqualFold(name, labels[i]) {
			return d, nil
		}
		if ofDriver && d.hasDriver(name) || !ofDriver && d.matches(name) {
			found = append(found, d)
		}
	}
	found = distinct(devices, found)
	var list []string
	for i, d := range devices {
		if len(found) == 0 || slices.Contains(found, d) {
			list = append(list, d.line(labels[i]))
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("device %q: %d match, want one: %s", name, len(found),
			strings.Join(list, "; "))
	case len(devices) == 0:
		return nil, fmt.Errorf("device %q: %w: there is no device", name, ErrNotFound)
	}
	return nil, fmt.Errorf("device %q: %w, want part of one of: %s", name, ErrNotFound,
		strings.Join(list, "; "))
}

// Automatic returns the first GPU that passes the probe, or nil, and the number of GPUs that do not
// pass. It does not choose a processor that OpenCL runs on, because the kernels for processors are
// faster.
func Automatic(ctx context.Context, devices []*Device) (first *Device, refused int) {
	var failed []*Device
	for _, d := range devices {
		switch {
		case d.Processor:
		case d.Probe(ctx) == nil:
			return d, len(distinct(devices, failed))
		default:
			failed = append(failed, d)
		}
	}
	return nil, len(distinct(devices, failed))
}

// distinct returns each of the devices found once. If OpenCL and another driver have the same GPU,
// it leaves out OpenCL's, unless the other one lacks something.
func distinct(all, found []*Device) (kept []*Device) {
	for _, d := range found {
		i := slices.IndexFunc(kept, func(k *Device) bool { return sameGPU(all, k, d) })
		switch {
		case i < 0:
			kept = append(kept, d)
		case d.rank() < kept[i].rank():
			kept[i] = d
		}
	}
	return kept
}

// rank orders devices that are the same GPU, the best first.
func (i *Info) rank() (n int) {
	if len(i.Lacks) > 0 {
		n += 2
	}
	if i.hasDriver("opencl") {
		n++
	}
	return n
}

// sameGPU reports whether two devices of different drivers are the same GPU: they are at the same
// place of the PCI bus or, if a driver does not say it, have the same index among the devices of
// that name.
func sameGPU(all []*Device, a, b *Device) bool {
	if a.Driver == b.Driver {
		return false
	}
	if a.bus != nil && b.bus != nil {
		if x, y := a.bus(), b.bus(); x != "" && y != "" {
			return x == y
		}
	}
	return a.Name == b.Name && nth(all, a) == nth(all, b)
}

// nth returns the number of devices before d on its platform that have the same name.
func nth(all []*Device, d *Device) (n int) {
	for _, other := range all[:slices.Index(all, d)] {
		if other.Driver == d.Driver && other.Platform == d.Platform && other.Name == d.Name {
			n++
		}
	}
	return n
}

func (i *Info) hasDriver(name string) bool {
	return strings.EqualFold(strings.TrimSpace(name), i.Driver)
}

func (i *Info) matches(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	texts := []string{i.Driver, i.Name, i.Vendor, i.Platform, i.Version}
	return name != "" && slices.ContainsFunc(texts, func(s string) bool {
		return strings.Contains(strings.ToLower(s), name)
	})
}

func (i *Info) line(label string) string {
	return fmt.Sprintf("%s %s (%s, %s)", label, i.Name, i.Platform, i.Version)
}
