package cuda

// Memory of the device, which grows where it is: addresses are reserved, and memory is mapped to
// them piece by piece. And bytes between the host's memory and the device's.

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"picogpt/model/gpu"
)

var (
	_ gpu.Grower = (*driver)(nil)
	_ gpu.Meter  = (*driver)(nil)
)

// A grown is the memory of a buffer that grows.
type grown struct {
	size   int64   // of the addresses
	pieces []int64 // sizes of what is mapped, one after the other
	bytes  int64   // of all of them
}

// What memory is mapped: that of one device, as cuda.h's CUmemAllocationProp and CUmemAccessDesc
// say it.
type (
	allocation struct {
		kind, handles    int32
		location, device int32
		_                uintptr // for Windows
		_                [8]byte // compression and others
	}
	access struct{ location, device, may int32 }
)

const (
	pinned       = 1 // the kind of an allocation: it does not move
	onDevice     = 1 // a location
	readAndWrite = 3

	virtualMemory = 102 // an attribute of a device
)

func (d *driver) allocation() allocation {
	return allocation{kind: pinned, location: onDevice, device: d.device}
}

// Reserve implements gpu.Grower.
func (d *driver) Reserve(most int64) (gpu.Buffer, error) {
	var can int32
	if err := d.on(&d.l.deviceGetAttribute, uintptr(unsafe.Pointer(&can)), virtualMemory,
		uintptr(d.device)); err != nil || can == 0 {
		return 0, err
	}
	what := d.allocation()
	var step uintptr
	err := d.on(&d.l.memGetAllocationGranularity, uintptr(unsafe.Pointer(&step)),
		uintptr(unsafe.Pointer(&what)), 0)
	if err != nil || step == 0 {
		return 0, unlessUnsupported(err)
	}
	d.step = int64(step)
	g := &grown{size: d.stepped(most)}
	var b gpu.Buffer
	if err := d.on(&d.l.memAddressReserve, uintptr(unsafe.Pointer(&b)), uintptr(g.size), 0, 0,
		0); err != nil {
		return 0, unlessUnsupported(err)
	}
	d.grown[b] = g
	return b, nil
}

// unlessUnsupported returns nil for the error of a device that cannot do something.
func unlessUnsupported(err error) error {
	if code := (*codeError)(nil); errors.As(err, &code) && code.code == notSupported {
		return nil
	}
	return err
}

// stepped rounds a size up to one that can be mapped.
func (d *driver) stepped(n int64) int64 { return (n + d.step - 1) / d.step * d.step }

// Grow implements gpu.Grower. The memory is given back when it is unmapped, since nothing else
// holds it.
func (d *driver) Grow(b gpu.Buffer, bytes int64) error {
	g := d.grown[b]
	if g == nil || bytes > g.size {
		return errors.New("the buffer does not grow so far")
	}
	n := d.stepped(bytes) - g.bytes
	if n <= 0 {
		return nil
	}
	what, may := d.allocation(), access{onDevice, d.device, readAndWrite}
	var piece uintptr
	if err := d.on(&d.l.memCreate, uintptr(unsafe.Pointer(&piece)), uintptr(n),
		uintptr(unsafe.Pointer(&what)), 0); err != nil {
		return err
	}
	at := uintptr(b) + uintptr(g.bytes)
	err := d.on(&d.l.memMap, at, uintptr(n), 0, piece, 0)
	mapped := err == nil
	if mapped {
		err = d.on(&d.l.memSetAccess, at, uintptr(n), uintptr(unsafe.Pointer(&may)), 1)
	}
	err = errors.Join(err, d.on(&d.l.memRelease, piece))
	if err == nil {
		g.pieces, g.bytes = append(g.pieces, n), g.bytes+n
	} else if mapped {
		err = errors.Join(err, d.on(&d.l.memUnmap, at, uintptr(n)))
	}
	return err
}

// unmap gives the memory and the addresses of a buffer back, through a function that calls others.
// Nothing uses the memory.
func (d *driver) unmap(b gpu.Buffer, call func(f *function, args ...uintptr) error) error {
	g, at := d.grown[b], uintptr(b)
	for _, n := range g.pieces {
		if err := call(&d.l.memUnmap, at, uintptr(n)); err != nil {
			return err
		}
		at += uintptr(n)
	}
	return call(&d.l.memAddressFree, uintptr(b), uintptr(g.size))
}

