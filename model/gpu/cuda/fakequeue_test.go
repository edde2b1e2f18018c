//go:build linux && (amd64 || arm64)

package cuda

// The fake's memory, also what is mapped to reserved addresses, its streams and graphs. What a
// stream is told to do waits for something to wait for it, as on a device that is behind.

import (
	"errors"
	"syscall"
)

const relaxed = 2 // the mode of a capture that any thread may end

func (f *fake) buffers(name string, a [11]uint64) int32 {
	switch name {
	case "cuMemAlloc_v2":
		if a[1] == 0 {
			return invalidValue
		}
		if f.used+a[1] > f.memory {
			return outOfMemory
		}
		f.used += a[1]
		*at[uint64](a[0]) = f.machine.Alloc(int(a[1]))
		f.sizes[*at[uint64](a[0])] = a[1]
	case "cuMemFree_v2":
		if code := f.run(); code != ok {
			return code
		}
		if err := f.machine.Free(a[0]); err != nil {
			f.t.Error(err)
			return invalidValue
		}
		f.used -= f.sizes[a[0]]
		delete(f.sizes, a[0])
	case "cuMemAllocHost_v2":
		memory := make([]uint64, (a[1]+7)/8)
		*at[*uint64](a[0]) = &memory[0]
		f.hosts[*at[uint64](a[0])] = memory
	case "cuMemFreeHost":
		if f.hosts[a[0]] == nil {
			f.t.Errorf("%#x is not pinned", a[0])
			return invalidValue
		}
		delete(f.hosts, a[0])
	case "cuMemGetInfo_v2":
		*at[uint64](a[0]), *at[uint64](a[1]) = f.memory-f.used, f.memory
	case "cuMemcpyHtoDAsync_v2": // it reads the host's memory itself, when its turn comes
		from := bytesAt(a[1], a[2])
		return f.later(a[3], func() error { return f.copyTo(a[0], from) })
	case "cuMemcpyDtoDAsync_v2":
		to, from, n := a[0], a[1], int(a[2])
		return f.later(a[3], func() error {
			p, err := f.machine.Bytes(from, n)
			return errors.Join(err, f.copyTo(to, p))
		})
	case "cuMemcpyDtoHAsync_v2":
		to, from := bytesAt(a[0], a[2]), a[1]
		return f.later(a[3], func() error {
			p, err := f.machine.Bytes(from, len(to))
			copy(to, p)
			if f.idle {
				clear(to)
			}
			return err
		})
	default:
		return -1
	}
	return ok
}

func (f *fake) copyTo(to uint64, from []byte) error {
	p, err := f.machine.Bytes(to, len(from))
	copy(p, from)
	return err
}

// later puts a copy into a stream's queue or, of memory that is pinned, into what is captured.
func (f *fake) later(stream uint64, t task) int32 {
	if !f.is("stream", stream) {
		return invalidHandle
	}
	if c := f.captures[stream]; c != nil {
		if c.broken {
			return captureInvalidated
		}
		c.tasks = append(c.tasks, t)
		return ok
	}
	f.queues[stream] = append(f.queues[stream], t)
	return ok
}

// run does what all streams have been told to do. An error of a kernel stays.
func (f *fake) run() int32 {
	for stream := range f.queues {
		for _, t := range f.queues[stream] {
			if err := t(); err != nil && f.broken == 0 {
				f.t.Error(err)
				f.broken = illegalAddress
			}
		}
		f.queues[stream] = nil
	}
	return f.broken
}

func (f *fake) streams(name string, a [11]uint64) int32 {
	switch name {
	case "cuStreamCreate":
		if a[1] != 1 {
			f.t.Errorf("stream flags %d", a[1])
			return invalidValue
		}
		f.made("stream", a[0])
	case "cuStreamDestroy_v2":
		if !f.is("stream", a[0]) {
			return invalidHandle
		}
		code := f.run()
		delete(f.live, a[0])
		delete(f.queues, a[0])
		delete(f.captures, a[0])
		return code
	case "cuStreamSynchronize":
		if !f.is("stream", a[0]) {
			return invalidHandle
		}
		return f.run()
	case "cuLaunchKernel":
		return f.launch(a)
	default:
		return -1
	}
	return ok
}

