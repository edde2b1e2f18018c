package sample

// The filters, which do not sort, against a sampler that does; their sums in order of ids.

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/dev/cases"
	"picogpt/kernels"
)

// chance is an id with its score and weight.
type chance struct {
	id            int
	score, weight float64
}

// plainly is the definition of a sampler, step by step as in the package comment: it sorts
// everything, and adds one number after another. It returns the distribution, and the draw with
// seed 0.
func plainly(o Params, gaps []int, logits []float32, context []int) (drawn int, from []chance) {
	scores := make([]float64, len(logits))
	for id, x := range logits {
		scores[id] = float64(x)
	}
	if p := o.RepeatPenalty; p != 0 {
		for _, id := range context {
			if x := float64(logits[id]); x < 0 {
				scores[id] = x * p
			} else {
				scores[id] = x / p
			}
		}
	}
	for id, score := range scores {
		if !slices.Contains(gaps, id) {
			from = append(from, chance{id: id, score: score})
		}
	}
	byID := func(a, b chance) int { return cmp.Compare(a.id, b.id) }
	slices.SortFunc(from, func(a, b chance) int {
		return cmp.Or(cmp.Compare(b.score, a.score), byID(a, b))
	})
	if o.Temperature == 0 {
		return from[0].id, from[:1]
	}
	if 0 < o.TopK && o.TopK < len(from) {
		least := from[o.TopK-1].score
		from = slices.DeleteFunc(from, func(c chance) bool { return c.score < least })
	}
	for i := range from {
		from[i].weight = kernels.Exp64((from[i].score - from[0].score) / o.Temperature)
	}
	mass := func() (sum float64) {
		inOrder := slices.Clone(from)
		slices.SortFunc(inOrder, byID)
		for _, c := range inOrder {
			sum += c.weight
		}
		return sum
	}
	if 0 < o.TopP && o.TopP < 1 {
		want, before := o.TopP*mass(), 0.0
		for i, c := range from {
			if before >= want {
				from = from[:i]
				break
			}
			before += c.weight
		}
	}
	from = slices.DeleteFunc(from, func(c chance) bool {
		return c.weight < o.MinP || c.weight == 0 // what has no weight is not drawn
	})
	slices.SortFunc(from, byID)
	at := float64(rand.NewPCG(0, 0).Uint64()>>11) * 0x1p-53 * mass()
	below := 0.0
	for _, c := range from {
		if below += c.weight; at < below {
			return c.id, from
		}
	}
	panic("nothing drawn")
}

// likenesses make logits: of one magnitude and of many, tied, flat, and such that sums are close to
// top-p's limit.
var likenesses = map[string]func(r *rand.Rand, id int) float64{
	"normal":    func(r *rand.Rand, _ int) float64 { return r.NormFloat64() * 3 },
	"wild":      func(r *rand.Rand, _ int) float64 { return r.NormFloat64() * 1e4 },
	"narrow":    func(r *rand.Rand, _ int) float64 { return r.NormFloat64() * 1e-3 },
	"tied":      func(r *rand.Rand, _ int) float64 { return float64(r.IntN(6)) },
	"flat":      func(*rand.Rand, int) float64 { return -7 },
	"halves":    func(_ *rand.Rand, id int) float64 { return math.Ln2 * float64(-id) },
	"sparse":    func(r *rand.Rand, _ int) float64 { return float64(r.IntN(50)/49) * 20 },
	"extreme":   func(r *rand.Rand, _ int) float64 { return 3e38 * float64(r.IntN(3)-1) },
	"heavy":     func(r *rand.Rand, id int) float64 { return -1.01 * math.Log(float64(id+1)) },
	"zeros":     func(_ *rand.Rand, id int) float64 { return math.Copysign(0, float64(id%2)-0.5) },
	"staircase": func(_ *rand.Rand, id int) float64 { return float64(id/7%5) - float64(id%3)*9 },
}

