package sample

// Lists of samplers in any order, against a judge that applies each step as the package comment
// defines it: to all scores, one after the other, without any shortcut.

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

func anyEnds() IDs { return IDs{Ends: []int{0, 1}} }

// anyOptions returns options with a list of all steps in any order, and most of them on.
func anyOptions(r *rand.Rand, vocabulary, context int) Params {
	on := func() bool { return r.IntN(3) > 0 }
	pick := func(list ...float64) float64 { return list[r.IntN(len(list))] }
	names := SamplerNames()
	r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	if r.IntN(3) == 0 {
		names = names[:1+r.IntN(len(names))]
	}
	o := Params{Samplers: strings.Join(names, ","), Temperature: pick(0.25, 0.7, 1, 1.5, 4),
		Seed: r.Uint64(), Generated: r.IntN(context + 1)}
	for _, x := range []struct {
		to     *float64
		values []float64
	}{
		{&o.TopP, []float64{0.1, 0.5, 0.9, 0.999}}, {&o.MinP, []float64{0.01, 0.1, 0.5, 1}},
		{&o.Typical, []float64{0.1, 0.5, 0.95}}, {&o.Epsilon, []float64{1e-3, 0.05, 0.3}},
		{&o.Eta, []float64{1e-3, 0.05, 0.3}}, {&o.TopH, []float64{0.1, 0.5, 0.9}},
		{&o.TopNSigma, []float64{0.5, 1, 3}}, {&o.XTCProbability, []float64{0.5, 1}},
		{&o.RepeatPenalty, []float64{0.5, 1.3, 3}}, {&o.FrequencyPenalty, []float64{-1, 0.5, 2}},
		{&o.PresencePenalty, []float64{-1, 0.5, 2}}, {&o.TempRange, []float64{0, 0.2}},
	} {
		if on() {
			*x.to = pick(x.values...)
		}
	}
	o.XTCThreshold, o.TempExponent = pick(0.01, 0.1, 0.3), pick(0.5, 1)
	if on() {
		o.TopK = 1 + r.IntN(r.IntN(vocabulary)+1)
	}
	if on() {
		o.NoRepeatNgram = 1 + r.IntN(3)
	}
	if on() {
		o.DRY = DRY{Multiplier: pick(0.5, 2), Base: pick(1, 1.75), AllowedLength: r.IntN(3),
			LastN: r.IntN(2) * r.IntN(context+1), Breakers: [][]int{{r.IntN(vocabulary)}}}
	}
	if r.IntN(4) == 0 {
		o.RepeatLastN, o.PenaltyPrompt = r.IntN(context+1), new(bool)
		*o.PenaltyPrompt = r.IntN(2) == 0
	}
	if r.IntN(4) == 0 {
		o.MinTokens = r.IntN(context + 1)
	}
	if r.IntN(8) == 0 {
		o.Mirostat = Mirostat{Version: 2, Tau: pick(0.5, 2, 5), Eta: 0.1}
	}
	for range r.IntN(3) {
		o.Bias = append(o.Bias, Bias{IDs: []int{r.IntN(vocabulary)}, Value: pick(-3, 3, math.Inf(-1))})
	}
	if r.IntN(3) == 0 {
		for range 1 + r.IntN(3) {
			o.SequenceBias = append(o.SequenceBias, Bias{Value: pick(-3, 3, math.Inf(-1)),
				IDs: []int{r.IntN(min(vocabulary, 6)), r.IntN(vocabulary)}})
		}
	}
	if r.IntN(6) == 0 { // some ids, of which one may lie beyond the vocabulary
		for range 1 + r.IntN(vocabulary) {
			o.Allowed = append(o.Allowed, r.IntN(vocabulary+1))
		}
	}
	return o
}

// TestListsInAnyOrderArePlain compares the ids that are left and their probabilities.
func TestListsInAnyOrderArePlain(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 4))
	judged, empty, late := 0, 0, 0
	sizes := []int{3, 5, 8, 40, 130}
	if cases.Long {
		sizes = append(sizes, 300, 3000)
	}
	for i := range sized(400, 6000) {
		size := sizes[r.IntN(len(sizes))]
		logits, context := make([]float32, size), make([]int, 1+r.IntN(30))
		for id := range logits {
			logits[id] = float32(r.NormFloat64() * 3)
			if i%3 == 0 { // many are equal
				logits[id] = float32(r.IntN(5))
			}
		}
		for k := range context {
			context[k] = r.IntN(min(size, 6))
		}
		o := anyOptions(r, size, len(context))
		j := &plainJudge{Params: o, context: context}
		want := j.judge(logits)
		if j.close {
			continue
		}
		judged++
		about := fmt.Sprintf("%+v of %d ids after %v", o, size, context)
		d, err := sampler(t, o, anyEnds()).Distribution(logits, context)
		s := sampler(t, o, anyEnds())
		id, nextErr := s.Next(logits, context)
		if want == nil {
			var none, also *NoIDError
			if !errors.As(err, &none) || !errors.As(nextErr, &also) || len(none.Took) == 0 {
				t.Fatalf("%s: %v and %v, want that no id is left", about, err, nextErr)
			}
			if s.State != sampler(t, o, anyEnds()).State {
				t.Fatalf("%s: an error changed the state", about)
			}
			if empty++; none.Took[len(none.Took)-1] == "no-repeat-ngram" && len(none.Took) > 1 {
				late++
			}
			continue
		}
		if err != nil || nextErr != nil {
			t.Fatalf("%s: %v and %v", about, err, nextErr)
		}
		got, sum, at := make([]float64, size), 0.0, uniform(rand.NewPCG(o.Seed, o.Seed))
		for _, c := range d.Chances {
			got[c.ID] = c.Prob
		}
		drawn := -1
		for id, p := range want {
			if math.Abs(got[id]-p) > 1e-9*p+1e-300 {
				t.Fatalf("%s: id %d has %v, want %v; %v", about, id, got[id], p, d)
			}
			if sum += p; drawn < 0 && j.below(at, sum) {
				drawn = id
			}
		}
		if id != drawn && !j.close {
			t.Fatalf("%s: drew %d, want %d", about, id, drawn)
		}
	}
	t.Logf("%d lists judged, %d left no id, %d of them behind another step", judged, empty, late)
}
