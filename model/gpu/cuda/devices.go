// Package cuda runs the kernels of package gpu on NVIDIA's GPUs, from Volta on. The driver's own
// library is loaded when Devices is called; neither cgo nor NVIDIA's toolkit is needed. A program
// that imports this package is linked dynamically on Linux.
//
//	devices, err := cuda.Devices()
//	m, err := model.New(ctx, config, tensors, model.Options{Device: devices[0]})
package cuda

// The devices, and the attributes that are read of each.

import (
	"bytes"
	"cmp"
	"fmt"
	"unsafe"

	"picogpt/model/gpu"
)

// Devices returns the devices of the driver. It returns an error if there is no driver, the driver
// is too old, or it has no device.
func Devices() ([]*gpu.Device, error) { return devices(libraryNames()...) }

// devices loads the library under the first of these names that exists.
func devices(libraries ...string) ([]*gpu.Device, error) {
	l, err := load(libraries...)
	if err != nil {
		return nil, err
	}
	var n int32
	if err := l.call(&l.deviceGetCount, uintptr(unsafe.Pointer(&n))); err != nil {
		return nil, fmt.Errorf("no CUDA: %w", err)
	}
	if n < 1 || n > 1024 {
		return nil, fmt.Errorf("no CUDA: the driver has %d devices", n)
	}
	var all []*gpu.Device
	for i := range n {
		var id int32
		err := l.call(&l.deviceGet, uintptr(unsafe.Pointer(&id)), uintptr(i))
		if err != nil {
			return all, fmt.Errorf("CUDA device %d: %w", i, err)
		}
		info, major, err := l.info(id)
		if err != nil {
			return all, fmt.Errorf("CUDA device %d: %w", i, err)
		}
		all = append(all, gpu.NewDevice(info, func() (gpu.Driver, error) {
			return l.open(id, kernelsOf(major))
		}).OnBus(func() string { return l.bus(id) }))
	}
	return all, nil
}

// Attributes of a device, by the library's numbers.
const (
	maxThreadsPerBlock      = 1
	maxSharedMemoryPerBlock = 8
	computeMode             = 20
	pciBus                  = 33
	pciDevice               = 34
	pciDomain               = 50
	computeCapabilityMajor  = 75
	computeCapabilityMinor  = 76
)

const prohibited = 2 // a compute mode

// info returns the description of a device, with what it lacks, and the first number of its compute
// capability.
func (l *library) info(id int32) (gpu.Info, int32, error) {
	var name [256]byte
	var memory uintptr
	var driver int32
	err := cmp.Or(
		l.call(&l.deviceGetName, uintptr(unsafe.Pointer(&name)), uintptr(len(name)), uintptr(id)),
		l.call(&l.deviceTotalMem, uintptr(unsafe.Pointer(&memory)), uintptr(id)),
		l.call(&l.driverGetVersion, uintptr(unsafe.Pointer(&driver))))
	var v [5]int32
	for i, what := range []uintptr{computeCapabilityMajor, computeCapabilityMinor,
		maxThreadsPerBlock, maxSharedMemoryPerBlock, computeMode} {
		err = cmp.Or(err, l.call(&l.deviceGetAttribute, uintptr(unsafe.Pointer(&v[i])), what,
			uintptr(id)))
	}
	if err != nil {
		return gpu.Info{}, 0, err
	}
	info := gpu.Info{
		Driver: "cuda", Name: text(name[:]), Vendor: "NVIDIA", Platform: "CUDA",
		Version: fmt.Sprintf("CUDA %s, compute capability %d.%d", version(driver), v[0], v[1]),
		Memory:  int64(memory), Doubles: true,
	}
	info.Need("compute capability 7.0", v[0] >= 7)
	info.Need("groups of 256 work items", v[2] >= 256)
	info.Need("32 KiB of local memory", v[3] >= 32<<10)
	info.Need("being available: its compute mode is \"prohibited\"", v[4] != prohibited)
	return info, v[0], nil
}

// bus returns the place of a device on the PCI bus, or "".
func (l *library) bus(id int32) string {
	var v [3]int32
	for i, what := range []uintptr{pciDomain, pciBus, pciDevice} {
		err := l.call(&l.deviceGetAttribute, uintptr(unsafe.Pointer(&v[i])), what, uintptr(id))
		if err != nil {
			return ""
		}
	}
	return fmt.Sprintf("%04x:%02x:%02x", v[0], v[1], v[2])
}

// text returns the bytes before the first zero.
func text(b []byte) string {
	before, _, _ := bytes.Cut(b, []byte{0})
	return string(before)
}
