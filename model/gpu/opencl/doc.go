// Package opencl finds GPUs with OpenCL 1.2, which nearly every vendor's driver supports, and pocl
// on processors. The system's library is loaded when Devices is called, without cgo. A program that
// imports this package is linked dynamically on Linux.
//
//	devices, err := opencl.Devices()
//	m, err := model.New(ctx, config, tensors, model.Options{Device: devices[0]})
package opencl
