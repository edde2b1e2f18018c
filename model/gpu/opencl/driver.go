package opencl

// A gpu.Driver on one device: a context, an in-order queue, and the kernels.

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"picogpt/model/gpu"
)

type driver struct {
	l *library

	context, queue, program uintptr
	kernels                 map[string]*kernel // those that were launched before
	buffers                 map[gpu.Buffer]bool

	// memory for the arguments of a call; fields, so that a launch allocates nothing
	words         [9]uintptr
	value         uint64
	global, local [3]uintptr
}

// A kernel stores its arguments, because unchanged ones need not be set again.
type kernel struct {
	handle uintptr
	args   []gpu.Arg
}

var _ gpu.Driver = (*driver)(nil)

// options are the compiler's options. Others would let it flush subnormals, or fuse separate
// operations. -w turns off warnings: pocl would print their number on stderr.
const options = "-w -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"

// newDriver opens a device and compiles kernels for it.
func (l *library) newDriver(id id, source, options string) (gpu.Driver, error) {
	d := &driver{l: l, kernels: map[string]*kernel{}, buffers: map[gpu.Buffer]bool{}}
	if err := d.open(id.device, source, options); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *driver) open(id uintptr, source, options string) (err error) {
	var code int32
	d.context, err = create(&d.l.createContext, &code, 0, 1,
		uintptr(pointer(&id)), 0, 0, uintptr(pointer(&code)))
	if err != nil {
		return err
	}
	d.queue, err = create(&d.l.createCommandQueue, &code, d.context, id, 0, uintptr(pointer(&code)))
	if err != nil {
		return err
	}
	text := append([]byte(source), 0)
	lines := &text[0]
	var pin runtime.Pinner // OpenCL is given a pointer to a pointer
	pin.Pin(lines)
	defer pin.Unpin()
	d.program, err = create(&d.l.createProgramWithSource, &code, d.context, 1,
		uintptr(pointer(&lines)), 0, uintptr(pointer(&code)))
	if err != nil {
		return err
	}
	return d.build(id, options)
}

// build compiles the program. An error contains the first line of the compiler's output that names
// an error.
func (d *driver) build(id uintptr, options string) error {
	o := append([]byte(options), 0)
	err := call(&d.l.buildProgram, d.program, 1, uintptr(pointer(&id)),
		uintptr(pointer(&o[0])), 0, 0)
	if err == nil {
		return nil
	}
	const buildLog = 0x1183
	var n uintptr
	ask := &d.l.getProgramBuildInfo
	if call(ask, d.program, id, buildLog, 0, 0, uintptr(pointer(&n))) != nil || n == 0 {
		return err
	}
	log := make([]byte, n)
	if call(ask, d.program, id, buildLog, n, uintptr(pointer(&log[0])), 0) != nil {
		return err
	}
	for line := range strings.Lines(strings.TrimRight(string(log), "\x00")) {
		if strings.Contains(line, "error") {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(line))
		}
	}
	return err
}

// Alloc implements gpu.Driver.
func (d *driver) Alloc(bytes int64) (gpu.Buffer, error) {
	const readWrite = 1
	var code int32
	h, err := create(&d.l.createBuffer, &code, d.context, readWrite,
		uintptr(bytes), 0, uintptr(pointer(&code)))
	if err == nil {
		d.buffers[gpu.Buffer(h)] = true
	}
	return gpu.Buffer(h), err
}

// Free implements gpu.Driver: queued commands keep the buffer alive. A new buffer may get the same
// handle, so that all arguments must be set again.
func (d *driver) Free(b gpu.Buffer) {
	if d.buffers[b] {
		for _, k := range d.kernels {
			k.args = k.args[:0]
		}
		delete(d.buffers, b)
		_ = call(&d.l.releaseMemObject, uintptr(b))
	}
}

const blocking = 1

// Write implements gpu.Driver.
func (d *driver) Write(to gpu.Buffer, at int64, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	return call(&d.l.enqueueWriteBuffer, d.queue, uintptr(to), blocking, uintptr(at),
		uintptr(len(from)), uintptr(pointer(&from[0])), 0, 0, 0)
}

// Read implements gpu.Driver.
func (d *driver) Read(to []byte, from gpu.Buffer, at int64) error {
	if len(to) == 0 {
		return nil
	}
	return call(&d.l.enqueueReadBuffer, d.queue, uintptr(from), blocking, uintptr(at),
		uintptr(len(to)), uintptr(pointer(&to[0])), 0, 0, 0)
}

// Copy implements gpu.Driver.
func (d *driver) Copy(to gpu.Buffer, toAt int64, from gpu.Buffer, fromAt, n int64) error {
	if n == 0 {
		return nil
	}
	return call(&d.l.enqueueCopyBuffer, d.queue, uintptr(from), uintptr(to),
		uintptr(fromAt), uintptr(toAt), uintptr(n), 0, 0, 0)
}

// Launch implements gpu.Driver.
func (d *driver) Launch(l *gpu.Launch) error {
	k, err := d.kernel(l.Kernel)
	if err == nil {
		err = d.setArgs(k, l.Args)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.Kernel, err)
	}
	d.global = [3]uintptr{uintptr(l.Groups[0] * l.Items), uintptr(l.Groups[1]), uintptr(l.Groups[2])}
	d.local = [3]uintptr{uintptr(l.Items), 1, 1}
	d.words = [9]uintptr{d.queue, k.handle, 3, 0,
		uintptr(pointer(&d.global)), uintptr(pointer(&d.local)), 0, 0, 0}
	if err := call(&d.l.enqueueNDRangeKernel, d.words[:]...); err != nil {
		return fmt.Errorf("%s, groups %v of %d: %w", l.Kernel, l.Groups, l.Items, err)
	}
	return nil
}

// setArgs sets the arguments of a kernel that differ from those of its last launch.
func (d *driver) setArgs(k *kernel, args []gpu.Arg) error {
	for i, a := range args {
		if i < len(k.args) && k.args[i] == a {
			continue
		}
		d.value = a.Bits // these machines store the lowest bytes first
		d.words = [9]uintptr{k.handle, uintptr(i), uintptr(a.Size), uintptr(pointer(&d.value))}
		if err := call(&d.l.setKernelArg, d.words[:4]...); err != nil {
			k.args = k.args[:0]
			return fmt.Errorf("argument %d: %w", i, err)
		}
	}
	k.args = append(k.args[:0], args...)
	return nil
}

// kernel returns the kernel of that name.
func (d *driver) kernel(name string) (*kernel, error) {
	if k, ok := d.kernels[name]; ok {
		return k, nil
	}
	text, code := append([]byte(name), 0), int32(0)
	handle, err := create(&d.l.createKernel, &code, d.program,
		uintptr(pointer(&text[0])), uintptr(pointer(&code)))
	if err != nil {
		return nil, err
	}
	d.kernels[name] = &kernel{handle: handle}
	return d.kernels[name], nil
}

// Close implements gpu.Driver.
func (d *driver) Close() error {
	var all []error
	release := func(f *function, handle uintptr) {
		if handle != 0 {
			all = append(all, call(f, handle))
		}
	}
	for b := range d.buffers {
		release(&d.l.releaseMemObject, uintptr(b))
	}
	for _, k := range d.kernels {
		release(&d.l.releaseKernel, k.handle)
	}
	release(&d.l.releaseProgram, d.program)
	release(&d.l.releaseCommandQueue, d.queue)
	release(&d.l.releaseContext, d.context)
	*d = driver{l: d.l}
	return errors.Join(all...)
}
