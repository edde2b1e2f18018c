package decode

// The sampler's steps against the answers of others: Hugging Face's code and llama.cpp's
// definitions.

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/internal/fixture"
	"picogpt/internal/testmodel"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// An answer is what others keep of a vector of logits, or make of its temperature.
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

// number is the answer's parameter.
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

// checkKept compares what is left of a vector with an answer. Where the order among equals is open,
// only the logits count.
func (a *answer) checkKept(t *testing.T, logits []float32, o Options) {
	t.Helper()
	s := sampler(t, o)
	s.least = max(1, a.MinKeep)
	d, err := s.Distribution(logits, a.Context)
	if err != nil {
		t.Errorf("%v: %v", a, err)
		return
	}
	slices.SortFunc(d.Candidates, func(a, b Candidate) int { return a.ID - b.ID })
	var kept []int
	for _, c := range d.Candidates {
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
		if got := d.Candidates[i].Prob; math.Abs(got-want) > 1e-9*want+1e-15 {
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
		x, o := a.number(t), Options{Temperature: 1}
		setFilter(t, &o, a.P, x)
		if a.P == "temperature" {
			a.checkTemperature(t, vectors[a.V], o)
			continue
		}
		a.checkKept(t, vectors[a.V], o)
	}
}

func (a *answer) checkTemperature(t *testing.T, logits []float32, o Options) {
	t.Helper()
	d, err := sampler(t, o).Distribution(logits, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range a.TempProbs {
		for _, c := range d.Candidates {
			if c.ID == id && math.Abs(c.Prob-want) > 1e-9*want {
				t.Errorf("%v: probability of %d is %v, want %v", a, id, c.Prob, want)
			}
		}
	}
}

// setFilter gives a filter, by its name in the answers, its parameter.
func setFilter(t *testing.T, o *Options, name string, x float64) {
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
		o := Options{Temperature: 1, Samplers: samplersLlamaCpp}
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
	tok := demoTokenizer(t)
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
		o := Options{Temperature: 1}
		setFilter(t, &o, c.P, c.A)
		d, err := sampler(t, o).Distribution(session.Logits(), prompt)
		session.Release()
		if err != nil {
			t.Fatal(err)
		}
		sum, mass := 0, 0.0
		var kept []int
		for _, k := range d.Candidates {
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

func demoTokenizer(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	ck, err := checkpoint.OpenFS(demo.FS())
	if err != nil {
		t.Fatal(err)
	}
	defer ck.Close()
	tok, err := ck.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestTheOrderOfFiltersCounts takes a distribution in which min-p before and after the temperature
// keeps another set, and XTC before and after top-k too.
func TestTheOrderOfFiltersCounts(t *testing.T) {
	logits := []float32{5, 4, 3, 2, 1, 0}
	for _, c := range []struct {
		about string
		o     Options
		want  []int
		steps []string
	}{
		{"hf heats first", Options{Temperature: 2, MinP: 0.2}, []int{0, 1, 2, 3},
			[]string{"temperature", "min-p"}},
		{"llama.cpp heats last", Options{Temperature: 2, MinP: 0.2, Samplers: "llama.cpp"},
			[]int{0, 1}, []string{"min-p", "temperature"}},
		{"a list is the order", Options{Temperature: 2, MinP: 0.2, Samplers: "min_p;temp"},
			[]int{0, 1}, []string{"min-p", "temperature"}},
		{"what is not listed does not apply", Options{Temperature: 2, MinP: 0.2, TopK: 1,
			Samplers: "min-p"}, []int{0, 1}, []string{"min-p"}},
		{"xtc sees what top-k left", Options{Temperature: 1, TopK: 2, XTCProbability: 1,
			XTCThreshold: 0.01}, []int{1}, []string{"top-k", "xtc"}},
		{"top-k sees what xtc left", Options{Temperature: 1, TopK: 2, XTCProbability: 1,
			XTCThreshold: 0.2, Samplers: "xtc,top-k"}, []int{1, 2}, []string{"xtc", "top-k"}},
	} {
		d, err := sampler(t, c.o).Distribution(logits, nil)
		if err != nil {
			t.Fatal(err)
		}
		var kept []int
		var steps []string
		for _, k := range d.Candidates {
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

// TestXTCsCoinHasAStreamOfItsOwn draws with a coin that never falls: the draws are those without.
func TestXTCsCoinHasAStreamOfItsOwn(t *testing.T) {
	logits := []float32{5, 4, 3, 2, 1, 0}
	plain := sampler(t, Options{Temperature: 2, Seed: 7})
	never := sampler(t, Options{Temperature: 2, Seed: 7, XTCProbability: 1e-300})
	half := sampler(t, Options{Temperature: 2, Seed: 7, XTCProbability: 0.5, XTCThreshold: 0.1})
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

// TestContextStepsAreHuggingFaces compares the logits after one step that looks at the context.
func TestContextStepsAreHuggingFaces(t *testing.T) {
	all, vectors := answers(t, "context_processors", 57)
	for _, a := range all {
		logits := vectors[a.V]
		eos := len(logits) - 1
		o := Options{EndOfText: []int{eos}}
		shut := func(ids ...int) {
			for _, id := range ids {
				o.Bias = append(o.Bias, Bias{[]int{id}, math.Inf(-1)})
			}
		}
		switch a.P {
		case "repetition_penalty":
			o.RepeatPenalty = a.number(t)
		case "repetition_penalty_without_prompt":
			var p [2]float64
			a.parse(t, &p)
			o.RepeatPenalty, o.PenaltyPrompt = p[0], new(bool)
			o.Generated = len(a.Context) - int(p[1])
		case "no_repeat_ngram_size":
			o.NoRepeatNgram = int(a.number(t))
		case "bad_words_ids":
			var words [][]int
			a.parse(t, &words)
			for _, ids := range words {
				if !slices.Equal(ids, o.EndOfText) { // which Hugging Face leaves out
					o.Bias = append(o.Bias, Bias{ids, math.Inf(-1)})
				}
			}
		case "sequence_bias":
			var biases [][2]json.RawMessage
			a.parse(t, &biases)
			for _, b := range biases {
				var bias Bias
				for i, v := range []any{&bias.IDs, &bias.Value} {
					if err := json.Unmarshal(b[i], v); err != nil {
						t.Fatal(err)
					}
				}
				o.Bias = append(o.Bias, bias)
			}
		case "min_length":
			o.MinTokens, o.Generated = int(a.number(t)), len(a.Context)
		case "min_new_tokens":
			var p [2]int
			a.parse(t, &p)
			o.MinTokens, o.Generated = p[0], len(a.Context)-p[1]
		case "exponential_decay_length_penalty":
			var p [3]float64
			a.parse(t, &p)
			o.LengthDecay = LengthDecay{int(p[0]), p[1]}
			o.Generated = len(a.Context) - int(p[2])
		case "suppress_tokens":
			var ids []int
			a.parse(t, &ids)
			shut(ids...)
		case "begin_suppress_tokens": // no option of its own
			var p [2]json.RawMessage
			a.parse(t, &p)
			var ids []int
			if err := json.Unmarshal(p[0], &ids); err != nil {
				t.Fatal(err)
			}
			if string(p[1]) == fmt.Sprint(len(a.Context)) {
				shut(ids...)
			}
		case "forced_eos_token_id": // no option: a text that has to end is cut
			continue
		default:
			t.Fatalf("no step %q", a.P)
		}
		a.checkScores(t, logits, o, 1e-6)
	}
}

// checkScores compares the logits after the steps before the filters with an answer.
func (a *answer) checkScores(t *testing.T, logits []float32, o Options, close float64) {
	t.Helper()
	s := sampler(t, o)
	if err := s.score(logits, a.Context); err != nil {
		t.Errorf("%v: %v", a, err)
		return
	}
	want := make([]float64, len(logits))
	for id, x := range logits {
		want[id] = float64(x)
	}
	for _, c := range a.Changed {
		want[int(c[0])] = c[1]
	}
	for _, id := range a.Banned {
		want[id] = math.Inf(-1)
	}
	for id, x := range want {
		got := s.scores[id]
		if got != x && !(math.Abs(got-x) <= close*(1+math.Abs(x))) {
			t.Errorf("%v after %v: logit of %d is %v, want %v", a, a.Context, id, got, x)
		}
	}
}

func TestPenaltiesAndDRYAreLlamaCpps(t *testing.T) {
	all, vectors := answers(t, "llama", 152)
	for _, a := range all {
		o, logits := Options{Samplers: samplersLlamaCpp}, vectors[a.V]
		switch a.P {
		case "penalties":
			var p struct {
				LastN                       int `json:"last_n"`
				Repeat, Frequency, Presence float64
			}
			a.parse(t, &p)
			o.RepeatPenalty, o.FrequencyPenalty, o.PresencePenalty = p.Repeat, p.Frequency, p.Presence
			if o.RepeatLastN = max(0, p.LastN); p.LastN == 0 { // no tokens at all: nothing to ask for
				o = Options{}
			}
		case "dry":
			var p struct {
				N                int
				Multiplier, Base float64
				Allowed          int     `json:"allowed_length"`
				Last             int     `json:"last_n"`
				Breakers         [][]int `json:"breakers"`
			}
			a.parse(t, &p)
			logits = make([]float32, p.N)
			o.DRY = DRY{p.Multiplier, p.Base, p.Allowed, max(0, p.Last), p.Breakers}
			if p.Last == 0 {
				o.DRY = DRY{}
			}
		default:
			continue
		}
		a.checkScores(t, logits, o, 1e-6)
	}
}

// TestChainsAreHuggingFaces compares what several steps together leave.
func TestChainsAreHuggingFaces(t *testing.T) {
	all, vectors := answers(t, "chains", 24)
	for _, a := range all {
		var p struct {
			Temperature *float64
			TopK        int     `json:"top_k"`
			TopP        float64 `json:"top_p"`
			MinP        float64 `json:"min_p"`
			Typical     float64 `json:"typical_p"`
			Epsilon     float64 `json:"epsilon_cutoff"`
			Eta         float64 `json:"eta_cutoff"`
			TopH        float64 `json:"top_h"`
			Repeat      float64 `json:"repetition_penalty"`
			Ngram       int     `json:"no_repeat_ngram_size"`
			Min         int     `json:"min_new_tokens"`
			New         int
			Beams       int                  `json:"num_beams"`
			Bad         [][]int              `json:"bad_words_ids"`
			Suppress    []int                `json:"suppress_tokens"`
			Bias        [][2]json.RawMessage `json:"sequence_bias"`
		}
		a.parse(t, &p)
		o := Options{Temperature: 1, TopK: p.TopK, TopP: p.TopP, MinP: p.MinP, Typical: p.Typical,
			Epsilon: p.Epsilon, Eta: p.Eta, TopH: p.TopH, RepeatPenalty: p.Repeat,
			NoRepeatNgram: p.Ngram, MinTokens: p.Min, Generated: p.New,
			EndOfText: []int{len(vectors[a.V]) - 1}}
		if p.Temperature != nil {
			o.Temperature = *p.Temperature
		}
		for _, ids := range p.Bad {
			o.Bias = append(o.Bias, Bias{ids, math.Inf(-1)})
		}
		for _, id := range p.Suppress {
			o.Bias = append(o.Bias, Bias{[]int{id}, math.Inf(-1)})
		}
		for _, b := range p.Bias {
			var bias Bias
			for i, v := range []any{&bias.IDs, &bias.Value} {
				if err := json.Unmarshal(b[i], v); err != nil {
					t.Fatal(err)
				}
			}
			o.Bias = append(o.Bias, bias)
		}
		if a.MinKeep = 1; p.Beams > 1 {
			a.MinKeep = 2
		}
		a.checkKept(t, vectors[a.V], o)
	}
}

// TestGreedyWithContextStepsIsHuggingFaces writes whole texts.
func TestGreedyWithContextStepsIsHuggingFaces(t *testing.T) {
	var cases []struct {
		Prompt   []int `json:"prompt_ids"`
		IDs, EOS []int
		MaxNew   int       `json:"max_new"`
		Ngram    int       `json:"no_repeat_ngram_size"`
		Repeat   float64   `json:"repetition_penalty"`
		Min      int       `json:"min_new_tokens"`
		Bad      [][]int   `json:"bad_words_ids"`
		Decay    []float64 `json:"exponential_decay_length_penalty"`
		Guidance float64   `json:"guidance_scale"`
	}
	if err := fixture.Decoding("greedy", &cases); err != nil {
		t.Fatal(err)
	}
	m := testmodel.Demo(t, model.Options{})
	for _, c := range cases {
		if c.Guidance != 0 {
			continue
		}
		o := Options{MaxTokens: c.MaxNew, NoRepeatNgram: c.Ngram, RepeatPenalty: c.Repeat,
			MinTokens: c.Min, EndOfText: append([]int{}, c.EOS...)}
		for _, ids := range c.Bad {
			o.Bias = append(o.Bias, Bias{ids, math.Inf(-1)})
		}
		if c.Decay != nil {
			o.LengthDecay = LengthDecay{int(c.Decay[0]), c.Decay[1]}
		}
		tokens := collect(t, m.NewSession(), c.Prompt, o)
		if got := ids(tokens); !slices.Equal(got, c.IDs) {
			t.Errorf("%+v: %v, want %v", c, got, c.IDs)
		}
	}
}

func TestPenaltiesCountWhatTheyAreToCount(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		about string
		o     Options
		want  []float64 // of four ids whose logits are 2, 2, -2 and 0
	}{
		{"the repetition penalty counts the prompt, once", Options{RepeatPenalty: 2},
			[]float64{1, 1, -4, 0}},
		{"and need not", Options{RepeatPenalty: 2, PenaltyPrompt: &no}, []float64{2, 1, -4, 0}},
		{"frequency counts new tokens", Options{FrequencyPenalty: 0.5}, []float64{2, 1, -2.5, 0}},
		{"presence counts them once", Options{PresencePenalty: 0.5}, []float64{2, 1.5, -2.5, 0}},
		{"they can count the prompt too", Options{FrequencyPenalty: 0.5, PenaltyPrompt: &yes},
			[]float64{1.5, 1, -3, 0}},
		{"as they do in llama.cpp", Options{FrequencyPenalty: 0.5, Samplers: "llama.cpp"},
			[]float64{1.5, 1, -3, 0}},
		{"the window bounds them", Options{FrequencyPenalty: 0.5, RepeatLastN: 2},
			[]float64{2, 1.5, -2.5, 0}},
		{"negative penalties are rewards", Options{FrequencyPenalty: -0.5},
			[]float64{2, 3, -1.5, 0}},
	} {
		c.o.Generated = 3
		s := sampler(t, c.o)
		if err := s.score([]float32{2, 2, -2, 0}, []int{0, 2, 1, 1, 2}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.scores, c.want) {
			t.Errorf("%s: %v, want %v", c.about, s.scores, c.want)
		}
	}
}

// TestRepeatsIsWhatLookingFindsOut compares the Z-algorithm with two loops.
func TestRepeatsIsWhatLookingFindsOut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		w := make([]int, 1+r.IntN(20))
		for i := range w {
			w[i] = r.IntN(2)
		}
		for i, got := range repeats(nil, w) {
			want := 0
			for want+i < len(w) && w[len(w)-1-want] == w[len(w)-1-i-want] {
				want++
			}
			if got != want {
				t.Fatalf("%v: %d tokens at %d, want %d", w, got, i, want)
			}
		}
	}
}

func TestBreakersAreTheIDsInWhichAStringBegins(t *testing.T) {
	got, err := DRYBreakers(demoTokenizer(t), "*\n*")
	if err != nil {
		t.Fatal(err)
	}
	tok := demoTokenizer(t)
	for _, ids := range got {
		text, err := tok.Decode(ids)
		if err != nil || !strings.Contains(text, "*\n*") {
			t.Errorf("breaker %v is %q", ids, text)
		}
	}
	if len(got) < 10 {
		t.Errorf("%d breakers, want the ids that end with * too", len(got))
	}
}

// TestLatePenaltiesSeeWhatFiltersLeft has a list with the penalties last.
func TestLatePenaltiesSeeWhatFiltersLeft(t *testing.T) {
	o := Options{Temperature: 1, TopK: 2, RepeatPenalty: 4, Samplers: "top-k,penalties"}
	d, err := sampler(t, o).Distribution([]float32{1, 4, 3, 2}, []int{1, 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Candidates) != 2 || d.Candidates[0].ID != 2 || d.Candidates[1].ID != 1 ||
		math.Abs(d.Candidates[0].Prob/d.Candidates[1].Prob-math.Exp(2)) > 1e-12 {
		t.Errorf("%v, want 2 and then 1, by a factor of e²", d.Candidates)
	}
	o.Temperature, o.Samplers = 0, "top-k,penalties"
	if id := next(t, sampler(t, o), []float32{1, 4, 3, 2}, []int{1, 3}); id != 2 {
		t.Errorf("greedy takes %d, want 2: penalties count wherever they stand", id)
	}
}
