// Package opencl finds GPUs by OpenCL 1.2, which nearly every vendor's driver has, and pocl on
// processors. The system's library is loaded when Devices is called; there is no cgo. A program
// that imports this package is linked dynamically on Linux.
//
//	devices, err := opencl.Devices()
//	m, err := model.New(ctx, config, tensors, model.Options{Device: devices[0]})
package opencl
