//go:build gpu

package gpu_test

// The kernels on the device of $GPT_DEVICE, operation by operation, against package kernels.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/testdevice"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/gpu"
)

func open(t *testing.T) (*gpu.Leaves, *kernels.Team) {
	team, err := kernels.NewTeam(0, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(team.Close)
	return gpu.OpenLeaves(t, testdevice.Open(t), team), team
}

// TestIntegersOnADevice is TestIntegersOfThePTX on a device, with more outputs.
func TestIntegersOnADevice(t *testing.T) {
	integers(t, testdevice.Open(t), rowsOf, cases.Of(3, 40))
}

// TestTilesOnADevice is TestTilesOfThePTX on a device.
func TestTilesOnADevice(t *testing.T) { tiles(t, testdevice.Open(t)) }

// TestLinearOnADevice straddles the edges of segments, slabs, tiles and groups.
func TestLinearOnADevice(t *testing.T) {
	leaves, team := open(t)
	r := rand.New(rand.NewPCG(1, 1))
	sizes := []struct{ rows, in, out int }{
		{1, 1, 1}, {1, 255, 15}, {1, 256, 16}, {1, 257, 17}, {1, 800, 33}, {2, 513, 31},
		{3, 32, 64}, {8, 300, 65}, {9, 31, 40}, {15, 33, 129}, {16, 256, 16}, {17, 270, 48},
		{64, 65, 20}, {65, 257, 63}, {70, 530, 130}, {128, 16, 64}, {130, 17, 65},
	}
	for _, format := range []kernels.Format{
		kernels.F32, kernels.F16, kernels.BF16, kernels.Q8, kernels.Q4,
	} {
		for _, s := range sizes {
			for _, layout := range []kernels.Layout{kernels.InOut, kernels.OutIn} {
				if layout == kernels.OutIn && s.rows > engine.GroupRows {
					continue
				}
				what := fmt.Sprintf("%v, layout %d, %d rows, %d to %d", format, layout, s.rows,
					s.in, s.out)
				m := kernels.Matrix{Layout: layout, In: s.in, Out: s.out,
					F32: numbers(r, s.in*s.out)}
				m = kernels.Convert(team, format, &m)
				x, bias := numbers(r, s.rows*s.in), numbers(r, s.out)
				if s.rows == 9 {
					x[s.in+1], x[3*s.in] = float32(math.Inf(1)), float32(math.NaN())
				}
				want := make([]float32, s.rows*s.out)
				var got []float32
				if layout == kernels.OutIn {
					bias = nil
					got = leaves.Head(&m, x, s.rows)
				} else {
					got = leaves.Linear(&m, bias, x, s.rows)
				}
				team.Run(func(w *kernels.Worker) { kernels.Linear(w, want, x, s.rows, &m, bias) })
				sameBits(t, what, got, want)
			}
		}
	}
}

// TestActivationsOnADevice compares floats of all bits, a stride apart.
func TestActivationsOnADevice(t *testing.T) {
	leaves, team := open(t)
	const each = 1 << 20
	step := uint32(1<<32/each*2 - 1)
	if cases.Long {
		step = 1
	}
	got, want := make([]float32, each), make([]float32, each)
	for a := kernels.GELUTanh; a <= kernels.Mish; a++ {
		for first := uint64(0); first < 1<<32; first += each * uint64(step) {
			for i := range want {
				want[i] = math.Float32frombits(uint32(first) + uint32(i)*step)
			}
			team.Run(func(w *kernels.Worker) { kernels.Activate(w, want, a) })
			leaves.Activate(got, uint32(first), step, a)
			sameBits(t, fmt.Sprintf("activation %d from %x", a, first), got, want)
		}
	}
}
