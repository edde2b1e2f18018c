package batch

import (
	"math"
	"testing"
	"time"
)

// TestTheRateIsThatOfAFullBatch: rounds in which a slot is free, and the pause after them, tell
// nothing.
func TestTheRateIsThatOfAFullBatch(t *testing.T) {
	var r rate
	now, done := time.Unix(0, 0), int64(0)
	round := func(took time.Duration, tokens int64, full bool) {
		now, done = now.Add(took), done+tokens
		r.observe(now, done, full)
	}
	is := func(about string, want float64) {
		t.Helper()
		if got := r.perSecond(); math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: %v tokens/s, want %v", about, got, want)
		}
	}
	for range 10 {
		round(time.Second, 1, false)
	}
	is("with free slots", 0)
	round(time.Second, 1000, true)
	is("after the first full round, whose beginning nobody saw", 0)
	for range leastRounds - 1 {
		round(time.Second, 100, true)
	}
	is("too few full rounds", 0)
	round(time.Second, 100, true)
	is("rounds of 100", 100)
	round(time.Hour, 0, false)
	is("an hour's pause", 100)
	round(time.Hour, 0, true)
	is("the first round after it", 100)
	for range 20 * remembered {
		round(time.Second/2, 8, true)
	}
	is("many rounds of 16 a second", 16)
}