// FreeMemory implements gpu.Meter.
func (d *driver) FreeMemory() (int64, error) {
	var free, total uintptr
	err := d.on(&d.l.memGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return int64(free), err
}

// A staging holds copies of bytes that are being written to the device. Usually the library makes a
// copy of its own before a call returns. But if the device reads the host's memory itself, as a
// GH200 does, it may read at any time until the stream has been waited for.
type staging struct {
	bytes []byte
	used  int // bytes since the stream was waited for
}

const (
	stagingBytes = 1 << 18
	mostStaged   = stagingBytes / 4 // of one Write; larger writes wait for the stream
)

// Pin implements gpu.Pinner.
func (d *driver) Pin(bytes int) ([]byte, error) {
	var p *byte // the library's memory
	err := d.on(&d.l.memAllocHost, uintptr(unsafe.Pointer(&p)), uintptr(bytes))
	if code := (*codeError)(nil); errors.As(err, &code) && code.code == outOfMemory {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d.pinned = append(d.pinned, unsafe.Slice(p, bytes))
	return d.pinned[len(d.pinned)-1], nil
}

// Unpin implements gpu.Pinner. While launches are recorded it does nothing; Close frees the rest.
func (d *driver) Unpin(memory []byte) {
	if i := d.pin(memory); i >= 0 && !d.recording {
		d.pinned = slices.Delete(d.pinned, i, i+1)
		_ = d.on(&d.l.memFreeHost, uintptr(unsafe.Pointer(&memory[0])))
	}
}

// pin returns which of the pinned pieces of memory begins with some bytes, or −1.
func (d *driver) pin(memory []byte) int {
	return slices.IndexFunc(d.pinned, func(p []byte) bool {
		return len(memory) > 0 && len(memory) <= len(p) && &p[0] == &memory[0]
	})
}

// Wait implements gpu.Pinner.
func (d *driver) Wait() error { return d.wait() }

// put returns a copy of some bytes that stays valid until used is 0 again, or nil if there is no
// room.
func (s *staging) put(from []byte) []byte {
	if s.used+len(from) > len(s.bytes) {
		return nil
	}
	to := s.bytes[s.used:][:len(from)]
	s.used += copy(to, from)
	return to
}

// Write implements gpu.Driver.
func (d *driver) Write(to gpu.Buffer, at int64, from []byte) error {
	switch {
	case len(from) == 0:
		return nil
	case d.recording && d.pin(from) >= 0:
		return d.call(&d.l.memcpyHtoDAsync, uintptr(to)+uintptr(at),
			uintptr(unsafe.Pointer(&from[0])), uintptr(len(from)), d.stream)
	case len(from) > mostStaged:
		err := d.send(to, at, from)
		if err == nil {
			err = d.wait()
		}
		runtime.KeepAlive(from)
		return err
	}
	if err := d.idle(&d.l.memcpyHtoDAsync); err != nil {
		return err
	}
	if d.staging.bytes == nil {
		memory, err := d.Pin(stagingBytes)
		if err != nil {
			return err
		}
		if d.staging.bytes = memory; memory == nil {
			d.staging.bytes = make([]byte, stagingBytes)
		}
	}
	staged := d.staging.put(from)
	if staged == nil {
		if err := d.wait(); err != nil {
			return err
		}
		staged = d.staging.put(from)
	}
	return d.send(to, at, staged)
}

func (d *driver) send(to gpu.Buffer, at int64, from []byte) error {
	return d.on(&d.l.memcpyHtoDAsync, uintptr(to)+uintptr(at), uintptr(unsafe.Pointer(&from[0])),
		uintptr(len(from)), d.stream)
}

// Read implements gpu.Driver.
func (d *driver) Read(to []byte, from gpu.Buffer, at int64) error {
	if d.recording && d.pin(to) >= 0 {
		return d.call(&d.l.memcpyDtoHAsync, uintptr(unsafe.Pointer(&to[0])),
			uintptr(from)+uintptr(at), uintptr(len(to)), d.stream)
	}
	if len(to) > 0 {
		err := d.on(&d.l.memcpyDtoHAsync, uintptr(unsafe.Pointer(&to[0])),
			uintptr(from)+uintptr(at), uintptr(len(to)), d.stream)
		if err != nil {
			return err
		}
	}
	err := d.wait()
	runtime.KeepAlive(to)
	return err
}

// wait waits for the stream.
func (d *driver) wait() error {
	err := d.on(&d.l.streamSynchronize, d.stream)
	if err == nil {
		d.staging.used = 0
	}
	return err
}
