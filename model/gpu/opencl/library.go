package opencl

// The functions of OpenCL's library, which are found when it is loaded, and their results.

import (
	"fmt"
	"runtime"
	"unsafe"

	"picogpt/model/gpu/internal/dl"
)

type function = dl.Function

// A library holds the functions that this package uses, by their names without cl.
type library struct {
	getPlatformIDs, getPlatformInfo, getDeviceIDs, getDeviceInfo             function
	createContext, createCommandQueue, createProgramWithSource, buildProgram function
	getProgramBuildInfo, createKernel, setKernelArg, enqueueNDRangeKernel    function
	createBuffer, enqueueWriteBuffer, enqueueReadBuffer, enqueueCopyBuffer   function
	releaseMemObject, releaseKernel, releaseProgram, releaseCommandQueue     function
	releaseContext                                                           function
}

// libraryNames returns the names of OpenCL's library on this system.
func libraryNames() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{"OpenCL.dll"}
	case "darwin":
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	return []string{"libOpenCL.so.1", "libOpenCL.so"}
}

// load loads OpenCL under one of these names. There is none if neither a GPU driver nor pocl is
// installed.
func load(names ...string) (*library, error) {
	handle, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("no OpenCL: %w", err)
	}
	var l library
	if missing, err := dl.Find(&l, "cl", handle.Function); err != nil {
		return nil, fmt.Errorf("OpenCL: no function %s, want OpenCL 1.2", missing)
	}
	return &l, nil
}

// A pointer is converted to uintptr in the arguments of call and create, or points into a driver,
// which is on the heap and does not move.
type pointer = unsafe.Pointer

// call calls a function that returns a code. Memory behind arguments does not move until the
// function returns, if they are converted to uintptr in the call itself.
//
//go:uintptrescapes
func call(f *function, args ...uintptr) error {
	return check(f, int32(dl.Call(f.Address, args...)))
}

// create calls a function that returns a handle and writes its code to *code, its last argument.
//
//go:uintptrescapes
func create(f *function, code *int32, args ...uintptr) (uintptr, error) {
	handle := dl.Call(f.Address, args...)
	if err := check(f, *code); err != nil {
		return 0, err
	}
	if handle == 0 {
		return 0, fmt.Errorf("%s: no handle", f.Name)
	}
	return handle, nil
}

func check(f *function, code int32) error {
	if code == 0 {
		return nil
	}
	return codeError{f.Name, code}
}

// A codeError is an error code that a function of OpenCL returned.
type codeError struct {
	name string
	code int32
}

func (e codeError) Error() string {
	if meaning, ok := meanings[e.code]; ok {
		return fmt.Sprintf("%s: error %d, %s", e.name, e.code, meaning)
	}
	return fmt.Sprintf("%s: error %d", e.name, e.code)
}

// meanings has texts for the codes that a user can act on.
var meanings = map[int32]string{
	-1: "no device found", -2: "the device is not available", -3: "it has no compiler",
	-4: "no memory left on the device", -5: "no resources left on the device",
	-6: "no memory left on the host", -11: "the program does not build", -36: "the queue is lost",
	-54: "too many work items in a group", -61: "the buffer is too large",
	platformNotFound: "no platform found",
}

const platformNotFound = -1001
