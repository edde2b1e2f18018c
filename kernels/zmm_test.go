package kernels

// A lane-exact model in Go of the leaves in AVX-512 assembly, for processors that do not have it:
// the same registers, masks and order of operations. TestVariantsAreTheSame holds it against the
// definition on every machine, and the assembly where it runs.

// A zmm is a 512-bit register of float32.
type zmm [16]float32

// allLanes is the mask of a whole register.
const allLanes = 1<<16 - 1

// lanesOf returns the mask of the first n lanes, at most all of them.
func lanesOf(n int) uint16 { return uint16(1<<min(n, 16) - 1) }

// loadZ reads the lanes of the mask, and sets the others to 0 without reading them.
func loadZ(s []float32, mask uint16) (z zmm) {
	for i := range z {
		if mask>>i&1 == 1 {
			z[i] = s[i]
		}
	}
	return z
}

// store writes the lanes of the mask.
func (z *zmm) store(s []float32, mask uint16) {
	for i := range z {
		if mask>>i&1 == 1 {
			s[i] = z[i]
		}
	}
}

// broadcastZ sets every lane to x.
func broadcastZ(x float32) (z zmm) {
	for i := range z {
		z[i] = x
	}
	return z
}

// fma adds x·y to the lanes of the mask.
func (z *zmm) fma(x, y zmm, mask uint16) {
	for i := range z {
		if mask>>i&1 == 1 {
			z[i] = fma(x[i], y[i], z[i])
		}
	}
}

// add adds x to the lanes of the mask.
func (z *zmm) add(x zmm, mask uint16) {
	for i := range z {
		if mask>>i&1 == 1 {
			z[i] = float32(z[i] + x[i])
		}
	}
}

// model512 is a variant of the models. modelled names the tests of the leaves that have one.
func model512() *variant {
	v := *goVariant
	v.name = "model of avx512"
	v.tile = tile512Model
	v.chains, v.chainRows = chains512Model, chainRows512Model
	for _, bf16 := range []bool{false, true} {
		v.halves(bf16).chains = chains16With512Model(bf16)
		v.halves(bf16).chainRows = chainRows16With512Model(bf16)
	}
	v.activate, v.expShift = activate512Model, expShift512Model
	v.scoresMax = scoresMax512Model
	v.exp64s, v.logSumExp = exp64s512Model, logSumExp512Model
	v.chainKV = chainKV512Model
	v.quantTile8, v.quantTile4 = quantTile512Model(Q8), quantTile512Model(Q4)
	v.quantOne8, v.quantOne4 = quantOne512Model(Q8), quantOne512Model(Q4)
	return &v
}

var modelled = []string{"tile", "tile, packed", "chains", "chains16", "chainRows",
	"chainRows16", "activate", "expShift", "scoresMax", "exp64s", "exp64s in place", "logSumExp", "quantTile8", "quantTile4",
	"quantGroups8", "quantGroups4",
	"quantOne8", "quantOne4", "chainKV"}
