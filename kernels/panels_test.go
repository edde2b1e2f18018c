package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Packed and row-major panels give each product the bits of one chain from where it stood.
func TestMultiply(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, s := range [][4]int{{1, 1, 1, 0}, {1, 20, 40, 3}, {7, 33, 16, 0}, {13, 64, 50, 5},
		{6, 9, 15, 9}} {
		rows, k, cols, from := s[0], s[1], s[2], s[3]
		b, a, start := randoms(rng, k*cols), randoms(rng, rows*k), randoms(rng, rows*cols)
		packed := Panels{Data: make([]float32, k*cols), K: k, Cols: cols}
		packed.PackRows(0, b, cols, k/2)
		packed.PackRows(k/2, b[k/2*cols:], cols, k-k/2)
		want := append([]float32(nil), start...)
		for i := range rows {
			chain(want[i*cols:(i+1)*cols], a[i*k:i*k+k-from], b[from*cols:], cols)
		}
		for _, variant := range Variants() {
			for _, p := range []*Panels{&packed, {Data: b, K: k, Cols: cols, LD: cols}} {
				got := append([]float32(nil), start...)
				newTeam(t, 1, variant).Run(func(w *Worker) {
					w.Multiply(got, cols, a, k, rows, p,
						from, k)
				})
				sameSlices(t, fmt.Sprintf("%s %v, LD %d", variant, s, p.LD), got, want)
			}
		}
	}
}

// Keys that are packed a few at a time lie where those lie that are packed one by one.
func TestPackColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	const dk, ld, n = 9, 11, 45
	keys := randoms(rng, n*ld)
	for _, first := range []int{0, 1, 15, 16, 19} {
		p := Panels{Data: make([]float32, dk*Block), K: dk, Cols: Block}
		p.PackColumns(first, keys, ld, n)
		want, values := make([]float32, dk*Block), make([]float32, Block)
		for j := range n {
			lone(goVariant).storeKV(KV{F32: want}, KV{F32: values}, Block, first+j, 1, keys[j*ld:], 0, dk,
				keys, 0, 1)
		}
		sameSlices(t, fmt.Sprint("from ", first), p.Data, want)
		for j := range n {
			for d := range dk {
				at := first + j
				if got := p.Data[at/panelCols*panelCols*dk+d*panelCols+at%panelCols]; got != keys[j*ld+d] {
					t.Fatalf("key %d, number %d is %v, want %v", j, d, got, keys[j*ld+d])
				}
			}
		}
	}
}

func TestELU1(t *testing.T) {
	x := []float32{-100, -3, -0.5, -1e-30, 0, 1e-30, 0.25, 2, 1e10, float32(math.NaN()), -1, 4, 5}
	for _, variant := range Variants() {
		newTeam(t, 1, variant).Run(func(w *Worker) {
			y := make([]float32, len(x))
			w.ELU1(y, x)
			for i, v := range x {
				want := exp(v)
				if v > 0 {
					want = v + 1
				}
				if y[i] != want && v == v || v != v && y[i] == y[i] {
					t.Errorf("%s: elu(%v)+1 = %v, want %v", variant, v, y[i], want)
				}
			}
		})
	}
}

func TestDot(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for n := range 40 {
		x, y := randoms(rng, n), randoms(rng, n)
		var want [1]float32
		dot(want[:], 1, x, n, y, n, 1, 1, n)
		for _, variant := range Variants() {
			newTeam(t, 1, variant).Run(func(w *Worker) {
				if got := w.Dot(x, y); got != want[0] {
					t.Errorf("%s, %d numbers: %v, want %v", variant, n, got, want[0])
				}
			})
		}
	}
}
