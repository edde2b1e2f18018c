package opencl

// The functions of OpenCL's library, which are found when it is loaded, and their results.

import (
	"fmt"
	"runtime"
	"unsafe"

	"picogpt/model/gpu/internal/dl"
)

// A library has the address of each function that is used.
type library struct {
	getPlatformIDs, getPlatformInfo, getDeviceIDs, getDeviceInfo uintptr

	createContext, createQueue, createProgram, buildProgram, getBuildInfo uintptr
	createKernel, setArg, launch, createBuffer, write, read, copy, flush  uintptr

	releaseBuffer, releaseKernel, releaseProgram, releaseQueue, releaseContext uintptr
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
	for name, address := range map[string]*uintptr{
		"clGetPlatformIDs": &l.getPlatformIDs, "clGetPlatformInfo": &l.getPlatformInfo,
		"clGetDeviceIDs": &l.getDeviceIDs, "clGetDeviceInfo": &l.getDeviceInfo,
		"clCreateContext": &l.createContext, "clCreateCommandQueue": &l.createQueue,
		"clCreateProgramWithSource": &l.createProgram, "clBuildProgram": &l.buildProgram,
		"clGetProgramBuildInfo": &l.getBuildInfo, "clCreateKernel": &l.createKernel,
		"clSetKernelArg": &l.setArg, "clEnqueueNDRangeKernel": &l.launch,
		"clCreateBuffer": &l.createBuffer, "clEnqueueWriteBuffer": &l.write,
		"clEnqueueReadBuffer": &l.read, "clEnqueueCopyBuffer": &l.copy, "clFlush": &l.flush,
		"clReleaseMemObject": &l.releaseBuffer, "clReleaseKernel": &l.releaseKernel,
		"clReleaseProgram": &l.releaseProgram, "clReleaseCommandQueue": &l.releaseQueue,
		"clReleaseContext": &l.releaseContext,
	} {
		if *address, err = handle.Function(name); err != nil {
			return nil, fmt.Errorf("OpenCL: no function %s, want OpenCL 1.2", name)
		}
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
func call(name string, function uintptr, args ...uintptr) error {
	return check(name, int32(dl.Call(function, args...)))
}

// create calls a function that returns a handle and writes its code to *code, its last argument.
//
//go:uintptrescapes
func create(name string, function uintptr, code *int32, args ...uintptr) (uintptr, error) {
	handle := dl.Call(function, args...)
	if err := check(name, *code); err != nil {
		return 0, err
	}
	if handle == 0 {
		return 0, fmt.Errorf("%s: no handle", name)
	}
	return handle, nil
}

func check(name string, code int32) error {
	if code == 0 {
		return nil
	}
	return codeError{name, code}
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
