//go:build (linux || darwin || windows) && (amd64 || arm64)

package opencl

import (
	"encoding/binary"
	"testing"

	"picogpt/model/gpu"
)

// branches has a branch on an item's number directly after a barrier in a loop, which the compiler
// knows from before the barrier: whether the first of an item's numbers is one of n. It stores 2 for
// each of the first n numbers, and 1 for the others.
const branches = `
KERNEL void branches(GLOBAL int *out, int n, int rounds) {
	SHARED int of[1024], other[256];
	for (int r = 0; r < rounds; r++) {
		other[ITEM] = 0;
		for (int k = 0; k < 4; k++) of[k * 256 + ITEM] = 1;
		if (ITEM < n) other[ITEM] = r;
		BARRIER;
		if (ITEM < 16) other[ITEM] = 1;
		BARRIER;
		for (int j = ITEM; j < n; j += 256) of[j] = of[j] + 1;
		if (ITEM < 16) other[ITEM] = 2;
		BARRIER;
		for (int k = 0; k < 4; k++) out[k * 256 + ITEM] = of[k * 256 + ITEM];
		out[1024 + ITEM] = other[ITEM ^ 1];
		BARRIER;
	}
}
`

func TestEachItemBranchesForItselfAfterABarrier(t *testing.T) {
	l, id := find(t)
	driver, err := l.newDriver(id, gpu.Source()+branches, options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := driver.Close(); err != nil {
			t.Error(err)
		}
	}()
	const items, numbers = 256, 1024
	out, err := driver.Alloc(4 * (numbers + items))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 2, 100, items - 1, items, items + 1, numbers} {
		err := driver.Launch(&gpu.Launch{Kernel: "branches", Groups: [3]int{1, 1, 1}, Items: items,
			Args: []gpu.Arg{{Bits: uint64(out), Size: 8}, {Bits: uint64(n), Size: 4},
				{Bits: 1, Size: 4}}})
		got := make([]byte, 4*numbers)
		if err == nil {
			err = driver.Read(got, out, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range numbers {
			want := uint32(1)
			if i < n {
				want = 2
			}
			if v := binary.LittleEndian.Uint32(got[4*i:]); v != want {
				t.Errorf("of the first %d numbers, number %d is %d, want %d", n, i, v, want)
				break
			}
		}
	}
}
