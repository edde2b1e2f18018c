package decode

// The choice of a token: from whole rows or from the best logits of them, and as in other programs.

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/dev/toys"
	"picogpt/internal/cpu"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
	"picogpt/sample"
)

// A device may return only the best logits of a row where these decide: the texts are the same.

// A bestDevice is the processor, except that it returns a Best wherever it may, and counts.
type bestDevice struct{ whole, best atomic.Int64 }

type bestBackend struct {
	engine.Backend
	device *bestDevice
}

func (d *bestDevice) Open(
	_ context.Context, p *stack.Params, b *engine.Budget, team *kernels.Team,
) (engine.Backend, error) {
	return &bestBackend{cpu.New(team, p, b), d}, nil
}

func (b *bestBackend) Run(ctx context.Context, p *engine.Pass) error {
	own := *p
	own.Visit = func(span, i int, row engine.Row) {
		s := &p.Spans[span]
		if s.Best == 0 || s.Logits != nil && i == len(s.Tokens)-1 {
			b.device.whole.Add(1)
		} else {
			best := bestOf(row.Logits, s.Best)
			if s.Enough != nil && !s.Enough(best) {
				b.device.whole.Add(1)
			} else {
				b.device.best.Add(1)
				row = engine.Row{Best: best}
			}
		}
		p.Visit(span, i, row)
	}
	return b.Backend.Run(ctx, &own)
}

// bestOf is a Best by its definition.
func bestOf(logits []float32, k int) *stack.Best {
	b := &stack.Best{LogSumExp: kernels.Leaves{}.LogSumExp(logits)}
	least := slices.Sorted(slices.Values(logits))[max(0, len(logits)-k)]
	for id, x := range logits {
		if x >= least {
			b.IDs, b.Logits = append(b.IDs, int32(id)), append(b.Logits, x)
		}
	}
	return b
}

func TestTheBestLogitsGiveTheSameTexts(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Vocab: 90, Positions: 60})
	device := &bestDevice{}
	whole := testmodel.New(t, config, file, model.Options{})
	best := testmodel.New(t, config, file, model.Options{Device: device})
	for _, c := range []struct {
		what  string
		o     Options
		whole bool // rows are needed whole
	}{
		{"greedy", Options{Top: 1}, false},
		{"greedy, many alternatives", Options{Top: 2}, true},
		{"top-k", Options{Top: 5, Params: sample.Params{Temperature: 0.8, TopK: 7}}, false},
		{"top-k at temperature 1", Options{Params: sample.Params{Temperature: 1, TopK: 3}}, false},
		{"top-k and all filters after it", Options{Params: sample.Params{Temperature: 1.5, TopK: 30,
			TopP: 0.9, MinP: 0.01, Typical: 0.9, Epsilon: 1e-3, Eta: 1e-3, XTCProbability: 0.3,
			XTCThreshold: 0.1}}, false},
		{"llama.cpp's order", Options{Params: sample.Params{Temperature: 1.5, TopK: 9, TopP: 0.8,
			Typical: 0.9, Samplers: "llama.cpp"}}, false},
		{"penalties after top-k", Options{Params: sample.Params{Temperature: 1.5, TopK: 9,
			RepeatPenalty: 1.7, Samplers: "top-k,penalties,temperature"}}, false},
		{"a vocabulary with gaps, and less of it", Options{Vocabulary: gapped{letters(80), []int{3, 30, 31, 79}},
			Params: sample.Params{Temperature: 2, TopK: 5}}, false},
		{"more than there is", Options{Params: sample.Params{Temperature: 1, TopK: 200}}, true},
		{"all ids", Options{Params: sample.Params{Temperature: 1, TopP: 0.9}}, true},
		{"a filter before top-k", Options{Params: sample.Params{Temperature: 1, TopK: 9,
			TopNSigma: 2}}, true},
		{"top-p before top-k", Options{Params: sample.Params{Temperature: 1, TopK: 9, TopP: 0.9,
			Samplers: "temperature,top-p,top-k"}}, true},
		{"a temperature by the entropy", Options{Params: sample.Params{Temperature: 1,
			TempRange: 0.5, TopK: 5}}, true},
		{"mirostat", Options{Params: sample.Params{Temperature: 1, TopK: 5,
			Mirostat: sample.Mirostat{Version: 2, Tau: 3,
				Eta: 0.1}}}, true},
		{"a penalty", Options{Params: sample.Params{RepeatPenalty: 1.3}}, true},
		{"a bias", Options{Params: sample.Params{Bias: []sample.Bias{{IDs: []int{4}, Value: 3}}}}, true},
		{"allowed tokens", Options{Params: sample.Params{Allowed: []int{4, 9}}}, true},
		{"min tokens", Options{Params: sample.Params{MinTokens: 9}}, true},
		{"banned strings", Options{Ban: []string{"b"}, Vocabulary: letters(90)}, true},
		{"guidance", Options{Params: sample.Params{Guidance: &sample.Guidance{Scale: 2}}}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			o := c.o
			o.Seed, o.MaxTokens, o.Overflow = 7, 70, OverflowSlide
			device.whole.Store(0)
			device.best.Store(0)
			compareTexts(t, best, whole, o)
			if n := device.whole.Load(); c.whole != (device.best.Load() == 0) || !c.whole && n > 0 {
				t.Errorf("%d rows were handed out whole, %d by their best logits", n,
					device.best.Load())
			}
		})
	}
}

