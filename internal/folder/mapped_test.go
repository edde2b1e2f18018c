package folder

import (
	"bytes"
	"runtime"
	"testing"
)

// What is kept is memory as any other, and on Linux the collector does not count it.
func TestKeptMemoryIsNotInTheHeap(t *testing.T) {
	const n = 64<<20 + 1
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b := Kept(n)
	runtime.ReadMemStats(&after)
	if len(b) != n || b[0] != 0 || b[n-1] != 0 {
		t.Errorf("%d bytes, the first %d, the last %d, want %d of 0", len(b), b[0], b[n-1], n)
	}
	b[n-1] = 1
	if got := bytes.IndexByte(b, 1); got != n-1 {
		t.Errorf("the first 1 is at %d, want it where it was written, at %d", got, n-1)
	}
	grown := after.TotalAlloc - before.TotalAlloc
	if runtime.GOOS == "linux" && grown > 1<<20 {
		t.Errorf("the heap has %d bytes more, want none of the %d", grown, n)
	}
}