// launch reads the parameters at once: the caller may change them when it has returned.
func (f *fake) launch(a [11]uint64) int32 {
	of, found := f.kernels[a[0]]
	kernel := of.name
	if !found || !f.is("stream", a[8]) {
		f.t.Errorf("kernel %#x is none", a[0])
		return invalidHandle
	}
	if a[5] != 1 || a[6] != 1 || a[7] != 0 || a[10] != 0 {
		f.t.Errorf("kernel %s: items %v, %d bytes of shared memory, extra %#x", kernel, a[4:7],
			a[7], a[10])
		return invalidValue
	}
	sizes, err := f.program.Params(kernel)
	if err != nil {
		f.t.Error(err)
		return notFound
	}
	values := make([]uint64, len(sizes))
	for i, size := range sizes {
		p := *at[uint64](a[9] + uint64(8*i))
		for n, b := range bytesAt(p, uint64(size)) {
			values[i] |= uint64(b) << (8 * n)
		}
	}
	groups, items := [3]int{int(a[1]), int(a[2]), int(a[3])}, int(a[4])
	t := func() error {
		if f.idle {
			return nil
		}
		return f.machine.Launch(kernel, groups, items, values)
	}
	if c := f.captures[a[8]]; c != nil {
		if c.broken {
			return captureInvalidated
		}
		c.tasks = append(c.tasks, t)
		return ok
	}
	f.loaded[a[0]] = true
	return f.later(a[8], t)
}

func (f *fake) recordings(name string, a [11]uint64) int32 {
	switch name {
	case "cuStreamBeginCapture_v2":
		if !f.is("stream", a[0]) || f.captures[a[0]] != nil || a[1] > relaxed {
			return invalidValue
		}
		f.captures[a[0]] = &capture{mode: a[1], thread: syscall.Gettid()}
	case "cuStreamEndCapture":
		c := f.captures[a[0]]
		switch {
		case c == nil:
			return invalidValue
		case c.mode != relaxed && c.thread != syscall.Gettid():
			return captureWrongThread
		}
		delete(f.captures, a[0])
		if c.broken {
			*at[uint64](a[1]) = 0
			return captureInvalidated
		}
		f.graphs[f.made("graph", a[1])] = c.tasks
	case "cuGraphInstantiateWithFlags":
		if !f.is("graph", a[1]) || a[2] != 0 {
			return invalidValue
		}
		f.graphs[f.made("instance", a[0])] = f.graphs[a[1]]
	case "cuGraphDestroy":
		return f.destroy("graph", a[0])
	case "cuGraphExecDestroy":
		return f.destroy("instance", a[0])
	case "cuGraphLaunch":
		if !f.is("instance", a[0]) || !f.is("stream", a[1]) {
			return invalidHandle
		}
		f.queues[a[1]] = append(f.queues[a[1]], f.graphs[a[0]]...)
	default:
		return -1
	}
	return ok
}

// owns reports whether a stream, a module, a kernel or an instance of a graph is of the context of
// the call.
func (f *fake) owns(name string, a [11]uint64) bool {
	handles := map[string][]uint64{"cuLaunchKernel": {a[0], a[8]}, "cuGraphLaunch": {a[0], a[1]},
		"cuStreamSynchronize": {a[0]}, "cuModuleGetFunction": {a[1]}, "cuModuleUnload": {a[0]},
		"cuMemcpyHtoDAsync_v2": {a[3]}, "cuMemcpyDtoHAsync_v2": {a[3]},
		"cuMemcpyDtoDAsync_v2": {a[3]}, "cuStreamDestroy_v2": {a[0]},
		"cuStreamBeginCapture_v2": {a[0]}, "cuStreamEndCapture": {a[0]}}[name]
	for _, handle := range handles {
		if of, known := f.owner[handle]; known && of != f.current {
			f.t.Errorf("%s of %#x in the context of another device", name, handle)
			return false
		}
	}
	return true
}

