package quote

// Numbers as people read them: counts, sizes in bytes, durations and rates. Sizes as flags take them
// (1000000, 512MiB, 2GB).

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/alecthomas/units"
)

// Count writes a number of things: "1 token", "2 tokens".
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Rate returns how many a second n in d are.
func Rate(n int, d time.Duration) float64 { return float64(n) / max(d.Seconds(), 1e-9) }

// Duration writes a duration with three digits or so.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// Sizes in bytes: as flags take them (1000000, 512MiB, 2GB), and as they are shown.

// A Bytes is a number of bytes.
type Bytes int64

// UnmarshalText reads a whole number of bytes, or a number with a unit: KB, MB, GB are powers of
// 1000, KiB, MiB, GiB of 1024.
func (s *Bytes) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		n, err = units.ParseStrictBytes(string(text))
	}
	if err != nil || n < 0 || n == math.MaxInt64 {
		return fmt.Errorf("%s: want bytes, as in 1000000, 512MiB or 2GB", Short(string(text), 40))
	}
	*s = Bytes(n)
	return nil
}

// Size writes a number of bytes with three digits.
func Size(n int64) string {
	x, unit := float64(n), "B"
	for _, next := range []string{"kB", "MB", "GB"} {
		if x < 999.5 {
			break
		}
		x, unit = x/1000, next
	}
	digits := 0
	if unit != "B" && x < 99.95 {
		digits = 1
		if x < 9.995 {
			digits = 2
		}
	}
	return fmt.Sprintf("%.*f %s", digits, x, unit)
}

// LongSize writes a number of bytes with up to four digits.
func LongSize(n int64) string {
	x := float64(n)
	for _, unit := range []string{"B", "kB", "MB"} {
		if x < 1000 {
			return fmt.Sprintf("%.4g %s", x, unit)
		}
		x /= 1000
	}
	return fmt.Sprintf("%.4g GB", x)
}