// TestTheBestLogitsMayBeEnough for top-p: of a large vocabulary some rows are handed out whole, and
// the texts are the same.
func TestTheBestLogitsMayBeEnough(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Vocab: 400, Positions: 60})
	device := &bestDevice{}
	whole := testmodel.New(t, config, file, model.Options{})
	best := testmodel.New(t, config, file, model.Options{Device: device})
	for _, p := range []sample.Params{
		{Temperature: 1, TopP: 0.1}, {Temperature: 1, TopP: 0.45, MinP: 0.01},
		{Temperature: 0.5, TopP: 0.3}, {Temperature: 1, TopP: 0.999},
	} {
		device.whole.Store(0)
		device.best.Store(0)
		compareTexts(t, best, whole, Options{Params: p, Top: 3, MaxTokens: 70,
			Overflow: OverflowSlide})
		if n := device.best.Load(); n == 0 != (p.TopP == 0.999) {
			t.Errorf("%+v: %d rows were handed out whole, %d by their best logits", p,
				device.whole.Load(), n)
		}
	}
}

// compareTexts generates alone and in company, and compares all of the tokens, to the last bit.
func compareTexts(t *testing.T, got, want *model.Model, o Options) {
	t.Helper()
	texts := func(m *model.Model) (all [][]Token) {
		for i := range 3 {
			all = append(all, collect(t, m.NewSession(), []int{i + 1, 2, 3}, o))
		}
		for tok, err := range InABatch(t, m, 0, []int{5, 6}, 3, o) {
			if err != nil {
				t.Fatal(err)
			}
			for len(all) < 6 {
				all = append(all, nil)
			}
			all[3+tok.Sample] = append(all[3+tok.Sample], tok)
		}
		return all
	}
	a, b := texts(got), texts(want)
	for i := range b {
		if len(b[i]) < 2 || !reflect.DeepEqual(a[i], b[i]) {
			t.Errorf("text %d is %v, want %v", i, fmt.Sprint(a[i]), fmt.Sprint(b[i]))
		}
	}
}

