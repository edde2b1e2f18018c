package cuda

// The functions of NVIDIA's driver library, and their results; and the kernels as PTX, which the
// driver compiles when it loads them.

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"unsafe"

	"picogpt/model/gpu/internal/dl"
)

type function = dl.Function

// A library holds the functions that this package uses, by their names without cu.
type library struct {
	driverGetVersion, getErrorName, getErrorString, init           function
	deviceGetCount, deviceGet, deviceGetName, deviceGetAttribute   function
	devicePrimaryCtxRetain                                         function
	deviceTotalMem, devicePrimaryCtxRelease                        function `version:"_v2"`
	ctxPushCurrent, ctxPopCurrent                                  function `version:"_v2"`
	moduleLoadDataEx, moduleUnload, moduleGetFunction              function
	memAlloc, memFree, memGetInfo, memAllocHost                    function `version:"_v2"`
	memcpyHtoDAsync, memcpyDtoHAsync, memcpyDtoDAsync              function `version:"_v2"`
	memFreeHost                                                    function
	memGetAllocationGranularity, memAddressReserve, memAddressFree function
	memCreate, memRelease, memMap, memUnmap, memSetAccess          function
	streamCreate, streamSynchronize, streamEndCapture              function
	streamDestroy, streamBeginCapture                              function `version:"_v2"`
	launchKernel, graphInstantiateWithFlags, graphDestroy          function
	graphLaunch, graphExecDestroy                                  function
}

// oldest is the first version of CUDA that has all of these functions, in the library's numbers:
// 11.4.
const oldest = 11040

func version(v int32) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// libraryNames returns the names of the driver's library on this system.
func libraryNames() []string {
	switch runtime.GOOS {
	case "linux":
		return []string{"libcuda.so.1", "libcuda.so"}
	case "windows":
		return []string{"nvcuda.dll"}
	}
	return nil
}

// load finds the library and its functions, and starts it.
func load(names ...string) (*library, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("no CUDA: NVIDIA has no driver for %s", runtime.GOOS)
	}
	handle, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("no CUDA: %w", err)
	}
	var l library
	get := &l.driverGetVersion
	if get.Address, err = handle.Function("cuDriverGetVersion"); err != nil {
		return nil, errors.New("no CUDA: the library has no function cuDriverGetVersion")
	}
	var v int32
	if dl.Call(get.Address, uintptr(unsafe.Pointer(&v))) != 0 || v < oldest {
		return nil, fmt.Errorf("no CUDA: the driver is of CUDA %s, want %s or later", version(v),
			version(oldest))
	}
	if missing, err := dl.Find(&l, "cu", handle.Function); err != nil {
		return nil, fmt.Errorf("no CUDA: the driver, of CUDA %s, has no function %s", version(v),
			missing)
	}
	if err := l.call(&l.init, 0); err != nil {
		return nil, fmt.Errorf("no CUDA: %w", err)
	}
	return &l, nil
}

// call calls a function that returns a code, which is an error if it is not 0. Pointers must be
// converted to uintptr in the arguments of the call, so that they stay valid.
//
//go:uintptrescapes
func (l *library) call(f *function, args ...uintptr) error {
	if code := int32(dl.Call(f.Address, args...)); code != 0 {
		return &codeError{f.Name, code, l.describe(&l.getErrorName, code),
			l.describe(&l.getErrorString, code)}
	}
	return nil
}

// describe returns the library's text for a code, or "".
func (l *library) describe(f *function, code int32) string {
	var text *byte // the library's memory
	if dl.Call(f.Address, uintptr(code), uintptr(unsafe.Pointer(&text))) != 0 || text == nil {
		return ""
	}
	n := 0
	for n < 200 && *(*byte)(unsafe.Add(unsafe.Pointer(text), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(text, n))
}

// Codes of the library that this package distinguishes.
const (
	outOfMemory  = 2
	notSupported = 801
)

// A codeError is an error code that a function of the library returned.
type codeError struct {
	function   string
	code       int32
	name, text string // for example CUDA_ERROR_OUT_OF_MEMORY, "out of memory"
}

func (e *codeError) Error() string {
	if e.name == "" {
		return fmt.Sprintf("%s: error %d", e.function, e.code)
	}
	return fmt.Sprintf("%s: %s (%d), %s", e.function, e.name, e.code, e.text)
}

// What `make ptx` made of model/gpu/kernels, compressed with gzip: for any GPU since Volta, and for
// GPUs since Ampere, which multiply matrices of integers. Both give the same bits. The first line
// has a checksum of the sources.
var (
	//go:embed gpt2.ptx.gz
	packed []byte
	//go:embed gpt2_sm80.ptx.gz
	packed80 []byte
)

// unpacked returns the text of one of them, and unpacks it when it is first needed. What is
// embedded cannot be damaged: tests read all of it.
func unpacked(packed []byte) func() string {
	return sync.OnceValue(func() string {
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return err.Error() // which no driver compiles
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err.Error()
		}
		return string(text)
	})
}

var unpack, unpack80 = unpacked(packed), unpacked(packed80)

// kernelsOf returns the PTX for devices of a compute capability, of which it gets the first number.
func kernelsOf(major int32) string {
	if major >= 8 {
		return PTX80()
	}
	return PTX()
}

// PTX returns the PTX that this package loads on any device, and PTX80 what it loads in its place
// from compute capability 8.0 on, for tests.
func PTX() string   { return unpack() }
func PTX80() string { return unpack80() }
