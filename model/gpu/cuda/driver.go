package cuda

// A gpu.Driver on one device: a stream and the kernels, in the device's primary context. All models
// on the device share that context; each has a stream of its own. Recordings are graphs: many
// launches for the cost of one.

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"picogpt/model/gpu"
)

type driver struct {
	l      *library
	device int32

	context, stream, module uintptr
	kernels                 map[string]uintptr
	buffers                 map[gpu.Buffer]bool
	grown                   map[gpu.Buffer]*grown
	step                    int64 // of the sizes of mapped memory
	graphs                  map[gpu.Recording]bool
	args                    *arguments
	pinned                  [][]byte
	staging                 staging
	recording               bool
	captured                bool // the stream's capture may still be open
}

var _ gpu.Pinner = (*driver)(nil)

// arguments holds the values of a kernel's parameters, and pointers to them for the library.
type arguments struct {
	values   [maxArgs]uint64
	pointers [maxArgs]unsafe.Pointer
}

const maxArgs = 32

// open opens a device and loads the kernels from PTX text.
func (l *library) open(device int32, ptx string) (gpu.Driver, error) {
	d := &driver{
		l: l, device: device, kernels: map[string]uintptr{}, buffers: map[gpu.Buffer]bool{},
		grown: map[gpu.Buffer]*grown{}, graphs: map[gpu.Recording]bool{}, args: new(arguments),
	}
	for i := range d.args.pointers {
		d.args.pointers[i] = unsafe.Pointer(&d.args.values[i])
	}
	if err := d.open(ptx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *driver) open(ptx string) error {
	err := d.l.call(&d.l.devicePrimaryCtxRetain, uintptr(unsafe.Pointer(&d.context)),
		uintptr(d.device))
	if err != nil {
		return err
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	const nonBlocking = 1 // does not wait for work of other streams
	err = d.l.call(&d.l.streamCreate, uintptr(unsafe.Pointer(&d.stream)), nonBlocking)
	if err != nil {
		return err
	}
	if err := d.load(ptx); err != nil {
		return err
	}
	for _, entry := range regexp.MustCompile(`\.entry (\w+)\(`).FindAllStringSubmatch(ptx, -1) {
		name := append([]byte(entry[1]), 0)
		var kernel uintptr
		err := d.l.call(&d.l.moduleGetFunction, uintptr(unsafe.Pointer(&kernel)), d.module,
			uintptr(unsafe.Pointer(&name[0])))
		if err != nil {
			return fmt.Errorf("kernel %s: %w", entry[1], err)
		}
		d.kernels[entry[1]] = kernel
	}
	return nil
}

// load compiles PTX. An error contains the beginning of the compiler's message.
func (d *driver) load(ptx string) error {
	image := append([]byte(ptx), 0)
	log := make([]byte, 4096)
	options := [2]int32{5, 6} // CU_JIT_ERROR_LOG_BUFFER, and its size
	values := struct {        // of the options: pointers or numbers
		log  *byte
		size uintptr
	}{&log[0], uintptr(len(log))}
	var pin runtime.Pinner
	pin.Pin(values.log)
	defer pin.Unpin()
	err := d.l.call(&d.l.moduleLoadDataEx, uintptr(unsafe.Pointer(&d.module)),
		uintptr(unsafe.Pointer(&image[0])), uintptr(len(options)),
		uintptr(unsafe.Pointer(&options)), uintptr(unsafe.Pointer(&values)))
	if said, _, _ := strings.Cut(text(log), "\n"); err != nil && said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// enter makes the context this thread's, until leave. A goroutine may be on another thread at its
// next call, and that thread may have another context. While a driver records, all other drivers
// wait.
func (d *driver) enter() error {
	if !d.recording {
		capturing.RLock()
	}
	runtime.LockOSThread()
	err := d.l.call(&d.l.ctxPushCurrent, d.context)
	if err != nil {
		d.left()
	}
	return err
}

func (d *driver) leave() {
	var context uintptr
	_ = d.l.call(&d.l.ctxPopCurrent, uintptr(unsafe.Pointer(&context)))
	d.left()
}

func (d *driver) left() {
	runtime.UnlockOSThread()
	if !d.recording {
		capturing.RUnlock()
	}
}

// idle returns an error while the driver records: only kernels may be launched then.
func (d *driver) idle(f *function) error {
	if d.recording {
		return fmt.Errorf("%s: launches are recorded, want nothing else meanwhile", f.Name)
	}
	return nil
}

// on calls a function in the driver's context, while nothing is recorded.
//
//go:uintptrescapes
func (d *driver) on(f *function, args ...uintptr) error {
	if err := d.idle(f); err != nil {
		return err
	}
	return d.call(f, args...)
}

// call calls a function in the driver's context.
//
//go:uintptrescapes
func (d *driver) call(f *function, args ...uintptr) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	return d.l.call(f, args...)
}

// Alloc implements gpu.Driver. If there is not enough memory, the error says how much there is.
func (d *driver) Alloc(bytes int64) (gpu.Buffer, error) {
	if err := d.idle(&d.l.memAlloc); err != nil {
		return 0, err
	}
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	var b gpu.Buffer
	err := d.l.call(&d.l.memAlloc, uintptr(unsafe.Pointer(&b)), uintptr(bytes))
	if err == nil {
		d.buffers[b] = true
		return b, nil
	}
	var free, total uintptr
	if code := (*codeError)(nil); errors.As(err, &code) && code.code == outOfMemory &&
		d.l.call(&d.l.memGetInfo, uintptr(unsafe.Pointer(&free)),
			uintptr(unsafe.Pointer(&total))) == nil {
		err = fmt.Errorf("%w: %d bytes wanted, %d of %d free", err, bytes, free, total)
	}
	return 0, err
}

// Free implements gpu.Driver: the library waits for launches that use the memory. While launches
// are recorded Free does nothing; Close frees the rest.
func (d *driver) Free(b gpu.Buffer) {
	if d.grown[b] != nil && !d.recording {
		if d.wait() == nil { // else Close gives the memory back
			_ = d.unmap(b, d.on)
			delete(d.grown, b)
		}
		return
	}
	if d.buffers[b] && !d.recording {
		delete(d.buffers, b)
		_ = d.on(&d.l.memFree, uintptr(b))
	}
}

// Copy implements gpu.Driver.
func (d *driver) Copy(to gpu.Buffer, toAt int64, from gpu.Buffer, fromAt, n int64) error {
	if n == 0 {
		return nil
	}
	return d.on(&d.l.memcpyDtoDAsync, uintptr(to)+uintptr(toAt), uintptr(from)+uintptr(fromAt),
		uintptr(n), d.stream)
}

// Launch implements gpu.Driver. These machines store the lowest bytes of a value first.
func (d *driver) Launch(l *gpu.Launch) error {
	kernel, found := d.kernels[l.Kernel]
	if !found || len(l.Args) > maxArgs {
		return fmt.Errorf("kernel %q with %d arguments: there is none", l.Kernel, len(l.Args))
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	for i, a := range l.Args {
		d.args.values[i] = a.Bits
	}
	err := d.l.call(&d.l.launchKernel, kernel, uintptr(l.Groups[0]), uintptr(l.Groups[1]),
		uintptr(l.Groups[2]), uintptr(l.Items), 1, 1, 0, d.stream,
		uintptr(unsafe.Pointer(&d.args.pointers)), 0)
	if err != nil {
		return fmt.Errorf("kernel %s, groups %v of %d: %w", l.Kernel, l.Groups, l.Items, err)
	}
	return nil
}

// Close implements gpu.Driver.
func (d *driver) Close() error {
	if d.context == 0 {
		return nil
	}
	err := d.enter()
	if err == nil {
		err = d.free()
		d.leave()
	}
	err = errors.Join(err, d.l.call(&d.l.devicePrimaryCtxRelease, uintptr(d.device)))
	*d = driver{l: d.l}
	return err
}

// free releases everything except the context, after the device has finished its work.
func (d *driver) free() error {
	var all []error
	release := func(f *function, handle uintptr) {
		if handle != 0 {
			all = append(all, d.l.call(f, handle))
		}
	}
	if d.stream != 0 && !d.captured {
		all = append(all, d.l.call(&d.l.streamSynchronize, d.stream))
	}
	release(&d.l.streamDestroy, d.stream) // also ends a capture
	for r := range d.graphs {
		release(&d.l.graphExecDestroy, uintptr(r))
	}
	for b := range d.buffers {
		release(&d.l.memFree, uintptr(b))
	}
	for b := range d.grown {
		all = append(all, d.unmap(b, d.l.call))
	}
	for _, p := range d.pinned {
		release(&d.l.memFreeHost, uintptr(unsafe.Pointer(&p[0])))
	}
	release(&d.l.moduleUnload, d.module)
	return errors.Join(all...)
}

// capturing is write-locked while a driver records, and read-locked by the other drivers: calls
// that wait for a context, as loading and freeing may, would end a recording in it. It belongs to
// the process, as contexts do.
var capturing sync.RWMutex

// Record implements gpu.Recorder: while the stream is captured, launches go into a graph.
func (d *driver) Record(launches func() error) (gpu.Recording, error) {
	graph, err := d.capture(launches)
	var run uintptr
	if err == nil {
		err = d.on(&d.l.graphInstantiateWithFlags, uintptr(unsafe.Pointer(&run)), graph, 0)
	}
	if graph != 0 {
		err = errors.Join(err, d.on(&d.l.graphDestroy, graph))
	}
	if run != 0 {
		d.graphs[gpu.Recording(run)] = true
	}
	return gpu.Recording(run), err
}

// capture makes a graph of launches. The goroutine may change its thread meanwhile, which the
// library allows with a relaxed capture.
func (d *driver) capture(launches func() error) (graph uintptr, err error) {
	if err := d.idle(&d.l.streamBeginCapture); err != nil {
		return 0, err
	}
	capturing.Lock()
	d.recording = true
	defer func() {
		d.recording = false
		capturing.Unlock()
	}()
	const relaxed = 2
	if err := d.call(&d.l.streamBeginCapture, d.stream, relaxed); err != nil {
		return 0, err
	}
	defer func() { // also after a failed launch, which leaves no graph, or a panic
		e := d.call(&d.l.streamEndCapture, d.stream, uintptr(unsafe.Pointer(&graph)))
		if d.captured = e != nil; err == nil {
			err = e
		}
	}()
	return 0, launches()
}

// Replay implements gpu.Recorder.
func (d *driver) Replay(r gpu.Recording) error {
	return d.on(&d.l.graphLaunch, uintptr(r), d.stream)
}

// Forget implements gpu.Recorder. While launches are recorded it does nothing; Close frees the
// rest.
func (d *driver) Forget(r gpu.Recording) {
	if d.graphs[r] && !d.recording {
		delete(d.graphs, r)
		_ = d.on(&d.l.graphExecDestroy, uintptr(r))
	}
}
