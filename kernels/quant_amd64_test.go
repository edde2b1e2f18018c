//go:build !purego

package kernels

import (
	"reflect"
	"slices"
	"testing"
)

// Both ways to multiply integers have a name, so that every test of the variants runs the one
// without VPDPWSSD on a processor that has it.
func TestEachWayToMultiplyIntegersIsAVariant(t *testing.T) {
	type tile = func([]float32, int, []int16, []int32, int, []byte, int, int, int, int)
	ways := map[string][2]tile{"avx2": {quantTile8AVX2, quantTile4AVX2}}
	want := []string{"avx2", "go"}
	if hasVNNI() {
		ways["avx2vnni"] = [2]tile{quantTile8VNNI, quantTile4VNNI}
		want = []string{"avx2vnni", "avx2", "go"}
	}
	if !slices.Equal(Variants(), want) && !slices.Equal(Variants(), want[len(want)-1:]) {
		t.Errorf("variants %v, want %v, or go alone", Variants(), want)
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
