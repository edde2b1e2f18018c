package sample

// The sampler's steps against recorded answers: of Hugging Face's code, and of llama.cpp's
// definitions.

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/tokenizer"
)

// An answer is the ids that another program keeps of a vector of logits, or the temperature it
// computes.
type answer struct {
	V       string
	P       string
	A       json.RawMessage
	MinKeep int `json:"min_keep"`
	Context []int
	New     int
	Kept    []int
	Probs   []float64

	TempProbs []float64 `json:"temp_probs"`

	Temperature float64
	Changed     [][2]float64
	Banned      []int
	Only        []int
	Lengths     [][2]int
	Chosen, K   int
	Surprise    float64
	MuNext      float64 `json:"mu_next"`
}

func (a *answer) String() string {
	return fmt.Sprintf("%s %s %s min_keep %d", a.V, a.P, a.A, a.MinKeep)
}

// number returns the answer's parameter.
func (a *answer) number(t *testing.T) (x float64) {
	t.Helper()
	a.parse(t, &x)
	return x
}

func (a *answer) parse(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(a.A, v); err != nil {
		t.Fatalf("%v: %v", a, err)
	}
}

func answers(t *testing.T, key string, atLeast int) (all []answer, vectors map[string][]float32) {
	t.Helper()
	for key, v := range map[string]any{key: &all, "vectors": &vectors} {
		if err := fixture.Decoding(key, v); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < atLeast {
		t.Fatalf("%s: %d answers, want at least %d", key, len(all), atLeast)
	}
	return all, vectors
}

// checkKept compares the ids that are left of a vector with an answer. Where the order among equals
// is open, only the logits count.
func (a *answer) checkKept(t *testing.T, logits []float32, o Params, of ...IDs) {
	t.Helper()
	s := sampler(t, o, of...)
	s.least = max(1, a.MinKeep)
	d, err := s.Distribution(logits, a.Context)
	if err != nil {
		t.Errorf("%v: %v", a, err)
		return
	}
	slices.SortFunc(d.Chances, func(a, b Chance) int { return a.ID - b.ID })
	var kept []int
	for _, c := range d.Chances {
		kept = append(kept, c.ID)
	}
	if strings.HasPrefix(a.V, "tie") || a.V == "flat" {
		if got, want := logitsOf(logits, kept), logitsOf(logits, a.Kept); !slices.Equal(got, want) {
			t.Errorf("%v: kept the logits %v, want %v", a, got, want)
		}
		return
	}
	if !slices.Equal(kept, a.Kept) {
		t.Errorf("%v: kept %v, want %v", a, kept, a.Kept)
		return
	}
	for i, want := range a.Probs {
		if got := d.Chances[i].Prob; math.Abs(got-want) > 1e-9*want+1e-15 {
			t.Errorf("%v: probability of %d is %v, want %v", a, kept[i], got, want)
		}
	}
}

func logitsOf(logits []float32, ids []int) (sorted []float32) {
	for _, id := range ids {
		sorted = append(sorted, logits[id])
	}
	slices.Sort(sorted)
	return sorted
}

func TestFiltersAreHuggingFaces(t *testing.T) {
	all, vectors := answers(t, "warpers", 232)
	for _, a := range all {
		x, o := a.number(t), Params{Temperature: 1}
		setFilter(t, &o, a.P, x)
		if a.P == "temperature" {
			a.checkTemperature(t, vectors[a.V], o)
			continue
		}
		a.checkKept(t, vectors[a.V], o)
	}
}

func (a *answer) checkTemperature(t *testing.T, logits []float32, o Params) {
	t.Helper()
	d, err := sampler(t, o).Distribution(logits, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range a.TempProbs {
		for _, c := range d.Chances {
			if c.ID == id && math.Abs(c.Prob-want) > 1e-9*want {
				t.Errorf("%v: probability of %d is %v, want %v", a, id, c.Prob, want)
			}
		}
	}
}

// setFilter sets the parameter of a filter, by its name in the answers.
func setFilter(t *testing.T, o *Params, name string, x float64) {
	t.Helper()
	switch name {
	case "temperature":
		o.Temperature = x
	case "top_k":
		o.TopK = int(x)
	case "top_p":
		o.TopP = max(x, math.SmallestNonzeroFloat64)
	case "min_p":
		o.MinP = x
	case "typical_p", "typ_p":
		o.Typical = x
	case "epsilon_cutoff":
		o.Epsilon = x
	case "eta_cutoff":
		o.Eta = x
	case "top_h":
		o.TopH = x
	case "top_n_sigma":
		o.TopNSigma = x
	case "xtc_threshold":
		o.XTCProbability, o.XTCThreshold = 1, x
	default:
		t.Fatalf("no filter %q", name)
	}
}

func TestFiltersAreLlamaCpps(t *testing.T) {
	all, vectors := answers(t, "llama", 152)
	for _, a := range all {
		o := Params{Temperature: 1, Samplers: samplersLlamaCpp}
		switch a.P {
		case "top_p", "min_p", "typ_p", "xtc_threshold", "top_n_sigma":
			setFilter(t, &o, a.P, a.number(t))
			a.checkKept(t, vectors[a.V], o)
		case "dynatemp":
			var p [3]float64
			a.parse(t, &p)
			o.Temperature, o.TempRange, o.TempExponent = p[0], p[1], p[2]
			s := sampler(t, o)
			if _, err := s.Distribution(vectors[a.V], nil); err != nil {
				t.Fatal(err)
			}
			if math.Abs(s.by-a.Temperature) > 1e-9*a.Temperature {
				t.Errorf("%v: temperature %v, want %v", &a, s.by, a.Temperature)
			}
		}
	}
}

// TestFiltersKeepTheSameOfTheWholeVocabulary counts the ids that a filter keeps of the demo's
// vocabulary.
func TestFiltersKeepTheSameOfTheWholeVocabulary(t *testing.T) {
	var cases []struct {
		Prompt, P string
		A         float64
		Count     int
		IDSum     int `json:"id_sum"`
		Mass      float64
		Stable    bool
		Kept      []int
	}
	if err := fixture.Decoding("full", &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 33 {
		t.Fatalf("%d answers, want at least 33", len(cases))
	}
	m := testmodel.Demo(t, model.Options{})
	tok := tokenizer.GPT2()
	for _, c := range cases {
		prompt, err := tok.Encode(c.Prompt)
		if err != nil {
			t.Fatal(err)
		}
		session := m.NewSession()
		if err := m.Eval(t.Context(), model.Input{Session: session, Tokens: prompt}); err != nil {
			t.Fatal(err)
		}
		raw := softmax(session.Logits())
		o := Params{Temperature: 1}
		setFilter(t, &o, c.P, c.A)
		d, err := sampler(t, o).Distribution(session.Logits(), prompt)
		session.Release()
		if err != nil {
			t.Fatal(err)
		}
		sum, mass := 0, 0.0
		var kept []int
		for _, k := range d.Chances {
			sum, mass, kept = sum+k.ID, mass+raw[k.ID], append(kept, k.ID)
		}
		slices.Sort(kept)
		name := fmt.Sprintf("%q, %s %v", c.Prompt, c.P, c.A)
		if math.Abs(mass-c.Mass) > 1e-4*c.Mass {
			t.Errorf("%s: kept a mass of %v, want %v", name, mass, c.Mass)
		}
		if !c.Stable { // an id on the edge depends on the rounding of the logits
			if off := len(kept) - c.Count; off < -c.Count/100-1 || off > c.Count/100+1 {
				t.Errorf("%s: kept %d ids, want about %d", name, len(kept), c.Count)
			}
			continue
		}
		if len(kept) != c.Count || sum != c.IDSum || c.Kept != nil && !slices.Equal(kept, c.Kept) {
			t.Errorf("%s: kept %d ids of sum %d, want %d of sum %d", name, len(kept), sum, c.Count,
				c.IDSum)
		}
	}
}

func softmax(logits []float32) []float64 {
	p, most, sum := make([]float64, len(logits)), slices.Max(logits), 0.0
	for i, x := range logits {
		p[i] = math.Exp(float64(x) - float64(most))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// TestTheOrderOfFiltersCounts has a distribution of which min-p before and after the temperature
// keeps different sets, and XTC before and after top-k too.
func TestTheOrderOfFiltersCounts(t *testing.T) {
	logits := []float32{5, 4, 3, 2, 1, 0}
	for _, c := range []struct {
		about string
		o     Params
		want  []int
		steps []string
	}{
		{"hf heats first", Params{Temperature: 2, MinP: 0.2}, []int{0, 1, 2, 3},
			[]string{"temperature", "min-p"}},
		{"llama.cpp heats last", Params{Temperature: 2, MinP: 0.2, Samplers: "llama.cpp"},
			[]int{0, 1}, []string{"min-p", "temperature"}},
		{"a list is the order", Params{Temperature: 2, MinP: 0.2, Samplers: "min_p;temp"},
			[]int{0, 1}, []string{"min-p", "temperature"}},
		{"what is not listed does not apply", Params{Temperature: 2, MinP: 0.2, TopK: 1,
			Samplers: "min-p"}, []int{0, 1}, []string{"min-p"}},
		{"xtc sees what top-k left", Params{Temperature: 1, TopK: 2, XTCProbability: 1,
			XTCThreshold: 0.01}, []int{1}, []string{"top-k", "xtc"}},
		{"top-k sees what xtc left", Params{Temperature: 1, TopK: 2, XTCProbability: 1,
			XTCThreshold: 0.2, Samplers: "xtc,top-k"}, []int{1, 2}, []string{"xtc", "top-k"}},
	} {
		d, err := sampler(t, c.o).Distribution(logits, nil)
		if err != nil {
			t.Fatal(err)
		}
		var kept []int
		var steps []string
		for _, k := range d.Chances {
			kept = append(kept, k.ID)
		}
		for _, s := range d.Steps {
			steps = append(steps, s.Name)
		}
		if !slices.Equal(kept, c.want) || !slices.Equal(steps, c.steps) {
			t.Errorf("%s: %v after %v, want %v after %v", c.about, kept, steps, c.want, c.steps)
		}
	}
}

// TestXTCsCoinHasAStreamOfItsOwn draws with a coin that never succeeds: the draws are those without
// XTC.
func TestXTCsCoinHasAStreamOfItsOwn(t *testing.T) {
	logits := []float32{5, 4, 3, 2, 1, 0}
	plain := sampler(t, Params{Temperature: 2, Seed: 7})
	never := sampler(t, Params{Temperature: 2, Seed: 7, XTCProbability: 1e-300})
	half := sampler(t, Params{Temperature: 2, Seed: 7, XTCProbability: 0.5, XTCThreshold: 0.1})
	fell := 0
	for i := range 400 {
		want := next(t, plain, logits, nil)
		if got := next(t, never, logits, nil); got != want {
			t.Fatalf("draw %d is %d, want %d as without XTC", i, got, want)
		}
		if next(t, half, logits, nil); len(half.scores) < len(logits) {
			fell++
		}
	}
	if fell < 150 || fell > 250 {
		t.Errorf("the coin fell %d times of 400, want about 200", fell)
	}
}