// TestFiltersEqualASort tries every combination of the options on logits of every likeness.
func TestFiltersEqualASort(t *testing.T) {
	cases.NotShort(t)
	r := rand.New(rand.NewPCG(3, 4))
	sizes := []int{1, 2, 3, 17, 64, 65, 400}
	if cases.Long {
		sizes = append(sizes, 1000, 1024, 1025, 5000, 50257)
	}
	for name, logit := range likenesses {
		for _, size := range sizes {
			logits, context := make([]float32, size), []int{r.IntN(size), r.IntN(size)}
			for id := range logits {
				logits[id] = float32(logit(r, id))
			}
			topKs := []int{0, 1, 2, size / 2, size - 1, size, 5}
			for _, topP := range []float64{0, 5e-324, r.Float64(), 0.5, 0.95, 1 - 0x1p-53, 1} {
				for _, minP := range []float64{0, r.Float64(), 1} {
					for _, temperature := range []float64{0, 1e-300, 0.7, 1, 50, 1e308} {
						o := Params{Temperature: temperature, TopK: topKs[r.IntN(len(topKs))],
							TopP: topP, MinP: minP, RepeatPenalty: float64(r.IntN(3)) / 1.5}
						var gaps []int
						if r.IntN(3) == 0 && size > 2 {
							gaps = []int{0, r.IntN(size-1) + 1}
						}
						sameChoice(t, name, o, gaps, logits, context)
					}
				}
			}
		}
	}
}

func sameChoice(
	t *testing.T, name string, o Params, gaps []int, logits []float32, context []int,
) {
	t.Helper()
	drawn, from := plainly(o, gaps, logits, context)
	s := sampler(t, o, IDs{Size: len(logits), Gaps: gaps})
	if got := next(t, s, logits, context); got != drawn {
		t.Fatalf("%s, %d logits, %+v: drew %d, want %d", name, len(logits), o, got, drawn)
	}
	if o.Temperature == 0 {
		return
	}
	var got []chance
	for i, weight := range s.weights {
		if weight != 0 {
			got = append(got, chance{s.id(i), s.scores[i], weight})
		}
	}
	if !slices.Equal(got, from) {
		t.Fatalf("%s, %d logits, %+v: %d ids stay, want %d:\n%v\n%v", name, len(logits), o,
			len(got), len(from), got, from)
	}
}

// TestTopPWhereSumsAreEqual sets exactly the sum of the first few probabilities: only here it
// matters which sum decides, and how it was rounded.
func TestTopPWhereSumsAreEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	sorted := 0
	for range 300 {
		logits := make([]float32, 50+r.IntN(50))
		for id := range logits {
			logits[id] = float32(r.NormFloat64())
		}
		_, all := plainly(Params{Temperature: 1}, nil, logits, nil)
		mass := 0.0
		for _, c := range all {
			mass += c.weight
		}
		slices.SortFunc(all, func(a, b chance) int { return cmp.Compare(b.score, a.score) })
		before := 0.0
		for _, c := range all[:r.IntN(len(all))] {
			before += c.weight
		}
		for _, topP := range []float64{before / mass, math.Nextafter(before/mass, 1)} {
			if topP < 1 {
				sameChoice(t, "equal", Params{Temperature: 1, TopP: topP}, nil, logits, nil)
				sorted++
			}
		}
	}
	if sorted < 500 {
		t.Errorf("%d sums were tried, want 500", sorted)
	}
}

