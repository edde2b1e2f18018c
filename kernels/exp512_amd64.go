//go:build !purego

package kernels

// The leaf operations of exp512_amd64.s.

// setExpAVX512 replaces the exponential and the leaves that use it.
func setExpAVX512(v *variant) {
	v.activate = activateBy(geluTanhAVX512, geluErfAVX512, quickGELUAVX512, siluAVX512, reluAVX512,
		tanhAVX512)
	v.expShift, v.scoresMax = expShiftAVX512, scoresMaxAVX512
}

// expShiftAVX512 is expShift.
//
//go:noescape
func expShiftAVX512(s []float32, max float32) float32

// scoresMaxAVX512 is scoresMax.
//
//go:noescape
func scoresMaxAVX512(s, mask []float32, scale, max float32) float32

// Each of these is x[i] = a.apply(x[i]) for one activation.
//
//go:noescape
func geluTanhAVX512(x []float32)

//go:noescape
func geluErfAVX512(x []float32)

//go:noescape
func quickGELUAVX512(x []float32)

//go:noescape
func siluAVX512(x []float32)

//go:noescape
func reluAVX512(x []float32)

//go:noescape
func tanhAVX512(x []float32)
