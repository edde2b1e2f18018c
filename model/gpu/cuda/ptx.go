package cuda

// The kernels as PTX, which the driver compiles when it loads them: for any GPU since Volta, and
// for GPUs since Ampere, which multiply matrices of integers. Both give the same bits.

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"sync"
)

// What `make ptx` made of model/gpu/kernels, compressed with gzip. The first line has a checksum of
// the sources.
var (
	//go:embed gpt2.ptx.gz
	packed []byte
	//go:embed gpt2_sm80.ptx.gz
	packed80 []byte
)

// unpacked returns the text of one of them, and unpacks it when it is first needed. What is embedded
// cannot be damaged: tests read all of it.
func unpacked(packed []byte) func() string {
	return sync.OnceValue(func() string {
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return err.Error() // which no driver compiles
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err.Error()
		}
		return string(text)
	})
}

var unpack, unpack80 = unpacked(packed), unpacked(packed80)

// kernelsOf returns the PTX for devices of a compute capability, of which it gets the first number.
func kernelsOf(major int32) string {
	if major >= 8 {
		return PTX80()
	}
	return PTX()
}

// PTX returns the PTX that this package loads on any device, and PTX80 what it loads in its place
// from compute capability 8.0 on, for tests.
func PTX() string   { return unpack() }
func PTX80() string { return unpack80() }