// TestReachIsTheBeginningOfASort compares the selection by weight with a sort, for weights whose
// sums are exact.
func TestReachIsTheBeginningOfASort(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	s := sampler(t, Params{})
	for range 3000 {
		n := 1 + r.IntN(1+r.IntN(500))
		scores, weights, total, order := make([]float64, n), make([]float64, n), 0.0, make([]int, n)
		for i := range scores {
			scores[i], weights[i] = float64(r.IntN(1+r.IntN(300))), float64(r.IntN(4))
			if r.IntN(10) == 0 {
				scores[i] *= 1e300
			}
			total, order[i] = total+weights[i], i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
		want := 1 + float64(r.IntN(int(total)+2))
		s.largest = slices.Max(scores)
		hints := []float64{math.Inf(-1), math.Inf(1)}
		if r.IntN(2) == 0 { // right or wrong
			hints = []float64{float64(r.IntN(300)), float64(r.IntN(300))}
			slices.Sort(hints)
		}
		score, above, found := s.reach(scores, weights, want, hints[0], hints[1])
		if found != (want <= total) {
			t.Fatalf("%v of %v with %v: found is %v", want, scores, weights, found)
		}
		sum, before, last := 0.0, 0.0, math.Inf(1)
		for _, i := range order {
			if scores[i] != last {
				before, last = sum, scores[i]
			}
			if sum += weights[i]; sum >= want {
				if score != scores[i] || above != before {
					t.Fatalf("%v of %v with %v: %v after %v, want %v after %v", want, scores,
						weights, score, above, scores[i], before)
				}
				break
			}
		}
	}
}

// TestEntropiesAreSumsInAscendingOrder compares the entropy with its definition, bit for bit.
func TestEntropiesAreSumsInAscendingOrder(t *testing.T) {
	rows, context := gpt2Rows()
	for kind, logits := range rows {
		for _, by := range []float64{1, 0.7, 1.9, 1e-3} {
			s := sampler(t, Params{Temperature: by})
			s.Open = make([]uint64, 786)
			for i := range s.Open {
				s.Open[i] = 0xfeedbeefcafe1337
			}
			if err := s.score(Row{Logits: logits}, context); err != nil {
				t.Fatal(err)
			}
			s.largest, s.by, s.weighed = slices.Max(s.scores), by, false
			s.weigh()
			sum := 0.0
			for i, w := range s.weights {
				if w != 0 {
					sum += float64(w * s.logWeight(i))
				}
			}
			want := kernels.Log64(s.mass) - sum/s.mass
			if got, _ := s.entropy(); got != want {
				t.Errorf("%s at temperature %v: %v, want %v", kind, by, got, want)
			}
		}
	}
}

func TestSumsOfScoresAreInAscendingOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for name, number := range map[string]func() float64{
		"logits":          func() float64 { return float64(float32(3*r.NormFloat64() - 40)) },
		"around 0":        func() float64 { return float64(float32(3 * r.NormFloat64())) },
		"doubles":         func() float64 { return 3 * r.NormFloat64() },
		"of all sizes":    func() float64 { return math.Ldexp(r.NormFloat64(), r.IntN(80)-50) },
		"halves of units": func() float64 { return float64(r.IntN(100))/(1<<31) + float64(r.IntN(3)) },
		"large":           func() float64 { return -float64(r.IntN(1<<20)) - float64(r.IntN(1<<30))/(1<<30) },
		"some infinite":   func() float64 { return 1 / float64(r.IntN(9000)) },
	} {
		for _, n := range []int{0, 1, 31, 32, 33, 1000, 50257} {
			x, want := make([]float64, n), 0.0
			for i := range x {
				x[i] = number()
				want += x[i]
			}
			if got := sumInOrder(x); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s, %d numbers: %v, want %v", name, n, got, want)
			}
		}
	}
}

// TestLlamaCppsTypicalEqualsASort compares the selection with a sort of all, also where a sum
// equals the limit exactly.
func TestLlamaCppsTypicalEqualsASort(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 6))
	for name, logit := range likenesses {
		for _, size := range []int{1, 2, 4, 64, 400, sized(3000, 50257)} {
			logits := make([]float32, size)
			for id := range logits {
				logits[id] = float32(logit(r, id))
			}
			for _, typical := range []float64{5e-324, 0.25, 0.5, r.Float64(), 0.95, 1 - 0x1p-53} {
				o := Params{Temperature: 1, Typical: typical, Samplers: samplersLlamaCpp}
				selected, sorted := sampler(t, o), sampler(t, o)
				for _, s := range []*Sampler{selected, sorted} {
					if err := s.score(Row{Logits: logits}, nil); err != nil {
						t.Fatal(err)
					}
					s.largest, s.weighed, s.weights = s.scores[s.likeliest()], false, s.weights[:0]
				}
				selected.applyTypical()
				sorted.ready()
				entropy, logMass := sorted.entropy()
				for i := range sorted.scores {
					sorted.nearness = append(sorted.nearness,
						-math.Abs(logMass-sorted.logWeight(i)-entropy))
				}
				sorted.sortTypical(typical * sorted.mass)
				if !slices.Equal(selected.scores, sorted.scores) || selected.mass != sorted.mass ||
					!selected.all && !slices.Equal(selected.ids[:len(selected.scores)],
						sorted.ids[:len(sorted.scores)]) {
					t.Fatalf("%s, %d logits, typical %v: %d ids of the mass %v, want %d of %v", name, size,
						typical, len(selected.scores), selected.mass, len(sorted.scores), sorted.mass)
				}
			}
		}
	}
}
