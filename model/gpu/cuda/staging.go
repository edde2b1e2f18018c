package cuda

// Bytes between the host's memory and the device's.

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"picogpt/model/gpu"
)

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
		return d.call(&d.l.memcpyHtoD, uintptr(to)+uintptr(at), uintptr(unsafe.Pointer(&from[0])),
			uintptr(len(from)), d.stream)
	case len(from) > mostStaged:
		err := d.send(to, at, from)
		if err == nil {
			err = d.wait()
		}
		runtime.KeepAlive(from)
		return err
	}
	if err := d.idle(&d.l.memcpyHtoD); err != nil {
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
	return d.on(&d.l.memcpyHtoD, uintptr(to)+uintptr(at), uintptr(unsafe.Pointer(&from[0])),
		uintptr(len(from)), d.stream)
}

// Read implements gpu.Driver.
func (d *driver) Read(to []byte, from gpu.Buffer, at int64) error {
	if d.recording && d.pin(to) >= 0 {
		return d.call(&d.l.memcpyDtoH, uintptr(unsafe.Pointer(&to[0])), uintptr(from)+uintptr(at),
			uintptr(len(to)), d.stream)
	}
	if len(to) > 0 {
		err := d.on(&d.l.memcpyDtoH, uintptr(unsafe.Pointer(&to[0])), uintptr(from)+uintptr(at),
			uintptr(len(to)), d.stream)
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
