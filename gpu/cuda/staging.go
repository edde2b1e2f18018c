package cuda

// Bytes between the host's memory and the device's.

import (
	"runtime"
	"unsafe"

	"picogpt/gpu"
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

// put returns a copy of some bytes that stays valid until used is 0 again, or nil if there is no
// room.
func (s *staging) put(from []byte) []byte {
	if s.bytes == nil {
		s.bytes = make([]byte, stagingBytes)
	}
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
	case len(from) > mostStaged:
		err := d.send(to, at, from)
		if err == nil {
			err = d.wait()
		}
		runtime.KeepAlive(from)
		return err
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
