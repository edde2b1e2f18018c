package gpu_test

// Linear layers on the interpreter of the PTX that ships, against package kernels: on float
// weights, by the kernels for as many rows and by each kind of tiles; on Q8 and Q4 weights of any
// bytes, with the widths of GPT-2's models.

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/ptx"
	"picogpt/kernels"
	"picogpt/model/gpu"
	"picogpt/model/gpu/cuda"
)

// TestTilesOfThePTX is TestTilesOnADevice where there is none.
func TestTilesOfThePTX(t *testing.T) {
	cases.NotShort(t)
	program, err := ptx.Parse(cuda.PTX())
	if err != nil {
		t.Fatal(err)
	}
	tiles(t, ptx.Device(program), cases.Long)
}

// tiles straddles the edges of slabs, segments, items and groups. Of the wide layers only the tiles
// that are chosen are compared; of others those are among all.
func tiles(t *testing.T, d *gpu.Device, long bool) {
	team, err := kernels.NewTeam(0, "")
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	leaves := gpu.OpenLeaves(t, d, team)
	r := rand.New(rand.NewPCG(5, 5))
	formats := []kernels.Format{kernels.F32, kernels.F16, kernels.BF16}
	turn := 0
	check := func(rows, in, out int) {
		turn++
		m := kernels.Matrix{Layout: kernels.InOut, In: in, Out: out, F32: numbers(r, in*out)}
		x, bias := numbers(r, rows*in), numbers(r, out)
		switch turn % 4 {
		case 0: // all is −0: whatever else is added to it makes +0 of it
			setAll(m.F32, -1)
			setAll(x, 0)
			setAll(bias, float32(math.Copysign(0, -1)))
		case 1:
			bias = nil
		case 2:
			x[r.IntN(len(x))], x[r.IntN(len(x))] = float32(math.Inf(1)), float32(math.NaN())
		}
		m = kernels.Convert(team, formats[turn%3], &m)
		want := make([]float32, rows*out)
		team.Run(func(w *kernels.Worker) { kernels.Linear(w, want, x, rows, &m, bias) })
		all := map[string][]float32{}
		if out <= 129 {
			all = leaves.Tiles(&m, bias, x, rows)
		}
		if out > 129 || rows <= 18 || long {
			all["as chosen"] = leaves.Linear(&m, bias, x, rows)
		}
		for name, got := range all {
			what := fmt.Sprintf("%v, %d rows, %d to %d, %s", formats[turn%3], rows, in, out, name)
			sameBits(t, what, got, want)
		}
	}
	for in := 1; in <= 40; in++ {
		check(1+in%18, in, 5)
	}
	outs := []int{1, 63, 64, 65, 127, 128, 129}
	most := []int{17, 63, 64, 65, 127, 128, 129, 130, 257}
	if long {
		most = append(most, 255, 256, 300)
	}
	for i, rows := range most {
		for n, in := range cases.Some([]int{255, 256, 257, 513, 768}, 1, i) {
			check(rows, in, outs[(i+3*n)%len(outs)])
		}
	}
	check(17, 260, 2304) // as wide as c_attn
	if cases.Long {
		check(512, 264, 3100) // groups are chosen that take all segments
	}
}

