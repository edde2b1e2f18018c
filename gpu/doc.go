// Package gpu computes a model on a GPU, to the same bits as the processor.
//
// The kernels are one source, gpu/kernels, which follows the orders of the Go package kernels. A
// [Driver] compiles and runs it: package gpu/opencl or gpu/cuda.
package gpu
