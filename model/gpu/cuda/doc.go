// Package cuda runs the kernels of package gpu on NVIDIA's GPUs, from Volta on. The driver's own
// library is loaded when Devices is called; neither cgo nor NVIDIA's toolkit is needed. A program
// that imports this package is linked dynamically on Linux.
//
//	devices, err := cuda.Devices()
//	m, err := model.New(ctx, config, tensors, model.Options{Device: devices[0]})
package cuda
