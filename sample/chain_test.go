package sample

// The order of the steps: Hugging Face's, any list of samplers, and where they leave no id.

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// An ordered is a case of testdata/order.py.
type ordered struct {
	Logits, Against []float32
	EOS, New        int
	Context         []int
	Options         struct {
		Guidance *float64
		Bias     [][2]json.RawMessage // ids, and a number as a string
		Bad      [][]int
		Repeat   float64
		Ngram    int
		MinNew   int `json:"min_new"`
		Decay    []float64

		Allowed, Suppressed []int
		Padding             int

		Temperature float64
		TopK        int     `json:"top_k"`
		TopP        float64 `json:"top_p"`
		MinP        float64 `json:"min_p"`
		Typical     float64 `json:"typical_p"`
		Epsilon     float64 `json:"epsilon_cutoff"`
		Eta         float64 `json:"eta_cutoff"`
		TopH        float64 `json:"top_h"`
	}
	Probs []float64
}

// sampler returns the sampler of a case. Biases of single ids are Bias, which --logit-bias sets.
func (c *ordered) sampler(t *testing.T) *Sampler {
	t.Helper()
	from := &c.Options
	o := Params{Temperature: from.Temperature, TopK: from.TopK, TopP: from.TopP, MinP: from.MinP,
		Typical: from.Typical, Epsilon: from.Epsilon, Eta: from.Eta, TopH: from.TopH,
		RepeatPenalty: from.Repeat, NoRepeatNgram: from.Ngram, MinTokens: from.MinNew,
		Allowed: from.Allowed, Generated: c.New}
	if from.Guidance != nil {
		o.Guidance = &Guidance{Scale: *from.Guidance}
	}
	if from.Decay != nil {
		o.LengthDecay = LengthDecay{Start: int(from.Decay[0]), Factor: from.Decay[1]}
	}
	for _, one := range from.Bias {
		var b Bias
		var x string
		if err := json.Unmarshal(one[0], &b.IDs); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(one[1], &x); err != nil {
			t.Fatal(err)
		}
		var err error
		if b.Value, err = strconv.ParseFloat(x, 64); err != nil {
			t.Fatal(err)
		}
		if len(b.IDs) == 1 {
			o.Bias = append(o.Bias, b)
		} else {
			o.SequenceBias = append(o.SequenceBias, b)
		}
	}
	for _, ids := range from.Bad {
		o.Bias = append(o.Bias, Bias{IDs: ids, Value: math.Inf(-1)})
	}
	s := sampler(t, o, IDs{Size: len(c.Logits) - from.Padding, Ends: []int{c.EOS}})
	s.Against, s.Barred = c.Against, from.Suppressed
	return s
}

// TestTheOrderOfAllStepsIsHuggingFaces compares whole distributions after random options. Where
// guidance multiplied what is added to logits, or did not see the ids that are banned, they differ.
func TestTheOrderOfAllStepsIsHuggingFaces(t *testing.T) {
	b, err := os.ReadFile("testdata/order.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []ordered
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	far := func(s *Sampler, c *ordered) (worst float64) {
		d, err := s.Distribution(c.Logits, c.Context)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, len(c.Probs))
		for _, k := range d.Chances {
			got[k.ID] = k.Prob
		}
		for id, want := range c.Probs {
			worst = max(worst, math.Abs(got[id]-want))
		}
		return worst
	}
	guided, before := 0, 0
	for i := range cases {
		c := &cases[i]
		s := c.sampler(t)
		if off := far(s, c); off > 1e-9 {
			t.Errorf("case %d, %+v: a probability is off by %v", i, c.Options, off)
		}
		if c.Options.Guidance == nil {
			continue
		}
		guided++
		p := s.params
		p.Earlier = true
		old := sampler(t, p, IDs{Size: s.limit, Ends: s.ends})
		old.Against, old.Barred = s.Against, s.Barred
		if far(old, c) > 1e-3 {
			before++
		}
	}
	if len(cases) < 120 || guided < 100 || before < guided/3 {
		t.Errorf("%d cases, %d with guidance, of which the order of before gives %d others: want more",
			len(cases), guided, before)
	}
}

