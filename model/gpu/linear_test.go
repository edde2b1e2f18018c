package gpu_test

// Linear layers on float weights, by the kernels for as many rows and by each kind of tiles, on the
// interpreter of the PTX that ships, against package kernels.

import (
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
	tiles(t, ptx.Device(program))
}

// tiles straddles the edges of slabs, segments, items and groups.
func tiles(t *testing.T, d *gpu.Device) {
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
		all := leaves.Tiles(&m, bias, x, rows)
		all["as chosen"] = leaves.Linear(&m, bias, x, rows)
		for name, got := range all {
			what := fmt.Sprintf("%v, %d rows, %d to %d, %s", formats[turn%3], rows, in, out, name)
			sameBits(t, what, got, want)
		}
	}
	for in := 1; in <= 40; in++ {
		check(1+in%18, in, 5)
	}
	outs := []int{1, 63, 64, 65, 127, 128, 129}
	for i, rows := range []int{17, 63, 64, 65, 127, 128, 129, 130, 255, 256, 257, 300} {
		for n, in := range cases.Some([]int{255, 256, 257, 513, 768}, 1, i) {
			check(rows, in, outs[(i+3*n)%len(outs)])
		}
	}
	check(65, 260, 2304) // as wide as c_attn
	if cases.Long {
		check(512, 264, 3100) // groups are chosen that take all segments
	}
}

func setAll(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}
