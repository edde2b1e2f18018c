//go:build !purego

package kernels

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestVariantsOfThisProcessor holds the list against what Linux says of the processor: its flags
// leave out what the operating system does not save.
func TestVariantsOfThisProcessor(t *testing.T) {
	needs := []struct {
		variant string
		flags   []string
	}{
		{"avx512amx", []string{"amx_tile", "amx_int8"}},
		{"avx512", []string{"avx512f", "avx512dq"}},
		{"avx2vnni", []string{"avx512_vnni", "avx512bw", "avx512vl"}},
		{"avx2", []string{"avx2", "fma", "f16c"}},
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	flags := strings.Fields(string(regexp.MustCompile(`(?m)^flags\s*:.*`).Find(info)))
	want, has := []string{"go"}, true
	for _, n := range slices.Backward(needs) {
		for _, flag := range n.flags {
			has = has && (slices.Contains(flags, flag) || len(flags) == 0)
		}
		if has {
			want = slices.Insert(want, 0, n.variant)
		}
	}
	if got := Variants(); len(flags) > 0 && !slices.Equal(got, want) {
		t.Errorf("variants %v, want %v", got, want)
	} else if !slices.Equal(got, want[len(want)-len(got):]) {
		t.Errorf("variants %v, want the end of %v (no flags: %v)", got, want, err)
	}
}

// Both ways to multiply integers in 256 bits have a name, so that every test of the variants runs
// the one without VPDPWSSD on a processor that has it.
func TestEachWayToMultiplyIntegersIsAVariant(t *testing.T) {
	type tile = func([]float32, int, []int16, []int32, int, []byte, int, int, int, int, bool)
	ways := map[string][2]tile{
		"avx2":     {quantTile8AVX2, quantTile4AVX2},
		"avx2vnni": {quantTile8VNNI, quantTile4VNNI},
	}
	for _, v := range available {
		for i, got := range []tile{v.quantTile8, v.quantTile4} {
			if way, ok := ways[v.name]; ok &&
				reflect.ValueOf(got).Pointer() != reflect.ValueOf(way[i]).Pointer() {
				t.Errorf("%s multiplies in the way of another variant", v.name)
			}
		}
	}
}

// TestOtherMakersAskElsewhere: which memory leaves ask for, and how many segments they take, depends
// on who made the processor. What another maker's would do gives the same bits.
func TestOtherMakersAskElsewhere(t *testing.T) {
	defer func(ahead, second bool) { asksAhead, asksSecond = ahead, second }(asksAhead, asksSecond)
	all, p := others(t), newPlacer(t)
	for _, ways := range [][2]bool{{false, true}, {true, true}, {true, false}} {
		asksAhead, asksSecond = ways[0], ways[1]
		for _, l := range leafTests {
			if !strings.HasPrefix(l.name, "chain") && !strings.HasPrefix(l.name, "dot") {
				continue
			}
			for _, a := range l.a {
				for _, b := range l.b {
					l.compare(t, p, l.variants(all), a, b, (a+b)%4, allKinds[(a+b)%len(allKinds)], a%7)
				}
			}
		}
	}
}
