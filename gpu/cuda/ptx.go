package cuda

// The kernels as PTX, which the driver of any GPU since Volta compiles when they are loaded.

import _ "embed"

// kernels is what `make ptx` made of gpu/kernels. Its first line is their sum.
//
//go:embed gpt2.ptx
var kernels string

// PTX returns the kernels as this package gives them to a device, for tests and the curious.
func PTX() string { return kernels }