// mayWait reports whether a call may wait for a stream, or for all of the context, or loads a
// kernel, as a first launch does: what must not be while a stream of the context is captured.
// CUDA's own list is longer or shorter by its version and by the capture's mode; all of it is here.
func (f *fake) mayWait(name string, a [11]uint64) bool {
	switch name {
	case "cuLaunchKernel":
		return !f.loaded[a[0]]
	case "cuStreamSynchronize":
		return f.captures[a[0]] != nil
	case "cuStreamDestroy_v2": // that of a captured stream ends its capture
		return f.captures[a[0]] == nil
	case "cuGraphLaunch":
		return f.captures[a[1]] != nil
	case "cuMemcpyHtoDAsync_v2":
		return f.captures[a[3]] != nil && !f.pinned(a[1], a[2])
	case "cuMemcpyDtoHAsync_v2":
		return f.captures[a[3]] != nil && !f.pinned(a[0], a[2])
	case "cuMemcpyDtoDAsync_v2":
		return f.captures[a[3]] != nil // not in a plan of ours
	case "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap", "cuMemSetAccess",
		"cuMemAddressReserve", "cuMemAddressFree":
		return true
	case "cuMemAllocHost_v2", "cuMemFreeHost":
		return true
	case "cuMemAlloc_v2", "cuMemFree_v2", "cuModuleLoadDataEx", "cuModuleUnload",
		"cuModuleGetFunction", "cuStreamCreate", "cuGraphInstantiateWithFlags", "cuGraphExecDestroy":
		return true
	}
	return false
}

// pinned reports whether bytes of the host's memory are pinned.
func (f *fake) pinned(address, n uint64) bool {
	for first, memory := range f.hosts {
		if address >= first && address+n <= first+8*uint64(len(memory)) {
			return true
		}
	}
	return false
}

// breaks ends what is captured, and reports whether something was. CUDA says so at each later use.
func (f *fake) breaks(name string) bool {
	for _, c := range f.captures {
		c.broken = true
	}
	if len(f.captures) > 0 {
		f.refused = append(f.refused, name)
	}
	return len(f.captures) > 0
}

func (f *fake) destroy(kind string, graph uint64) int32 {
	if !f.is(kind, graph) {
		return invalidHandle
	}
	delete(f.live, graph)
	return ok
}

// left says what is not given back: handles, memory, and contexts of threads.
func (f *fake) left() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.live) + len(f.sizes) + len(f.reserved) + len(f.hosts) + len(f.retained)
	for _, stack := range f.threads {
		n += len(stack)
	}
	return n
}

// mapStep is what sizes are multiples of.
const mapStep = 1 << 16

// A reservation is of addresses, from their first on. What is mapped is without a gap.
type reservation struct {
	size   uint64
	mapped map[uint64]uint64 // sizes of the pieces, by their addresses
}

func (r *reservation) bytes() (n uint64) {
	for _, piece := range r.mapped {
		n += piece
	}
	return n
}

