// Package gpu computes a model on a GPU, to the same bits as the processor.
//
// A [Driver] gives memory and runs the kernels: package gpu/opencl or gpu/cuda, whose function
// Devices returns what model.Options.Device takes. Package gpu/drivers is both.
//
//	devices, err := opencl.Devices()
//	m, err := model.New(ctx, config, tensors, model.Options{Device: devices[0]})
//
// A device is probed when a model is opened on it. One that does not round as IEEE 754 says, or
// computes other logits than the processor for a small model, is refused with what it lacks. A
// device that fails later leaves each session as it was; the model must then be opened again.
//
// Begin with forward.go: a transformer block, as operations. operations.go launches a kernel or a
// few for each, and gpu/kernels/gpt2.cl names the files that have them, in the orders of the Go
// package kernels. pool.go and cache.go are the pages of keys and values, plan.go what the host
// tells the device of a pass, recorded.go how a small pass becomes one launch, best.go what of the
// logits the host reads where their greatest decide.
package gpu
