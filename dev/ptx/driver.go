package ptx

// The machine as a driver of package gpu.

import (
	"errors"
	"fmt"
	"slices"

	"picogpt/model/gpu"
)

// A Driver is a machine as a driver of package gpu. It implements gpu.Pinner.
type Driver struct {
	*Machine
	recordings [][]func() error // nil if forgotten
	recording  *[]func() error  // what is being recorded
	pinned     [][]byte
	launched   map[string]bool // kernels that were launched: CUDA may load one at its first launch
	closed     bool
}

// Device returns the interpreter of a program as a device.
func Device(p *Program) *gpu.Device {
	info := gpu.Info{
		Driver: "ptx", Name: "interpreter", Vendor: "picogpt", Platform: "tests",
		Version: p.Target, Memory: 1 << 30, Doubles: true,
	}
	return gpu.NewDevice(info, func() (gpu.Driver, error) { return NewDriver(p, 1), nil })
}

// NewDriver returns a driver that runs a program on a new machine.
func NewDriver(p *Program, seed uint64) *Driver {
	return &Driver{Machine: NewMachine(p, seed), launched: map[string]bool{}}
}

var errClosed = errors.New("ptx: the driver is closed")

// usable returns an error if the driver is closed, or records launches.
func (d *Driver) usable(call string) error {
	switch {
	case d.closed:
		return errClosed
	case d.recording != nil:
		return fmt.Errorf("ptx: %s while launches are recorded", call)
	}
	return nil
}

// Alloc implements gpu.Driver.
func (d *Driver) Alloc(bytes int64) (gpu.Buffer, error) {
	if err := d.usable("Alloc"); err != nil {
		return 0, err
	}
	if bytes < 1 {
		return 0, fmt.Errorf("ptx: a buffer of %d bytes", bytes)
	}
	return gpu.Buffer(d.Machine.Alloc(int(bytes))), nil
}

// Free implements gpu.Driver. It panics if b is no buffer, and while launches are recorded: these
// are mistakes of the caller, and Free returns no error.
func (d *Driver) Free(b gpu.Buffer) {
	if d.closed {
		return
	}
	if err := d.usable("Free"); err != nil {
		panic(err)
	}
	if err := d.Machine.Free(uint64(b)); err != nil {
		panic(err)
	}
}

// Write implements gpu.Driver.
func (d *Driver) Write(to gpu.Buffer, at int64, from []byte) error {
	if d.records(from) {
		*d.recording = append(*d.recording, func() error { return d.Write(to, at, from) })
		return nil
	}
	p, err := d.bytes(to, at, int64(len(from)))
	copy(p, from)
	return err
}

// Read implements gpu.Driver.
func (d *Driver) Read(to []byte, from gpu.Buffer, at int64) error {
	if d.records(to) {
		*d.recording = append(*d.recording, func() error { return d.Read(to, from, at) })
		return nil
	}
	p, err := d.bytes(from, at, int64(len(to)))
	copy(to, p)
	return err
}

// records reports whether a copy to or from memory of the host is recorded.
func (d *Driver) records(memory []byte) bool {
	return d.recording != nil && slices.ContainsFunc(d.pinned, func(p []byte) bool {
		return len(memory) > 0 && len(memory) <= len(p) && &p[0] == &memory[0]
	})
}

// Pin implements gpu.Pinner.
func (d *Driver) Pin(bytes int) ([]byte, error) {
	if err := d.usable("Pin"); err != nil {
		return nil, err
	}
	d.pinned = append(d.pinned, make([]byte, (bytes+7)/8*8))
	return d.pinned[len(d.pinned)-1][:bytes], nil
}

// Unpin implements gpu.Pinner.
func (d *Driver) Unpin(memory []byte) {
	d.pinned = slices.DeleteFunc(d.pinned, func(p []byte) bool { return &p[0] == &memory[0] })
}

// Wait implements gpu.Pinner.
func (d *Driver) Wait() error { return d.usable("Wait") }

// Copy implements gpu.Driver.
func (d *Driver) Copy(to gpu.Buffer, toAt int64, from gpu.Buffer, fromAt, n int64) error {
	p, err := d.bytes(to, toAt, n)
	if err != nil {
		return err
	}
	q, err := d.bytes(from, fromAt, n)
	if err == nil && to == from && toAt < fromAt+n && fromAt < toAt+n {
		return fmt.Errorf("ptx: copy of %d bytes from %d to %d of one buffer", n, fromAt, toAt)
	}
	copy(p, q)
	return err
}

func (d *Driver) bytes(b gpu.Buffer, at, n int64) ([]byte, error) {
	if err := d.usable("a copy"); err != nil {
		return nil, err
	}
	if at < 0 || at >= 1<<segmentBits || int64(int(n)) != n {
		return nil, fmt.Errorf("ptx: %d bytes at %d of a buffer", n, at)
	}
	return d.Bytes(uint64(b)+uint64(at), int(n))
}

// Launch implements gpu.Driver. It checks the sizes of the arguments against the kernel's.
func (d *Driver) Launch(l *gpu.Launch) error {
	if d.closed {
		return errClosed
	}
	params, err := d.program.Params(l.Kernel)
	if err != nil {
		return err
	}
	if len(params) != len(l.Args) {
		return fmt.Errorf("ptx: kernel %s: %d arguments, want %d", l.Kernel, len(l.Args),
			len(params))
	}
	values := make([]uint64, len(params))
	for i, a := range l.Args {
		if a.Size != params[i] {
			return fmt.Errorf("ptx: kernel %s: argument %d of %d bytes, want %d", l.Kernel, i,
				a.Size, params[i])
		}
		values[i] = a.Bits
	}
	if d.recording != nil {
		if !d.launched[l.Kernel] {
			return d.usable("the first launch of " + l.Kernel)
		}
		kept := *l
		kept.Args = append([]gpu.Arg(nil), l.Args...)
		*d.recording = append(*d.recording, func() error { return d.Launch(&kept) })
		return nil
	}
	d.launched[l.Kernel] = true
	return d.Machine.Launch(l.Kernel, l.Groups, l.Items, values)
}

// Record implements gpu.Recorder.
func (d *Driver) Record(launches func() error) (gpu.Recording, error) {
	if err := d.usable("Record"); err != nil {
		return 0, err
	}
	var kept []func() error
	d.recording = &kept
	err := launches()
	d.recording = nil
	if err != nil {
		return 0, err
	}
	if kept == nil {
		return 0, errors.New("ptx: nothing to record")
	}
	d.recordings = append(d.recordings, kept)
	return gpu.Recording(len(d.recordings)), nil
}

// Replay implements gpu.Recorder.
func (d *Driver) Replay(r gpu.Recording) error {
	if err := d.usable("Replay"); err != nil {
		return err
	}
	if r < 1 || int(r) > len(d.recordings) || d.recordings[r-1] == nil {
		return fmt.Errorf("ptx: no recording %d", r)
	}
	for _, call := range d.recordings[r-1] {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// Forget implements gpu.Recorder.
func (d *Driver) Forget(r gpu.Recording) {
	if !d.closed {
		d.recordings[r-1] = nil
	}
}

// Close implements gpu.Driver.
func (d *Driver) Close() error {
	d.closed, d.buffers, d.recordings = true, d.buffers[:firstSegment], nil
	return nil
}