func setAll(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// Linear layers on Q8 and Q4 weights, with any bytes as weights and the widths of GPT-2's models,
// on the interpreter of the PTX that ships, against package kernels.

// rowsOf has the numbers of rows at which other kernels or other groups begin.
var rowsOf = []int{1, 2, 3, 5, 8, 9, 32, 33, 64, 65, 130}

// TestIntegersOfThePTX is TestIntegersOnADevice where there is none. Of the PTX for sm_80 only the
// kernels of many rows are others.
func TestIntegersOfThePTX(t *testing.T) {
	cases.NotShort(t)
	for name, of := range map[string]struct {
		text string
		rows []int
	}{"sm_70": {cuda.PTX(), rowsOf}, "sm_80": {cuda.PTX80(), rowsOf[7:]}} {
		t.Run(name, func(t *testing.T) {
			program, err := ptx.Parse(of.text)
			if err != nil {
				t.Fatal(err)
			}
			integers(t, ptx.Device(program), of.rows, cases.Of(1, 4))
		})
	}
}

// integers compares layers of these numbers of rows, with as many inputs as layers of 124M and 1.5B
// have: where only some are compared, the most with the fewest rows of a kernel. A layer has about
// 40·times outputs.
func integers(t *testing.T, d *gpu.Device, rowsOf []int, times int) {
	team, err := kernels.NewTeam(0, "")
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	leaves := gpu.OpenLeaves(t, d, team)
	r := rand.New(rand.NewPCG(3, 3))
	for turn, rows := range rowsOf {
		for _, in := range cases.Some([]int{6400, 300, 1600, 31, 768, 3072}, 1, turn) {
			for _, format := range []kernels.Format{kernels.Q8, kernels.Q4} {
				out := 16*times*(1+r.IntN(4)) + r.IntN(17)
				for _, name := range cases.Keys(fills, 2, turn+int(format)) {
					fill := fills[name]
					what := fmt.Sprintf("%v, %d rows, %d to %d, %s", format, rows, in, out, name)
					m, err := kernels.QuantMatrix(format, in, out, fill.weights(r, format, in, out))
					if err != nil {
						t.Fatal(err)
					}
					x, bias := make([]float32, rows*in), numbers(r, out)
					for i := range x {
						x[i] = fill.input(r)
					}
					want := make([]float32, rows*out)
					got := leaves.Linear(&m, bias, x, rows)
					team.Run(func(w *kernels.Worker) { kernels.Linear(w, want, x, rows, &m, bias) })
					sameBits(t, what, got, want)
				}
			}
		}
	}
}

// A fill says which weights and inputs a layer has. An input of the greatest magnitude becomes
// ±32767.
type fill struct {
	least, most byte // of the weights' bytes
	input       func(r *rand.Rand) float32
}

func constant(x float32) func(*rand.Rand) float32 { return func(*rand.Rand) float32 { return x } }

var fills = map[string]fill{
	"any": {0, 255, func(r *rand.Rand) float32 { return float32(r.NormFloat64()) }},
	"greatest inputs of either sign": {0, 255, func(r *rand.Rand) float32 {
		return float32(2*r.IntN(2) - 1)
	}},
	"the greatest sums":          {0x80, 0x80, constant(-1)}, // in Q8; in Q4 those below
	"the least sums":             {0x80, 0x80, constant(1)},
	"the greatest sums of Q4":    {0x00, 0x00, constant(-1)},
	"the greatest weights":       {0x7f, 0x7f, constant(1)},
	"the greatest weights of Q4": {0xff, 0xff, constant(-1)},
}

// weights returns tiles of weights. Most scales are near 2⁻⁷; some are zero, negative or subnormal,
// and one is NaN.
func (f fill) weights(r *rand.Rand, format kernels.Format, in, out int) []byte {
	b := make([]byte, kernels.QuantBytes(format, in, out))
	tile := kernels.QuantBytes(format, 1, 1)
	for i := range b {
		b[i] = f.least + byte(r.IntN(int(f.most-f.least)+1))
	}
	for i := 0; i < len(b); i += 2 {
		if i%tile < tile-32 {
			continue
		}
		scale := uint16(math.Float32bits(float32(math.Ldexp(1+r.Float64(), -8))) >> 16)
		switch r.IntN(300) {
		case 0:
			scale = 0
		case 1:
			scale |= 0x8000
		case 2:
			scale = uint16(1 + r.IntN(127))
		}
		if i == tile-2 {
			scale = 0x7fc0
		}
		binary.LittleEndian.PutUint16(b[i:], scale)
	}
	return b
}

// sameBits compares numbers. Any NaN is equal to any NaN.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) &&
			(got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: number %d is %x (%v), want %x (%v)", what, i, math.Float32bits(got[i]),
				got[i], math.Float32bits(want[i]), want[i])
		}
	}
}

// numbers are normally distributed. Some are zeros of either sign, some huge or tiny.
func numbers(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
		switch r.IntN(40) {
		case 0:
			x[i] = float32(math.Copysign(0, float64(x[i])))
		case 1:
			x[i] *= 0x1p-140
		case 2:
			x[i] *= 0x1p40
		}
	}
	return x
}
