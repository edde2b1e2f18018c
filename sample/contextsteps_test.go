package sample

// The sampler's steps that depend on the context, against recorded answers of other programs.

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/tokenizer"
)

// TestContextStepsAreHuggingFaces compares the logits after one step that looks at the context.
func TestContextStepsAreHuggingFaces(t *testing.T) {
	all, vectors := answers(t, "context_processors", 57)
	for _, a := range all {
		logits := vectors[a.V]
		eos := len(logits) - 1
		o, of := Params{}, IDs{Ends: []int{eos}}
		var open []uint64 // of a constraint, nil: all
		shut := func(ids ...int) {
			for _, id := range ids {
				o.Bias = append(o.Bias, Bias{IDs: []int{id}, Value: math.Inf(-1)})
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
				if !slices.Equal(ids, of.Ends) { // which Hugging Face leaves out
					o.Bias = append(o.Bias, Bias{IDs: ids, Value: math.Inf(-1)})
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
				o.SequenceBias = append(o.SequenceBias, bias)
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
		case "forced_eos_token_id": // no option of its own: a constraint can do it
			if int(a.number(t))-len(a.Context) == 1 {
				open = make([]uint64, (len(logits)+63)/64)
				open[eos>>6] = 1 << (eos & 63)
			}
		default:
			t.Fatalf("no step %q", a.P)
		}
		a.checkScores(t, logits, o, of, open, 1e-6)
	}
}

// checkScores compares the logits after the steps before the filters with an answer.
func (a *answer) checkScores(
	t *testing.T, logits []float32, o Params, of IDs, open []uint64, close float64,
) {
	t.Helper()
	s := sampler(t, o, of)
	s.Open = open
	if err := s.score(Row{Logits: logits}, a.Context); err != nil {
		t.Errorf("%v: %v", a, err)
		return
	}
	want := make([]float64, len(logits))
	for id, x := range logits {
		if want[id] = float64(x); a.Only != nil && !slices.Contains(a.Only, id) {
			want[id] = math.Inf(-1)
		}
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
		o, logits := Params{Samplers: samplersLlamaCpp}, vectors[a.V]
		switch a.P {
		case "penalties":
			var p struct {
				LastN                       int `json:"last_n"`
				Repeat, Frequency, Presence float64
			}
			a.parse(t, &p)
			o.RepeatPenalty, o.FrequencyPenalty, o.PresencePenalty = p.Repeat, p.Frequency, p.Presence
			if o.RepeatLastN = max(0, p.LastN); p.LastN == 0 { // no tokens at all: nothing to ask for
				o = Params{}
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
		a.checkScores(t, logits, o, IDs{}, nil, 1e-6)
	}
}

// TestChainsAreHuggingFaces compares the logits after several steps together.
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
		o := Params{Temperature: 1, TopK: p.TopK, TopP: p.TopP, MinP: p.MinP, Typical: p.Typical,
			Epsilon: p.Epsilon, Eta: p.Eta, TopH: p.TopH, RepeatPenalty: p.Repeat,
			NoRepeatNgram: p.Ngram, MinTokens: p.Min, Generated: p.New}
		if p.Temperature != nil {
			o.Temperature = *p.Temperature
		}
		for _, ids := range p.Bad {
			o.Bias = append(o.Bias, Bias{IDs: ids, Value: math.Inf(-1)})
		}
		for _, id := range p.Suppress {
			o.Bias = append(o.Bias, Bias{IDs: []int{id}, Value: math.Inf(-1)})
		}
		for _, b := range p.Bias {
			var bias Bias
			for i, v := range []any{&bias.IDs, &bias.Value} {
				if err := json.Unmarshal(b[i], v); err != nil {
					t.Fatal(err)
				}
			}
			o.SequenceBias = append(o.SequenceBias, bias)
		}
		if a.MinKeep = 1; p.Beams > 1 {
			a.MinKeep = 2
		}
		a.checkKept(t, vectors[a.V], o, IDs{Ends: []int{len(vectors[a.V]) - 1}})
	}
}

func TestPenaltiesCountWhatTheyAreToCount(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		about string
		o     Params
		want  []float64 // of four ids whose logits are 2, 2, -2 and 0
	}{
		{"the repetition penalty counts the prompt, once", Params{RepeatPenalty: 2},
			[]float64{1, 1, -4, 0}},
		{"and need not", Params{RepeatPenalty: 2, PenaltyPrompt: &no}, []float64{2, 1, -4, 0}},
		{"frequency counts new tokens", Params{FrequencyPenalty: 0.5}, []float64{2, 1, -2.5, 0}},
		{"presence counts them once", Params{PresencePenalty: 0.5}, []float64{2, 1.5, -2.5, 0}},
		{"they can count the prompt too", Params{FrequencyPenalty: 0.5, PenaltyPrompt: &yes},
			[]float64{1.5, 1, -3, 0}},
		{"as they do in llama.cpp", Params{FrequencyPenalty: 0.5, Samplers: "llama.cpp"},
			[]float64{1.5, 1, -3, 0}},
		{"the window bounds them", Params{FrequencyPenalty: 0.5, RepeatLastN: 2},
			[]float64{2, 1.5, -2.5, 0}},
		{"negative penalties are rewards", Params{FrequencyPenalty: -0.5},
			[]float64{2, 3, -1.5, 0}},
	} {
		c.o.Generated = 3
		s := sampler(t, c.o)
		if err := s.score(Row{Logits: []float32{2, 2, -2, 0}}, []int{0, 2, 1, 1, 2}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.scores, c.want) {
			t.Errorf("%s: %v, want %v", c.about, s.scores, c.want)
		}
	}
}

// TestRepeatsIsWhatLookingFindsOut compares the Z-algorithm with two nested loops.
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
	got, err := DRYBreakers(tokenizer.GPT2(), "*\n*")
	if err != nil {
		t.Fatal(err)
	}
	tok := tokenizer.GPT2()
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
	o := Params{Temperature: 1, TopK: 2, RepeatPenalty: 4, Samplers: "top-k,penalties"}
	d, err := sampler(t, o).Distribution([]float32{1, 4, 3, 2}, []int{1, 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Chances) != 2 || d.Chances[0].ID != 2 || d.Chances[1].ID != 1 ||
		math.Abs(d.Chances[0].Prob/d.Chances[1].Prob-math.Exp(2)) > 1e-12 {
		t.Errorf("%v, want 2 and then 1, by a factor of e²", d.Chances)
	}
	o.Temperature, o.Samplers = 0, "top-k,penalties"
	if id := next(t, sampler(t, o), []float32{1, 4, 3, 2}, []int{1, 3}); id != 2 {
		t.Errorf("greedy takes %d, want 2: penalties count wherever they stand", id)
	}
}

// TestARepetitionBeginsAfterItsBreaker: 7 came after 5, 9 and 1, of which 9 is a breaker, so that it
// continues a repetition of one token and not of three.
func TestARepetitionBeginsAfterItsBreaker(t *testing.T) {
	context, logits := []int{5, 9, 1, 7, 5, 9, 1}, make([]float32, 12)
	logits[7] = 1.5
	for want, breakers := range map[int][][]int{7: {{9}}, 0: nil} {
		p := Params{DRY: DRY{Multiplier: 1, Base: 2, AllowedLength: 1, Breakers: breakers}}
		if got := next(t, sampler(t, p), logits, context); got != want {
			t.Errorf("breakers %v: id %d, want %d", breakers, got, want)
		}
	}
}
