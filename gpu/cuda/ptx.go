package cuda

// The kernels as PTX, which the driver of any GPU since Volta compiles when it loads them.

import _ "embed"

// kernels is what `make ptx` made of gpu/kernels. Its first line has a checksum of the sources.
//
//go:embed gpt2.ptx
var kernels string

// PTX returns the PTX that this package loads, for tests.
func PTX() string { return kernels }
