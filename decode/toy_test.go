package decode

// A toy: a language model without a network, for which another program's searches are known. It is
// made into a network too.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"picogpt/constrain"
	"picogpt/internal/testing/fixture"
	"picogpt/internal/testing/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/weights"
)

// A toy's logits depend on the last id and the length of the context.
type toy struct{ A, B [][]float32 }

func (m *toy) logits(context []int) []float32 {
	a, b := m.A[context[len(context)-1]], m.B[len(context)%len(m.B)]
	logits := make([]float32, len(a))
	for i := range logits {
		logits[i] = a[i] + b[i]
	}
	return logits
}

// search searches, and counts the evaluations.
func (m *toy) search(prompt []int, b BeamOptions, o Options) ([]Hypothesis, int, error) {
	l := limits{context: 100, vocabulary: len(m.A), endOfText: o.EndOfText}
	root, err := newStream(l, nil, prompt, o)
	if err != nil {
		return nil, 0, err
	}
	s := newBeamSearch(b.withDefaults(), root)
	evals := 0
	for ; !s.done(); evals++ {
		for _, g := range s.groups {
			for i, b := range g.running {
				g.see(i, m.logits(b.context))
			}
		}
		if err := s.advance(); err != nil {
			return nil, 0, err
		}
	}
	return s.best(), evals, nil
}

func newToy(t *testing.T) *toy {
	t.Helper()
	m := &toy{}
	if err := fixture.Decoding("toy", m); err != nil {
		t.Fatal(err)
	}
	return m
}

// network returns a model with the toy's logits. A hidden state has a 1 for the token and a 1 for
// the length, and 0 elsewhere: the block adds nothing, and ln_f takes off the mean and divides by the
// deviation, which are always the same.
func (m *toy) network(t *testing.T) *model.Model {
	t.Helper()
	v, n := len(m.A), len(m.A)+len(m.B)
	o := fixture.Options{Vocab: v, Positions: 100, Embd: n, Head: 1, Layer: 1, Untied: true}
	mean := 2 / float64(n)
	deviation := math.Sqrt(mean - mean*mean + 1e-5)
	zero := func(int) float64 { return 0 }
	one := func(is bool) float64 { return map[bool]float64{true: 1}[is] }
	elements := map[string]func(i int) float64{
		"wte.weight":             func(i int) float64 { return one(i%n == i/n) },
		"wpe.weight":             func(i int) float64 { return one(i%n == v+(i/n+1)%len(m.B)) },
		"h.0.attn.c_proj.weight": zero,
		"h.0.attn.c_proj.bias":   zero,
		"h.0.mlp.c_proj.weight":  zero,
		"h.0.mlp.c_proj.bias":    zero,
		"ln_f.weight":            func(int) float64 { return deviation },
		"ln_f.bias":              func(int) float64 { return mean },
		"lm_head.weight": func(i int) float64 {
			return float64(slices.Concat(m.A, m.B)[i%n][i/n])
		},
	}
	tensors := fixture.Tensors(o)
	for _, tensor := range tensors {
		if element := elements[tensor.Name]; element != nil {
			for i := range tensor.Len() {
				binary.LittleEndian.PutUint32(tensor.Data[4*i:], math.Float32bits(float32(element(i))))
			}
			delete(elements, tensor.Name)
		}
	}
	if len(elements) > 0 {
		t.Fatalf("the checkpoint has no %v", elements)
	}
	var file bytes.Buffer
	if err := weights.Write(&file, nil, tensors); err != nil {
		t.Fatal(err)
	}
	return testmodel.New(t, fixture.Config(o), file.Bytes(), model.Options{})
}

func TestBeamSearchIsHuggingFacesOnAToy(t *testing.T) {
	m := newToy(t)
	network := m.network(t)
	for _, key := range []string{"toy_beam", "toy_group"} {
		var cases []beamCase
		if err := fixture.Decoding(key, &cases); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			b, o := c.options()
			var prompt []int
			if err := json.Unmarshal(c.Prompt, &prompt); err != nil {
				t.Fatal(err)
			}
			got, evals, err := m.search(prompt, b, o)
			if err != nil {
				t.Fatal(err)
			}
			c.check(t, got)
			if evals != c.Evals {
				t.Errorf("%v: %d evaluations, want %d", &c, evals, c.Evals)
			}
			if got, err = Beams(t.Context(), network.NewSession(), prompt, b, o); err != nil {
				t.Fatal(err)
			}
			c.check(t, got)
		}
	}
}

// An endAt is a constraint of a program's own: the last of some tokens ends the text. It is Hugging
// Face's forced_eos_token_id.
type endAt struct{ end, left int }

func (e *endAt) Mask(open []uint64) error {
	for i := range open {
		open[i] = math.MaxUint64
	}
	if e.left == 1 {
		clear(open)
		open[e.end>>6] |= 1 << (e.end & 63)
	}
	return nil
}

func (e *endAt) Accept(int) error        { e.left--; return nil }
func (e *endAt) Rewind(n int) error      { e.left += n; return nil }
func (e *endAt) Fork() constrain.Matcher { f := *e; return &f }

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
	m := newToy(t).network(t)
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
			o.Constraint = &endAt{c.ForcedEOS[0], c.MaxNew}
		}
		if got := ids(collect(t, m.NewSession(), c.Prompt, o)); !slices.Equal(got, c.IDs) {
			t.Errorf("%+v: %v", c, got)
		}
		found, err := Beams(t.Context(), m.NewSession(), c.Prompt, BeamOptions{}, o)
		if err != nil {
			t.Fatal(err)
		}
		// Beams see log-probabilities, which a penalty or a factor changes otherwise.
		got := ids(found[0].Tokens)
		if c.Penalty == 0 && c.Decay == nil && !slices.Equal(got, c.IDs) {
			t.Errorf("%+v: one beam finds %v", c, got)
		}
	}
}
