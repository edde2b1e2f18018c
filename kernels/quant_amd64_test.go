//go:build !purego

package kernels

import "testing"

// The variant avx2 takes VPDPWSSD where it can: here its other way runs all the same.
func TestQuantTileWithoutVNNI(t *testing.T) {
	if !hasVNNI() {
		t.Skip("that is what the variant avx2 is here")
	}
	v := *others(t)[0]
	v.quantTile8, v.quantTile4 = quantTile8AVX2, quantTile4AVX2
	p := newPlacer(t)
	for _, l := range quantLeafTests[:2] {
		for _, a := range l.a {
			for _, b := range l.b {
				for kind := range kinds {
					l.compare(t, p, &v, a, b, (a+b+int(kind))%4, kind, a%9)
				}
			}
		}
	}
}
