package kernels

// Attention with values that are not finite, compared with the softmax's definition as PyTorch
// computes it: only causality and masks hide a key.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/dev/cases"
)

// A spoiled head is a head with masks, some of whose numbers are NaN, infinite, or so large that
// scores overflow.
type spoiled struct {
	*head
	keep           []bool
	causal, masked bool
}

// newSpoiled returns a head in which each number of the queries, keys, values and masks is unusual
// with a probability, which is 0 for some heads.
func newSpoiled(seed uint64) *spoiled {
	rng := rand.New(rand.NewPCG(seed, 41))
	queries := 1 + rng.IntN(9)
	s := &spoiled{causal: rng.IntN(2) == 0, masked: rng.IntN(2) == 0}
	s.head = newHead(rng, queries, queries+rng.IntN(140), 1+rng.IntN(20), 1+rng.IntN(20))
	odds := func() float64 { return []float64{0, 0, 0.05, 0.5, 1}[rng.IntN(5)] }
	spoil := func(x []float32, dim int, few float64) {
		for ; len(x) > 0; x = x[dim:] {
			if rng.Float64() >= few {
				continue
			}
			switch row := x[:dim]; rng.IntN(4) {
			case 0:
				row[rng.IntN(dim)] = planted[rng.IntN(3)]
			case 1: // scores of −Inf with most queries
				for i := range row {
					row[i] = -1e30
				}
			case 2:
				for i := range row {
					row[i] = 1e30
				}
			default:
				scale(row, 1e30)
			}
		}
	}
	spoil(s.q, s.dk, odds()/4)
	spoil(s.k, s.dk, odds())
	spoil(s.v, s.dv, odds()/8)
	if rng.IntN(3) == 0 { // all scores far below 0
		for i := range s.q {
			s.q[i] = float32(math.Abs(float64(s.q[i]))) * 1e20
		}
	}
	for j := range s.keys {
		s.store(j, s.k[j*s.dk:(j+1)*s.dk], s.v[j*s.dv:(j+1)*s.dv])
	}
	s.keep = make([]bool, len(s.mask))
	hide, hard := odds(), odds()
	for i := range s.mask {
		s.keep[i] = rng.Float64() >= hide
		if rng.Float64() < hard {
			s.mask[i] = -inf32
		}
	}
	return s
}

func (s *spoiled) attention(out []float32, from, to int) *Attention {
	a := s.head.attention(out, from, to, s.causal, s.masked)
	if s.masked {
		a.Keep = s.keep[from*s.keys:]
	}
	return a
}

// score has float32's range at each step of the sum. hidden says that a mask hides the key.
func (s *spoiled) score(i, j int) (score float64, hidden bool) {
	if s.masked && !s.keep[i*s.keys+j] {
		return math.Inf(-1), true
	}
	for d := range s.dk {
		score = float64(float32(score + float64(s.q[i*s.dk+d])*float64(s.k[j*s.dk+d])))
	}
	score /= math.Sqrt(float64(s.dk))
	if s.masked {
		mask := float64(s.mask[i*s.keys+j])
		score, hidden = score+mask, math.IsInf(mask, -1)
	}
	return score, hidden
}

// expect returns the output of row i: softmax over the keys that causality leaves, and zeros where
// all of these are hidden. A hidden value counts with a weight of 0, so that one which is not
// finite spoils the result.
func (s *spoiled) expect(i int) []float64 {
	sees := s.keys
	if s.causal {
		sees = s.keys - s.queries + i + 1
	}
	weights, highest, sum, all := make([]float64, sees), math.Inf(-1), 0.0, true
	for j := range weights {
		score, hidden := s.score(i, j)
		weights[j], all = score, all && hidden
		highest = max(highest, score) // NaN if one of the two is
	}
	for j, score := range weights {
		weights[j] = math.Exp(score - highest)
		if all && math.IsInf(highest, -1) {
			weights[j], sum = 0, 1
		}
		sum += weights[j]
	}
	out := make([]float64, s.dv)
	for j, weight := range weights {
		for d := range out {
			out[d] += weight / sum * float64(s.v[j*s.dv+d])
		}
	}
	return out
}

