//go:build linux && (amd64 || arm64)

package cuda

// A driver library for tests. The C compiler makes it from testdata/libcuda.c, so that each
// function finds its arguments where cuda.h says. Its functions are here and strict: contexts of
// threads, kinds of handles, queues that run late, and kernels on the interpreter.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"picogpt/dev/ptx"
	"picogpt/model/gpu/internal/dl"
)

type fake struct {
	t       *testing.T
	program *ptx.Program
	mu      sync.Mutex
	*state
}

type state struct {
	machine *ptx.Machine
	idle    bool // computes nothing: what is read is 0

	version, devices int32
	major            int32 // compute capability
	memory           uint64
	module           string // the text that was loaded last

	failAt int  // the call that fails, from 1
	lost   bool // and so do all after it

	refuse   int // the request for memory that is refused, from 1
	requests int
	failed   string // its function

	calls    int
	count    map[string]int
	ready    bool              // cuInit was called
	retained map[uint64]int    // times that each primary context is held
	owner    map[uint64]uint64 // the context in which each buffer and handle was made
	used     uint64            // bytes of memory
	sizes    map[uint64]uint64 // of buffers
	reserved map[uint64]*reservation
	created  map[uint64]uint64   // sizes of memory, 0 where it is mapped
	hosts    map[uint64][]uint64 // memory of the host that is pinned, by its address
	unmapped bool                // the device has no memory that is mapped
	current  uint64              // the context of the call
	next     uint64              // handle
	live     map[uint64]string   // handles, and what they are
	kernels  map[uint64]loaded
	threads  map[int][]uint64    // contexts of each thread, the current one last
	loaded   map[uint64]bool     // kernels that have been launched
	queues   map[uint64][]task   // of each stream: what has not run yet
	captures map[uint64]*capture // of each stream that is captured
	graphs   map[uint64][]task
	refused  []string // what was called while a stream was captured, and must not be
	texts    [][]byte // that the caller has pointers to
	broken   int32    // the code of what went wrong on the device: all later calls return it
}

// A loaded kernel is of a module.
type loaded struct {
	name   string
	module uint64
}

// A capture is what a stream was told to do since its capture began.
type capture struct {
	mode   uint64
	thread int
	broken bool // by a call that must not be made meanwhile
	tasks  []task
}

// A task is something that a stream does in its turn.
type task func() error

// Codes of cuda.h.
const (
	ok                 = 0
	invalidValue       = 1
	notInitialized     = 3
	noDevice           = 100
	invalidContext     = 201
	invalidPTX         = 218
	invalidHandle      = 400
	notFound           = 500
	illegalAddress     = 700
	captureUnsupported = 900
	captureInvalidated = 901
	captureWrongThread = 908
)

// primary is the primary context of a device.
func primary(device uint64) uint64 { return 0xc0ffee00 + device }

func newFake(t *testing.T) *fake {
	t.Helper()
	p, err := ptx.Parse(kernels80)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, program: p, state: new(state)}
	f.reset()
	return f
}

// reset makes the fake as new. The library stays: a process has a bounded number of callbacks.
func (f *fake) reset() {
	*f.state = state{
		machine: ptx.NewMachine(f.program, 1),
		version: 12040, devices: 1, major: 9, memory: 1 << 30,
		count: map[string]int{}, sizes: map[uint64]uint64{}, reserved: map[uint64]*reservation{},
		created: map[uint64]uint64{}, hosts: map[uint64][]uint64{}, retained: map[uint64]int{}, owner: map[uint64]uint64{}, next: 0xbead0000,
		live: map[uint64]string{}, kernels: map[uint64]loaded{}, threads: map[int][]uint64{},
		queues: map[uint64][]task{}, captures: map[uint64]*capture{}, graphs: map[uint64][]task{},
		loaded: map[uint64]bool{},
	}
}

var compiled = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "libcuda")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, "libcuda.so")
	const source = "testdata/libcuda.c"
	gcc := exec.Command("gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", to, source)
	out, err := gcc.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("gcc: %w: %s", err, out)
	}
	return os.ReadFile(to)
})

