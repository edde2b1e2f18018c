package quote

// Numbers as people read them: counts, sizes in bytes, durations and rates.

import (
	"fmt"
	"time"
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
