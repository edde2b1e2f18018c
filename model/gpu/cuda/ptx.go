package cuda

// The kernels as PTX, which the driver compiles when it loads them: for any GPU since Volta, and
// for GPUs since Ampere, which multiply matrices of integers. Both give the same bits.

import _ "embed"

// kernels and kernels80 are what `make ptx` made of gpu/kernels. Their first line has a checksum of
// the sources.
var (
	//go:embed gpt2.ptx
	kernels string
	//go:embed gpt2_sm80.ptx
	kernels80 string
)

// kernelsOf returns the PTX for devices of a compute capability, of which it gets the first number.
func kernelsOf(major int32) string {
	if major >= 8 {
		return kernels80
	}
	return kernels
}

// PTX returns the PTX that this package loads on any device, and PTX80 what it loads in its place
// from compute capability 8.0 on, for tests.
func PTX() string   { return kernels }
func PTX80() string { return kernels80 }
