package sample

// The order of all steps together, against Hugging Face's own list of processors.

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
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