func (f *fake) mapping(name string, a [11]uint64) int32 {
	switch name {
	case "cuMemGetAllocationGranularity":
		if !f.describesMemory(a[1]) || a[2] != 0 {
			return invalidValue
		}
		*at[uint64](a[0]) = mapStep
	case "cuMemAddressReserve":
		if a[1] == 0 || a[1]%mapStep != 0 || a[2] != 0 || a[3] != 0 || a[4] != 0 {
			f.t.Errorf("addresses: %v", a[1:5])
			return invalidValue
		}
		*at[uint64](a[0]) = f.machine.Alloc(0)
		f.reserved[*at[uint64](a[0])] = &reservation{a[1], map[uint64]uint64{}}
	case "cuMemAddressFree":
		r := f.reserved[a[0]]
		if r == nil || r.size != a[1] || len(r.mapped) > 0 {
			f.t.Errorf("addresses %#x are not %d, or have memory", a[0], a[1])
			return invalidValue
		}
		delete(f.reserved, a[0])
		return f.freed(a[0])
	case "cuMemCreate":
		if !f.describesMemory(a[2]) || a[1] == 0 || a[1]%mapStep != 0 || a[3] != 0 {
			f.t.Errorf("memory of %d bytes", a[1])
			return invalidValue
		}
		if f.used+a[1] > f.memory {
			return outOfMemory
		}
		f.used += a[1]
		f.created[f.made("memory", a[0])] = a[1]
	case "cuMemRelease":
		if !f.is("memory", a[0]) {
			return invalidHandle
		}
		delete(f.live, a[0])
		f.used -= f.created[a[0]] // 0 if it is mapped: then it goes with that
		delete(f.created, a[0])
	case "cuMemMap":
		return f.mapMemory(a)
	case "cuMemSetAccess":
		want := [3]int32{1, f.device32(), 3}
		if _, r := f.rangeOf(a[0]); r == nil || *at[[3]int32](a[2]) != want || a[3] != 1 {
			f.t.Errorf("access %v to %#x", *at[[3]int32](a[2]), a[0])
			return invalidValue
		}
	case "cuMemUnmap":
		return f.unmapMemory(a)
	default:
		return -1
	}
	return ok
}

// describesMemory checks a CUmemAllocationProp: 32 bytes.
func (f *fake) describesMemory(prop uint64) bool {
	p := *at[[8]int32](prop)
	if p != [8]int32{1, 0, 1, f.device32()} {
		f.t.Errorf("memory is described as %v", p)
		return false
	}
	return true
}

// device32 is the device of the call's context.
func (f *fake) device32() int32 { return int32(f.current - primary(0)) }

// rangeOf finds the reservation of an address.
func (f *fake) rangeOf(address uint64) (first uint64, r *reservation) {
	for first, r := range f.reserved {
		if address >= first && address < first+r.size {
			return first, r
		}
	}
	return 0, nil
}

func (f *fake) mapMemory(a [11]uint64) int32 {
	first, r := f.rangeOf(a[0])
	if r == nil || !f.is("memory", a[3]) || f.created[a[3]] != a[1] || a[2] != 0 || a[4] != 0 ||
		a[0] != first+r.bytes() || r.bytes()+a[1] > r.size {
		f.t.Errorf("%d bytes to %#x", a[1], a[0])
		return invalidValue
	}
	f.created[a[3]] = 0
	r.mapped[a[0]] = a[1]
	if err := f.machine.Extend(first, int(r.bytes())); err != nil {
		f.t.Error(err)
	}
	return ok
}

// unmapMemory takes memory away, which nothing may use any more.
func (f *fake) unmapMemory(a [11]uint64) int32 {
	for _, queue := range f.queues {
		if len(queue) > 0 {
			f.t.Error("memory is unmapped while launches that may use it are unfinished")
		}
	}
	_, r := f.rangeOf(a[0])
	if r == nil {
		f.t.Errorf("%#x is not mapped", a[0])
		return invalidValue
	}
	if n, found := r.mapped[a[0]]; found && n == a[1] {
		delete(r.mapped, a[0])
		f.used -= n
		return ok
	}
	f.t.Errorf("%d bytes at %#x are not a piece", a[1], a[0])
	return invalidValue
}

func (f *fake) freed(address uint64) int32 {
	if err := f.machine.Free(address); err != nil {
		f.t.Error(err)
		return invalidValue
	}
	return ok
}
