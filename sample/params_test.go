package sample

// Options of any size together, each choice an id that may be drawn or an error; and texts.

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/toys"
)

// extremeOptions returns options of which many are at or near a limit.
func extremeOptions(r *rand.Rand, vocabulary, context int) (o Params, of IDs) {
	o, of = anyOptions(r, vocabulary, context), anyEnds()
	some := func(to *float64, values ...float64) {
		if r.IntN(3) == 0 {
			*to = values[r.IntN(len(values))]
		}
	}
	below := math.Nextafter(1, 0)
	some(&o.Temperature, 0, 5e-324, 1e-300, 1e-20, 1e20, 1e308)
	some(&o.TempRange, 5e-324, 1, 1e308)
	some(&o.TempExponent, 0, 5e-324, 1e308)
	for _, to := range []*float64{&o.TopP, &o.MinP, &o.Typical, &o.TopH, &o.XTCProbability, &o.XTCThreshold} {
		some(to, 0, 5e-324, below, 1)
	}
	some(&o.Epsilon, 5e-324, below)
	some(&o.Eta, 5e-324, below)
	some(&o.TopNSigma, 5e-324, 1e-20, 1e308)
	some(&o.RepeatPenalty, 1e-100, 1e100)
	some(&o.FrequencyPenalty, -1e308, 1e308)
	some(&o.PresencePenalty, -1e308, 1e308)
	if o.DRY.Multiplier > 0 {
		some(&o.DRY.Multiplier, 5e-324, 1e308)
		some(&o.DRY.Base, 0, 5e-324, 1, 1e308)
	}
	if r.IntN(4) == 0 {
		o.LengthDecay = LengthDecay{r.IntN(context), math.Pow(10, float64(r.IntN(600)-300))}
	}
	if r.IntN(4) == 0 {
		o.Mirostat = Mirostat{Version: r.IntN(3), Tau: 5, Eta: 0.1}
		some(&o.Mirostat.Tau, 0, 5e-324, 1e308)
		some(&o.Mirostat.Eta, 0, 5e-324, 1e308)
	}
	if r.IntN(4) == 0 {
		o.Guidance = &Guidance{Scale: 1.5}
		some(&o.Guidance.Scale, 0, -1e100, 1e100)
		o.Earlier = r.IntN(3) == 0
	}
	for i := range o.Bias {
		some(&o.Bias[i].Value, -1e100, 1e100)
	}
	switch r.IntN(4) {
	case 0:
		o.Samplers = samplersLlamaCpp
	case 1:
		o.Samplers = ""
	}
	if r.IntN(4) == 0 {
		of.Size, of.Gaps = vocabulary, []int{r.IntN(vocabulary)}
	}
	if r.IntN(4) == 0 {
		o.TopK, o.NoRepeatNgram = 1+r.IntN(1e9), r.IntN(1e9)
	}
	return o, of
}

// defined checks one choice after another, from logits of a likeness.
func defined(
	t *testing.T, r *rand.Rand, name string, o Params, of IDs, size int, context []int,
) (chosen int) {
	t.Helper()
	s := sampler(t, o, of)
	s.least = 1 + r.IntN(2)*r.IntN(3)
	for range 3 {
		logits, against := make([]float32, size), make([]float32, size)
		for id := range logits {
			logits[id] = float32(likenesses[name](r, id))
			against[id] = float32(r.NormFloat64())
		}
		if o.Guidance != nil {
			s.Against = against
		}
		about := fmt.Sprintf("%s, %d logits, %+v", name, size, o)
		if s.least == 1 {
			d, err := s.Distribution(logits, context)
			sum := 0.0
			for _, c := range d.Chances {
				if sum += c.Prob; !(c.Prob >= 0) || c.ID < 0 || c.ID >= size {
					t.Fatalf("%s: candidate %+v", about, c)
				}
			}
			if err == nil && !(math.Abs(sum-1) < 1e-9) {
				t.Fatalf("%s: the probabilities add up to %v", about, sum)
			}
		}
		id, err := s.Next(logits, context)
		var none *NoIDError
		switch {
		case err == nil && (id < 0 || id >= size):
			t.Fatalf("%s: id %d", about, id)
		case err != nil && (!errors.As(err, &none) || len(none.Took) == 0):
			t.Fatalf("%s: %v", about, err)
		case err != nil:
			return chosen
		}
		chosen++
		context = append(context, id)
	}
	return chosen
}

func TestAnyOptionsTogetherAreDefined(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 7))
	sizes := []int{1, 2, 3, 17, 64, 130}
	if cases.Long {
		sizes = append(sizes, 1025, 3000)
	}
	chosen, rounds := 0, sized(40, 3000)
	for range rounds {
		for name := range likenesses {
			size := sizes[r.IntN(len(sizes))]
			context := make([]int, 1+r.IntN(30))
			for i := range context {
				context[i] = r.IntN(size+2) - 1
			}
			o, of := extremeOptions(r, size, len(context))
			chosen += defined(t, r, name, o, of, size, context)
		}
	}
	if chosen < rounds*len(likenesses) {
		t.Errorf("%d ids were chosen, want more", chosen)
	}
}

// TestTextsThatTheVocabularyCannotWrite: a vocabulary that drops "<" would bias " a" in place of
// " <a", and break repetitions after each "x" in place of "x<".
func TestTextsThatTheVocabularyCannotWrite(t *testing.T) {
	tok, err := toys.Lacking("<")
	if err != nil {
		t.Fatal(err)
	}
	p := Params{Bias: []Bias{{Text: " <a", Value: 1}}}
	if err := p.Open(t.Context(), tok); err == nil ||
		!strings.Contains(err.Error(), `" <a": byte 1, 0x3c: the vocabulary has no token for it`) {
		t.Errorf("error %v", err)
	}
	p = Params{Bias: []Bias{{Text: " a", Value: 1}}}
	if err := p.Open(t.Context(), tok); err != nil || len(p.Bias) != 1 || p.Bias[0].IDs[0] != 257 {
		t.Errorf("%+v, %v", p.Bias, err)
	}
	for text, want := range map[string]bool{"x<": false, "x>": true} {
		breakers, err := DRYBreakers(tok, text)
		if err != nil || len(breakers) > 0 != want {
			t.Errorf("%q: %d breakers, %v", text, len(breakers), err)
		}
	}
}