// TestDraftsNeedWholeRows, whatever the sampler needs.
func TestDraftsNeedWholeRows(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Vocab: 90, Positions: 60})
	m := testmodel.New(t, config, file, model.Options{Device: &bestDevice{}})
	o := Options{MaxTokens: 9}
	looked := o
	looked.Lookup, looked.alwaysDraft = 3, true
	drafted := collect(t, m.NewSession(), []int{1, 2, 1, 2, 1}, looked)
	if plain := collect(t, m.NewSession(), []int{1, 2, 1, 2, 1}, o); !slices.EqualFunc(drafted, plain,
		func(a, b Token) bool { return a.ID == b.ID && a.LogProb == b.LogProb }) {
		t.Errorf("drafts give %v, want %v", drafted, plain)
	}
}

// Whole texts with options that depend on the context, against Hugging Face's.

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
		o := Options{MaxTokens: c.MaxNew, EndOfText: append([]int{}, c.EOS...),
			Params: sample.Params{NoRepeatNgram: c.Ngram, RepeatPenalty: c.Repeat,
				MinTokens: c.Min}}
		for _, ids := range c.Bad {
			o.Bias = append(o.Bias, sample.Bias{IDs: ids, Value: math.Inf(-1)})
		}
		if c.Decay != nil {
			o.LengthDecay = sample.LengthDecay{Start: int(c.Decay[0]), Factor: c.Decay[1]}
		}
		tokens := collect(t, m.NewSession(), c.Prompt, o)
		if got := ids(tokens); !slices.Equal(got, c.IDs) {
			t.Errorf("%+v: %v, want %v", c, got, c.IDs)
		}
	}
}

// Greedy texts of a toy model equal those of another program.

func TestGreedyIsHuggingFacesOnAToy(t *testing.T) {
	var cases []struct {
		Prompt    []int     `json:"prompt"`
		MaxNew    int       `json:"max_new"`
		EOS       []int     `json:"eos"`
		NoRepeat  int       `json:"no_repeat_ngram_size"`
		Penalty   float64   `json:"repetition_penalty"`
		MinNew    int       `json:"min_new_tokens"`
		Guidance  float64   `json:"guidance_scale"`
		Negative  []int     `json:"negative"`
		Decay     []float64 `json:"exponential_decay_length_penalty"`
		ForcedEOS []int     `json:"forced_eos_token_id"`
		IDs       []int     `json:"ids"`
	}
	if err := fixture.Decoding("toy_greedy", &cases); err != nil || len(cases) != 9 {
		t.Fatalf("%d cases, want 9: %v", len(cases), err)
	}
	m := testmodel.Toy(t)
	for _, c := range cases {
		o := Options{MaxTokens: c.MaxNew, EndOfText: append([]int{}, c.EOS...),
			Params: sample.Params{NoRepeatNgram: c.NoRepeat, RepeatPenalty: c.Penalty,
				MinTokens: c.MinNew}}
		if c.Decay != nil {
			o.LengthDecay = sample.LengthDecay{Start: int(c.Decay[0]), Factor: c.Decay[1]}
		}
		if c.Guidance != 0 {
			o.Guidance = &sample.Guidance{Scale: c.Guidance, Negative: c.Negative}
		}
		if c.ForcedEOS != nil {
			o.Constraint = &toys.EndAt{End: c.ForcedEOS[0], Left: c.MaxNew}
		}
		if got := ids(collect(t, m.NewSession(), c.Prompt, o)); !slices.Equal(got, c.IDs) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestStreamsComputeWithTheModelsKernels checks that choosing uses the kernels that the model was
// told to run.
func TestStreamsComputeWithTheModelsKernels(t *testing.T) {
	for _, name := range kernels.Variants() {
		m := testmodel.Demo(t, model.Options{Kernel: name})
		st, err := NewStream(m.NewSession(), []int{1}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for what, leaves := range map[string]kernels.Leaves{"the sampler": st.sampler.Leaves,
			"log-probabilities": st.limits.leaves, "a fork": st.Fork().sampler.Leaves} {
			if got := leaves.Variant(); got != name {
				t.Errorf("kernels %q: %s computes with %q", name, what, got)
			}
		}
	}
}
