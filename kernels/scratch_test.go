package kernels

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

func best(f func()) float64 {
	m := 1e9
	for range 15 {
		t := time.Now()
		f()
		if d := time.Since(t).Seconds(); d < m {
			m = d
		}
	}
	return m
}

func TestScratchPrompt(t *testing.T) {
	threads, _ := strconv.Atoi(os.Getenv("T"))
	if threads == 0 {
		threads = 2
	}
	names := Variants()[:2]
	var teams []*Team
	for _, n := range names {
		teams = append(teams, newTeam(t, threads, n))
	}
	ops := make([]float64, threads)
	for i, team := range teams {
		p := best(func() { team.Run(func(w *Worker) { ops[w.ID()] = w.FMAPeak(1e5) }) })
		fmt.Printf("%s fma %.0f\n", names[i], ops[0]*float64(threads)/p/1e9)
	}
	for _, f := range []Format{F32, F16} {
		for _, s := range gpt2Shapes {
			m := filledMatrix(f, InOut, s[0], s[1])
			x, y := filled(512*s[0]), make([]float32, 512*s[1])
			var ts [3]float64
			ts[0], ts[1], ts[2] = 1e9, 1e9, 1e9
			for range 40 {
				for i, team := range teams {
					t := time.Now()
					team.Run(func(w *Worker) { Linear(w, y, x, 512, m, nil) })
					ts[i] = min(ts[i], time.Since(t).Seconds())
				}
				t := time.Now()
				teams[0].Run(func(w *Worker) { ops[w.ID()] = w.FMAPeak(3e4) })
				ts[2] = min(ts[2], time.Since(t).Seconds())
			}
			g := 2 * 512 * float64(s[0]*s[1]) / 1e9
			pk := ops[0] * float64(threads) / ts[2] / 1e9
			fmt.Printf("%v %v: %s %.0f  %s %.0f GFLOP/s peak %.0f: %.3f of peak; ratio %.2f\n", f, s, names[0], g/ts[0], names[1], g/ts[1], pk, g/ts[0]/pk, ts[1]/ts[0])
		}
	}
}

func TestScratchTile(t *testing.T) {
	const k = 256
	const panels = 12
	for _, rows := range []int{6, 4, 1} {
		a, b, c := filled(8*k), filled(k*panels*16), make([]float32, 8*1000)
		peak := 0.0
		for _, v := range available[:2] {
			p := best(func() { peak = v.fmaPeak(2e4) })
			peak /= p
			n := 200
			d := best(func() {
				for range n {
					v.tile(c, 1000, a, 1, 6, b, 16, k*16, rows, k, panels, false)
				}
			})
			fmt.Printf("%s rows %d: %.0f GFLOP/s of %.0f\n", v.name, rows, 2*float64(n*rows*k*panels*16)/d/1e9, peak/1e9)
		}
	}
}