// TestABiasIsAddedAfterGuidance, before penalties and the temperature, whatever the scale is.
func TestABiasIsAddedAfterGuidance(t *testing.T) {
	logits, against := []float32{1, 0, 2, 0.5}, []float32{0, 1, 1, 0}
	scores := func(p Params) []float64 {
		s := sampler(t, p)
		s.Against = against
		if err := s.score(Row{Logits: logits}, []int{3, 1}); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(s.scores)
	}
	for _, scale := range []float64{-1, 0, 0.5, 2, 3} {
		for _, x := range []float64{3, -1.25, -100, math.Inf(-1)} {
			p := Params{Guidance: &Guidance{Scale: scale}}
			about := fmt.Sprintf("guidance %v, bias %v", scale, x)
			want := scores(p)
			want[2] += x
			p.Bias = []Bias{{IDs: []int{2}, Value: x}}
			if got := scores(p); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", about, got, want)
			}
			if want[1] < 0 {
				want[1] *= 2
			} else {
				want[1] /= 2
			}
			if want[3] < 0 {
				want[3] *= 2
			} else {
				want[3] /= 2
			}
			p.RepeatPenalty = 2
			if got := scores(p); !slices.Equal(got, want) {
				t.Errorf("%s, and a penalty: %v, want %v", about, got, want)
			}
		}
	}
	old := Params{Guidance: &Guidance{Scale: 2}, Earlier: true}
	without := scores(old)
	old.Bias = []Bias{{IDs: []int{2}, Value: 3}}
	if got := scores(old); math.Abs(got[2]-got[0]-(without[2]-without[0]+6)) > 1e-9 {
		t.Errorf("by the order of before: %v, want 6 more than in %v", got, without)
	}
}

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

func TestWhereNoIDIsLeftTheErrorSaysWhatTookThem(t *testing.T) {
	logits, never := []float32{3, 2, 1}, math.Inf(-1)
	few := []Bias{{IDs: []int{0}, Value: never}, {IDs: []int{2}, Value: never}}
	for _, c := range []struct {
		params Params
		gaps   []int
		open   []uint64 // nil: all
		barred []int
		want   []string
	}{
		{Params{Bias: append(few, Bias{IDs: []int{1}, Value: never})}, nil, nil, nil,
			[]string{"logit-bias"}},
		{Params{Bias: few, MinTokens: 1}, nil, nil, nil, []string{"logit-bias", "min-tokens"}},
		{Params{NoRepeatNgram: 1}, []int{2}, nil, nil,
			[]string{"vocabulary", "no-repeat-ngram"}},
		{Params{NoRepeatNgram: 1}, nil, []uint64{3}, nil, []string{"constraint", "no-repeat-ngram"}},
		{Params{NoRepeatNgram: 3, MinTokens: 1}, nil, []uint64{3}, []int{0},
			[]string{"constraint", "ban", "min-tokens"}},
		{Params{Bias: few, MinTokens: 1}, nil, []uint64{2}, nil, []string{"constraint", "min-tokens"}},
		{Params{Allowed: []int{2}, MinTokens: 1}, nil, []uint64{3}, nil,
			[]string{"constraint", "allowed tokens"}},
	} {
		for _, temperature := range []float64{0, 1} {
			c.params.Temperature = temperature
			s := sampler(t, c.params, IDs{Gaps: c.gaps, Ends: []int{1}})
			s.Open, s.Barred = c.open, c.barred
			_, err := s.Next(logits, []int{0, 1})
			var none *NoIDError
			if !errors.As(err, &none) || none.Position != 1 || !slices.Equal(none.Took, c.want) {
				t.Errorf("%+v: %v, want an error after position 1 that names %v", c.params, err,
					c.want)
			}
		}
	}
	err := &NoIDError{7, []string{"a", "b", "c"}}
	const want = "logits after position 7: want at least one id to draw, found none: " +
		"a, b and c leave none"
	if err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestALateStepThatLeavesNoIDIsNamed has a step after top-k that removes the only id.
func TestALateStepThatLeavesNoIDIsNamed(t *testing.T) {
	o := Params{Temperature: 1, TopK: 1, NoRepeatNgram: 1,
		Samplers: "top-k,no-repeat-ngram,top-p"}
	const want = "logits after position 1: want at least one id to draw, found none: " +
		"top-k and no-repeat-ngram leave none"
	for _, logits := range []Row{
		{Logits: []float32{3, 2, 1}}, {IDs: []int32{0}, Logits: []float32{3}},
	} {
		if _, err := sampler(t, o).Choose(logits, []int{0, 1}); err == nil || err.Error() != want {
			t.Errorf("%v of %v, want %s", err, logits, want)
		}
	}
}