// file returns the path of a library that is this fake. Each has a file of its own, so that the
// system's loader does not take two for one.
func (f *fake) file() string {
	f.t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		f.t.Skip(err)
	}
	code, err := compiled()
	if err != nil {
		f.t.Fatal(err)
	}
	path := filepath.Join(f.t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(path, code, 0o755); err != nil {
		f.t.Fatal(err)
	}
	handle, err := dl.Open(path)
	if err != nil {
		f.t.Fatal(err)
	}
	connect, err := handle.Function("stub_connect")
	if err != nil {
		f.t.Fatal(err)
	}
	dl.Call(connect, purego.NewCallback(func(name, args uintptr) uintptr {
		return uintptr(f.call(cString(uint64(name)), *at[[11]uint64](uint64(args))))
	}))
	return path
}

// direct returns a library whose functions are this fake without a C compiler between.
func (f *fake) direct() *library {
	f.t.Helper()
	l := &library{}
	_, err := dl.Find(l, "cu", func(symbol string) (uintptr, error) {
		return purego.NewCallback(
			func(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10 uintptr) uintptr {
				return uintptr(f.call(symbol, [11]uint64{uint64(a0), uint64(a1), uint64(a2),
					uint64(a3), uint64(a4), uint64(a5), uint64(a6), uint64(a7), uint64(a8),
					uint64(a9), uint64(a10)}))
			}), nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// at is what an address points to.
func at[T any](address uint64) *T { return *(**T)(unsafe.Pointer(&address)) }

func bytesAt(address, n uint64) []byte { return unsafe.Slice(at[byte](address), n) }

func cString(address uint64) string {
	n := uint64(0)
	for *at[byte](address + n) != 0 {
		n++
	}
	return string(bytesAt(address, n))
}

// made makes a handle.
func (f *fake) made(kind string, to uint64) uint64 {
	f.next += 16
	f.live[f.next] = kind
	f.owner[f.next] = f.current
	*at[uint64](to) = f.next
	return f.next
}

// is reports whether a handle is of a kind.
func (f *fake) is(kind string, handle uint64) bool {
	if f.live[handle] == kind {
		return true
	}
	f.t.Errorf("handle %#x is %q, want %q", handle, f.live[handle], kind)
	return false
}

// call is a call of the library.
func (f *fake) call(name string, a [11]uint64) int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch name {
	case "cuDriverGetVersion":
		*at[int32](a[0]) = f.version
		return ok
	case "cuGetErrorName", "cuGetErrorString":
		return f.describe(name, int32(a[0]), a[1])
	}
	f.calls++
	f.count[name]++
	if f.failAt > 0 && (f.calls == f.failAt || f.lost && f.calls > f.failAt) {
		if f.calls == f.failAt {
			f.failed = name
		}
		return illegalAddress
	}
	code := f.withoutContext(name, a)
	if code >= 0 {
		return code
	}
	stack := f.threads[syscall.Gettid()]
	if len(stack) == 0 || f.retained[stack[len(stack)-1]] == 0 {
		f.t.Errorf("%s without a context on this thread", name)
		return invalidContext
	}
	if f.broken != 0 {
		return f.broken
	}
	if f.current = stack[len(stack)-1]; !f.owns(name, a) {
		return invalidHandle
	}
	switch name {
	case "cuMemAlloc_v2", "cuMemCreate", "cuMemAllocHost_v2":
		if f.requests++; f.requests == f.refuse {
			return outOfMemory
		}
	}
	if f.mayWait(name, a) && f.breaks(name) {
		return captureUnsupported
	}
	for _, part := range []func(string, [11]uint64) int32{f.modules, f.buffers, f.mapping,
		f.streams, f.recordings} {
		if code := part(name, a); code >= 0 {
			return code
		}
	}
	f.t.Errorf("%s is not known", name)
	return notFound
}

func (f *fake) describe(name string, code int32, to uint64) int32 {
	said := map[int32]string{
		outOfMemory: "CUDA_ERROR_OUT_OF_MEMORY", noDevice: "CUDA_ERROR_NO_DEVICE",
		invalidPTX: "CUDA_ERROR_INVALID_PTX", illegalAddress: "CUDA_ERROR_ILLEGAL_ADDRESS",
		captureUnsupported: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
		captureInvalidated: "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
	}[code]
	if said == "" {
		return invalidValue
	}
	if name == "cuGetErrorString" {
		said = "what " + said + " means"
	}
	f.texts = append(f.texts, append([]byte(said), 0))
	*at[*byte](to) = &f.texts[len(f.texts)-1][0]
	return ok
}

// withoutContext is what needs no context. It returns -1 for other functions.
func (f *fake) withoutContext(name string, a [11]uint64) int32 {
	if name == "cuInit" {
		f.ready = a[0] == 0 && f.devices > 0
		if f.devices == 0 {
			return noDevice
		}
		return ok
	}
	if !f.ready {
		f.t.Errorf("%s before cuInit", name)
		return notInitialized
	}
	thread := syscall.Gettid()
	switch name {
	case "cuDeviceGetCount":
		*at[int32](a[0]) = f.devices
	case "cuDeviceGet":
		*at[int32](a[0]) = int32(a[1]) + 7 // a device is no ordinal
	case "cuDeviceGetName":
		copy(bytesAt(a[0], a[1]), "Fake GPU\x00")
	case "cuDeviceTotalMem_v2":
		*at[uint64](a[0]) = f.memory
	case "cuDeviceGetAttribute":
		v, known := map[uint64]int32{1: 1024, 8: 48 << 10, 20: 0, 33: 0x18, 34: 1, 50: 0,
			75: f.major, 76: 0, 102: 1}[a[1]]
		if a[1] == 102 && f.unmapped {
			v = 0
		}
		if !known || a[2] < 7 || a[2] >= 7+uint64(f.devices) {
			f.t.Errorf("attribute %d of device %d", a[1], a[2])
			return invalidValue
		}
		*at[int32](a[0]) = v
	case "cuDevicePrimaryCtxRetain":
		*at[uint64](a[0]) = primary(a[1])
		f.retained[primary(a[1])]++
	case "cuDevicePrimaryCtxRelease_v2":
		if f.retained[primary(a[0])]--; f.retained[primary(a[0])] == 0 {
			delete(f.retained, primary(a[0]))
		}
	case "cuCtxPushCurrent_v2":
		if f.retained[a[0]] == 0 {
			f.t.Errorf("context %#x", a[0])
			return invalidContext
		}
		f.threads[thread] = append(f.threads[thread], a[0])
	case "cuCtxPopCurrent_v2":
		stack := f.threads[thread]
		if len(stack) == 0 {
			f.t.Error("a thread without a context gives one back")
			return invalidContext
		}
		*at[uint64](a[0]) = stack[len(stack)-1]
		f.threads[thread] = stack[:len(stack)-1]
	default:
		return -1
	}
	return ok
}

func (f *fake) modules(name string, a [11]uint64) int32 {
	switch name {
	case "cuModuleLoadDataEx":
		if text := cString(a[1]); text != kernels && (text != kernels80 || f.major < 8) {
			_, err := ptx.Parse(text)
			if a[2] == 2 && *at[[2]int32](a[3]) == [2]int32{5, 6} {
				values := at[[2]uint64](a[4])
				copy(bytesAt(values[0], values[1]), fmt.Sprintf("ptxas error: %v\nmore\x00", err))
			}
			return invalidPTX
		}
		f.module = cString(a[1])
		f.made("module", a[0])
	case "cuModuleUnload":
		if !f.is("module", a[0]) {
			return invalidHandle
		}
		delete(f.live, a[0])
		for handle, kernel := range f.kernels {
			if kernel.module == a[0] {
				delete(f.kernels, handle)
			}
		}
	case "cuModuleGetFunction":
		kernel := cString(a[2])
		if _, err := f.program.Params(kernel); err != nil || !f.is("module", a[1]) {
			return notFound
		}
		handle := f.made("kernel", a[0])
		delete(f.live, handle) // it goes with its module
		f.kernels[handle] = loaded{kernel, a[1]}
	default:
		return -1
	}
	return ok
}
