package opencl

// The devices of all platforms, and the properties that are read of each.

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"picogpt/model/gpu"
)

// Devices returns the devices of all platforms. It returns an error if there is no OpenCL, no
// platform (a driver installs one), or no device.
func Devices() ([]*gpu.Device, error) { return devices(libraryNames()...) }

// devices loads the library under the first of these names that exists.
func devices(libraries ...string) ([]*gpu.Device, error) {
	l, err := load(libraries...)
	if err != nil {
		return nil, err
	}
	ids, err := l.all()
	if len(ids) == 0 && err == nil {
		err = errors.New("no OpenCL: its library has no platform with a device, " +
			"as a driver installs one")
	}
	var all []*gpu.Device
	for _, id := range ids {
		info := l.describe(id)
		all = append(all, gpu.NewDevice(info, func() (gpu.Driver, error) {
			return l.newDriver(id, gpu.Source(), options)
		}).OnBus(func() string { return l.bus(id.device) }))
	}
	return all, err
}

// An id is a device of a platform.
type id struct{ platform, device uintptr }

// all returns the devices of all platforms. It returns the error of the platforms that cannot be
// listed.
func (l *library) all() (ids []id, err error) {
	platforms, err := l.list(&l.getPlatformIDs, func(n uint32, ids *uintptr, got *uint32) error {
		return call(&l.getPlatformIDs, uintptr(n), uintptr(pointer(ids)), uintptr(pointer(got)))
	})
	for _, platform := range platforms {
		const allTypes = 0xffffffff
		found, failed := l.list(&l.getDeviceIDs, func(n uint32, ids *uintptr, got *uint32) error {
			return call(&l.getDeviceIDs, platform, allTypes, uintptr(n),
				uintptr(pointer(ids)), uintptr(pointer(got)))
		})
		err = errors.Join(err, failed)
		for _, device := range found {
			ids = append(ids, id{platform, device})
		}
	}
	return ids, err
}

// list returns some ids: it first asks for their number. An empty list is no error.
func (l *library) list(
	f *function, ask func(n uint32, ids *uintptr, got *uint32) error,
) ([]uintptr, error) {
	var n uint32
	err := ask(0, nil, &n)
	var code codeError
	if errors.As(err, &code) && (code.code == -1 || code.code == platformNotFound) {
		return nil, nil
	}
	if err != nil || n == 0 {
		return nil, err
	}
	if n > 1024 {
		return nil, fmt.Errorf("%s: %d found, want at most 1024", f.Name, n)
	}
	ids := make([]uintptr, n)
	return ids, ask(n, &ids[0], nil)
}

// Properties of a device, by OpenCL's numbers.
const (
	platformName = 0x0902

	deviceType         = 0x1000
	deviceMaxGroup     = 0x1004
	deviceMaxAlloc     = 0x1010
	deviceSingleConfig = 0x101b
	deviceMemory       = 0x101f
	deviceLocalMemory  = 0x1023
	deviceAvailable    = 0x1027
	deviceCompiler     = 0x1028
	deviceName         = 0x102b
	deviceVendor       = 0x102c
	driverVersion      = 0x102d
	deviceVersion      = 0x102f
	deviceDoubleConfig = 0x1032
	devicePCIBus       = 0x410f // of cl_khr_pci_bus_info
)

// describe returns the description of a device, with what it lacks.
func (l *library) describe(id id) gpu.Info {
	text := func(what uint32) string { return l.text(&l.getDeviceInfo, id.device, what) }
	number := func(what uint32) uint64 { return l.number(id.device, what) }
	info := gpu.Info{
		Driver: "opencl", Name: text(deviceName), Vendor: text(deviceVendor),
		Platform: l.text(&l.getPlatformInfo, id.platform, platformName),
		Version:  text(deviceVersion) + ", driver " + text(driverVersion),
		Memory:   int64(number(deviceMemory)), MostOne: int64(number(deviceMaxAlloc)),
	}
	const typeCPU = 2
	info.Processor = number(deviceType)&typeCPU != 0
	const rounding = 0x01 | 0x02 | 0x04 | 0x20 // subnormals, infinities, to nearest, fma
	info.Doubles = number(deviceDoubleConfig)&rounding == rounding
	config := number(deviceSingleConfig)
	var major, minor int
	fmt.Sscanf(text(deviceVersion), "OpenCL %d.%d", &major, &minor)
	info.Need("OpenCL 1.2", major > 1 || major == 1 && minor >= 2)
	info.Need("a compiler", number(deviceCompiler) != 0)
	info.Need("being available", number(deviceAvailable) != 0)
	info.Need("subnormal numbers", config&0x01 != 0)
	info.Need("infinities and NaN", config&0x02 != 0)
	info.Need("rounding to nearest", config&0x04 != 0)
	info.Need("correctly rounded fma", config&0x20 != 0)
	info.Need("correctly rounded division and square root", config&0x80 != 0)
	info.Need("groups of 256 work items", number(deviceMaxGroup) >= 256)
	info.Need("32 KiB of local memory", number(deviceLocalMemory) >= 32<<10)
	return info
}

// bus returns the place of a device on the PCI bus, or "".
func (l *library) bus(device uintptr) string {
	var v [4]uint32 // domain, bus, device, function
	if call(&l.getDeviceInfo, device, devicePCIBus, unsafe.Sizeof(v), uintptr(pointer(&v)),
		0) != nil {
		return ""
	}
	return fmt.Sprintf("%04x:%02x:%02x", v[0], v[1], v[2])
}

// text returns a string property of a device or a platform.
func (l *library) text(ask *function, id uintptr, what uint32) string {
	var n uintptr
	err := call(ask, id, uintptr(what), 0, 0, uintptr(pointer(&n)))
	if err != nil || n == 0 || n > 1<<20 {
		return ""
	}
	b := make([]byte, n)
	if call(ask, id, uintptr(what), n, uintptr(pointer(&b[0])), 0) != nil {
		return ""
	}
	before, _, _ := strings.Cut(string(b), "\x00")
	return strings.TrimSpace(before)
}

// number returns a numeric property of a device, of 4 or 8 bytes, or 0 if the device does not have
// it.
func (l *library) number(id uintptr, what uint32) uint64 {
	var v uint64
	if call(&l.getDeviceInfo, id, uintptr(what), 8, uintptr(pointer(&v)), 0) != nil {
		return 0
	}
	return v
}
