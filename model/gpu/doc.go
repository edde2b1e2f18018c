// Package gpu computes a model on a GPU, to the same bits as the processor.
//
// A [Driver] allocates memory and runs the kernels: package gpu/opencl or gpu/cuda. Their function
// Devices returns the values for model.Options.Device. Package gpu/drivers has both.
//
//	devices, err := opencl.Devices()
//	m, err := model.New(ctx, config, tensors, model.Options{Device: devices[0]})
//
// A device is probed when a model is opened on it. A device that does not round as IEEE 754
// requires, or computes other logits than the processor for a small model, is refused; the error
// names what it lacks. If a device fails later, each session is as it was; the model must then be
// opened again.
//
// Begin with forward.go, which has a transformer block as operations. operations.go has the
// launches of each operation, and gpu/kernels/gpt2.cl lists the files with the kernels, which
// compute in the orders of the Go package kernels. pool.go and cache.go are the pages of keys and
// values, and grow.go and room.go how they share the memory; plan.go has what the host tells the
// device about a pass; recorded.go turns a small pass into one launch; best.go reads only the best
// logits, if no others decide.
package gpu
