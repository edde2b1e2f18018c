// Package cuda runs the kernels of package gpu on NVIDIA's GPUs, through the driver's own library,
// which is loaded when the program runs.
package cuda
