package main

// Sizes in bytes, as flags take them: 1000000, 512MiB, 2GB.

import (
	"fmt"
	"math"
	"strconv"

	"github.com/alecthomas/units"
)

// A byteSize is a number of bytes.
type byteSize int64

// UnmarshalText reads a whole number of bytes, or a number with a unit: KB, MB, GB are powers of
// 1000, KiB, MiB, GiB of 1024.
func (s *byteSize) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		n, err = units.ParseStrictBytes(string(text))
	}
	if err != nil || n < 0 || n == math.MaxInt64 {
		return fmt.Errorf("%s: want bytes, as in 1000000, 512MiB or 2GB", quoteShort(string(text)))
	}
	*s = byteSize(n)
	return nil
}