func TestAttendKeepsWhatIsNotFinite(t *testing.T) {
	kinds, heads := map[string]int{}, cases.Of(400, 1500)
	if testing.Short() {
		heads = 150
	}
	for seed := range uint64(heads) {
		s := newSpoiled(seed)
		for _, variant := range Variants() {
			for _, tile := range []int{1, s.queries} {
				out := make([]float32, s.queries*s.dv)
				newTeam(t, 1, variant).Run(func(w *Worker) {
					for from := 0; from < s.queries; from += tile {
						w.AttendTile(s.attention(out, from, min(from+tile, s.queries)))
					}
				})
				for i := range s.queries {
					what := fmt.Sprintf("head %d, %s, tiles of %d, row %d", seed, variant, tile, i)
					kinds[s.compare(t, what, i, out[i*s.dv:(i+1)*s.dv])]++
				}
			}
		}
	}
	t.Log(kinds)
	for _, kind := range []string{"finite", "zeros", "not finite"} {
		if kinds[kind] < heads/2 {
			t.Errorf("%d rows are %s, want %d at least: %v", kinds[kind], kind, heads/2, kinds)
		}
	}
}

// compare holds a row of the output against expect, and returns its kind.
func (s *spoiled) compare(t *testing.T, what string, i int, got []float32) (kind string) {
	t.Helper()
	kind = "zeros"
	peak := 0.0
	for _, v := range s.v {
		if finite(v) {
			peak = max(peak, math.Abs(float64(v)))
		}
	}
	for d, want := range s.expect(i) {
		isFinite := finite(float32(want))
		if isFinite != finite(got[d]) || isFinite && math.Abs(float64(got[d])-want) > 1e-5*peak {
			t.Fatalf("%s: number %d is %v, want %v", what, d, got[d], want)
		}
		switch {
		case !isFinite:
			kind = "not finite"
		case want != 0 && kind == "zeros":
			kind = "finite"
		}
	}
	return kind
}

// A row whose scores have all overflowed is NaN, with its weights, unless a mask hides them all;
// and keys whose scores have overflowed beside others are as if they were hidden, whichever blocks
// they are in.
func TestScoresThatOverflow(t *testing.T) {
	const keys, dim = 3*Block + 5, 8
	h := newHead(rand.New(rand.NewPCG(37, 38)), 1, keys, dim, dim)
	for i := range h.q {
		h.q[i] = 1e10
	}
	run := func(variant string, low func(int) bool, as func(*Attention)) ([]float32, []float32) {
		for j := range keys {
			key := make([]float32, dim)
			for d := range key {
				key[d] = 1e-10 * h.k[j*dim+d]
				if low(j) {
					key[d] = -1e37
				}
			}
			h.store(j, key, h.v[j*dim:(j+1)*dim])
		}
		out, weights := make([]float32, dim), make([]float32, keys)
		newTeam(t, 1, variant).Run(func(w *Worker) {
			a := h.attention(out, 0, 1, false, false)
			a.Weights, a.LDW = weights, keys
			as(a)
			w.AttendTile(a)
		})
		return out, weights
	}
	all, plain := func(int) bool { return true }, func(*Attention) {}
	keep, lowest := make([]bool, keys), make([]float32, keys)
	for j := range lowest {
		lowest[j] = -inf32
	}
	for _, variant := range Variants() {
		out, weights := run(variant, all, plain)
		if slices.ContainsFunc(out, finite) || slices.ContainsFunc(weights, finite) {
			t.Errorf("%s: all scores −Inf give %v, want NaN", variant, out)
		}
		for name, hide := range map[string]func(*Attention){
			"Keep": func(a *Attention) { a.Keep = keep },
			"Mask": func(a *Attention) { a.Mask = lowest },
		} {
			out, weights := run(variant, all, hide)
			sameSlices(t, variant+", hidden by "+name, out, make([]float32, dim))
			sameSlices(t, variant+", weights, hidden by "+name, weights, make([]float32, keys))
		}
		for name, low := range map[string]func(j int) bool{
			"first block": func(j int) bool { return j < Block },
			"last blocks": func(j int) bool { return j >= Block },
			"all but one": func(j int) bool { return j != 2*Block+1 },
			"each second": func(j int) bool { return j%2 == 0 },
		} {
			out, weights := run(variant, low, plain)
			wantOut, wantWeights := run(variant, low, func(a *Attention) {
				a.Keep = make([]bool, keys)
				for j := range a.Keep {
					a.Keep[j] = !low(j)
				}
			})
			sameSlices(t, variant+", "+name, out, wantOut)
			sameSlices(t, variant+", weights, "+name, weights, wantWeights)
			if slices.ContainsFunc(out, func(x float32) bool { return !finite(x) }) {
				t.Errorf("%s, %s: %v, want finite numbers", variant, name, out)
			}
		}
	}
}
