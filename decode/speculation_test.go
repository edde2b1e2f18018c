package decode

// Speculation changes only the time.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/constrain"
	"picogpt/decode/guess"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
)

// speculations returns the ways to guess, for a tiny model: by lookup, by itself in fewer bits,
// which is right most of the time, and by another model, which is wrong most of the time.
func speculations(t *testing.T) (*model.Model, map[string]Options) {
	t.Helper()
	m := tiny(t, fixture.Options{})
	config, file := fixture.Checkpoint(fixture.Options{})
	near := testmodel.New(t, config, file, model.Options{Threads: 1, Format: "q8"})
	far := tiny(t, fixture.Options{Seed: 5, Positions: 17, Layer: 1})
	return m, map[string]Options{
		"lookup 1": {Lookup: 1}, "lookup 9": {Lookup: 9},
		"near draft": {Draft: &guess.Model{Model: near}},
		"far draft":  {Draft: &guess.Model{Open: opens(far, nil)}},
	}
}

func opens(m *model.Model, err error) func(context.Context) (*model.Model, error) {
	return func(context.Context) (*model.Model, error) { return m, err }
}

// randomOptions returns options of every kind, some in effect and some not.
func randomOptions(random *rand.Rand) Options {
	o := Options{MaxTokens: 1 + random.IntN(60), Overflow: OverflowSlide, EndOfText: []int{},
		Vocabulary: letters(29), Top: random.IntN(3), Params: sample.Params{Seed: random.Uint64()}}
	if random.IntN(3) > 0 {
		o.Temperature = 0.2 + 1.5*random.Float64()
		o.TopK, o.TopP, o.MinP = random.IntN(29), random.Float64(), random.Float64()/8
	}
	if random.IntN(3) == 0 {
		o.XTCProbability, o.XTCThreshold = 0.5, 0.05
		o.TempRange, o.TempExponent = o.Temperature/2, 1
		o.Typical, o.TopNSigma = 0.5+random.Float64()/2, 3*random.Float64()
		o.Samplers = []string{"", "llama.cpp"}[random.IntN(2)]
	}
	if random.IntN(3) == 0 {
		o.FrequencyPenalty, o.PresencePenalty = random.Float64(), random.Float64()
		o.DRY = sample.DRY{Multiplier: 0.8, Base: 1.75, AllowedLength: 2}
		o.NoRepeatNgram, o.MinTokens = 2+random.IntN(3), random.IntN(9)
		o.LengthDecay = sample.LengthDecay{Start: 3, Factor: 1.1}
		o.Bias = []sample.Bias{{IDs: []int{random.IntN(29)}, Value: -3}, {IDs: []int{1, 2}, Value: 2}}
		for range 20 {
			o.SequenceBias = append(o.SequenceBias, sample.Bias{Value: 4 * random.NormFloat64(),
				IDs: []int{random.IntN(29), random.IntN(29)}})
		}
	}
	if random.IntN(2) == 0 {
		o.RepeatPenalty, o.RepeatLastN = 0.8+random.Float64()/2, random.IntN(20)
	}
	if random.IntN(3) == 0 {
		o.FrequencyPenalty, o.PresencePenalty = random.Float64()/4, random.Float64()/4
		o.NoRepeatNgram = 2 + random.IntN(3)
		o.DRY = sample.DRY{Multiplier: 1, Base: 1.5, AllowedLength: 1, Breakers: [][]int{{3}}}
		o.Bias = []sample.Bias{{IDs: []int{random.IntN(29)}, Value: 2}}
	}
	if random.IntN(4) == 0 {
		o.Mirostat = sample.Mirostat{Version: 1 + random.IntN(2), Tau: 3, Eta: 0.2}
	}
	if random.IntN(4) == 0 {
		for range 12 {
			a, b := rune('a'+random.IntN(29)), rune('a'+random.IntN(29))
			o.Ban = append(o.Ban, string([]rune{a, b}))
		}
	}
	if random.IntN(3) == 0 {
		o.EndOfText = []int{random.IntN(29)}
		o.MinTokens, o.LengthDecay = random.IntN(20), sample.LengthDecay{Start: random.IntN(9), Factor: 1.1}
	}
	if random.IntN(3) == 0 {
		for range 1 + random.IntN(2) {
			a, b := rune('a'+random.IntN(29)), rune('a'+random.IntN(29))
			o.Stop = append(o.Stop, string([]rune{a, b}))
		}
	}
	if random.IntN(4) == 0 {
		for range 1 + random.IntN(3) {
			a, b := rune('a'+random.IntN(29)), rune('a'+random.IntN(29))
			o.Ban = append(o.Ban, string([]rune{a, b}))
		}
	}
	if o.Temperature != 0 && random.IntN(6) == 0 {
		o.Mirostat = sample.Mirostat{Version: 1 + random.IntN(2)}
	}
	if random.IntN(3) == 0 {
		o.Overflow, o.MaxTokens = OverflowTruncate, 1+random.IntN(20)
	}
	return o
}

// thirds is a constraint: an id and the one before are not a multiple of three together.
type thirds struct{ ids []int }

func (c *thirds) fits(id int) bool {
	return len(c.ids) == 0 || (c.ids[len(c.ids)-1]+id)%3 != 0
}

func (c *thirds) Mask(open []uint64) error {
	clear(open)
	for id := range 29 {
		if c.fits(id) {
			open[0] |= 1 << id
		}
	}
	return nil
}

func (c *thirds) Accept(id int) error {
	if !c.fits(id) {
		return errors.New("not open")
	}
	c.ids = append(c.ids, id)
	return nil
}

func (c *thirds) Rewind(n int) error {
	c.ids = c.ids[:len(c.ids)-n]
	return nil
}

func (c *thirds) Fork() constrain.Matcher { return &thirds{slices.Clone(c.ids)} }

// TestSpeculationChangesNoToken compares texts with and without it, over seeds, options, samples,
// contexts that slide, sessions that are continued and callers that break off.
func TestSpeculationChangesNoToken(t *testing.T) {
	m, ways := speculations(t)
	used := map[string]int{}
	seeds := sized(60, 1000)
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 8))
		o := randomOptions(random)
		if random.IntN(3) == 0 {
			o.Constraint = &thirds{}
		}
		samples := max(1, random.IntN(12)-7)
		prompt := make([]int, 1+random.IntN(30))
		for i := range prompt {
			prompt[i] = random.IntN(29)
			if i > 3 && random.IntN(3) > 0 {
				prompt[i] = prompt[i-3]
			}
		}
		until := 1 << 30
		if random.IntN(3) == 0 {
			until = 1 + random.IntN(30)
		}
		want, held := written(t, m, prompt, samples, until, o)
		for name, way := range ways {
			way.alwaysDraft = random.IntN(8) > 0
			with := o
			with.Lookup, with.Draft, with.alwaysDraft = way.Lookup, way.Draft, way.alwaysDraft
			got, gotHeld := written(t, m, prompt, samples, until, with)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, %s: %v, without %v", seed, name, got, want)
			}
			if !slices.Equal(gotHeld, held) {
				t.Fatalf("seed %d, %s: session %v, without %v", seed, name, gotHeld, held)
			}
			used[name]++
		}
	}
	for name := range ways {
		if used[name] < seeds/4 {
			t.Errorf("%s was compared %d times, want more", name, used[name])
		}
	}
}

// written generates until so many tokens have come, and returns them in their order, and the tokens
// that the session then holds.
func written(
	t *testing.T, m *model.Model, prompt []int, samples, until int, o Options,
) (tokens []Token, held []int) {
	t.Helper()
	s := m.NewSession()
	texts := Generate(context.Background(), s, prompt, o)
	if samples > 1 {
		texts = Samples(context.Background(), s, prompt, samples, o)
	}
	for tok, err := range texts {
		if err != nil {
			t.Fatal(err)
		}
		tok.Guessed = false
		if tokens = append(tokens, tok); len(tokens) == until {
			break
		}
	}
	return tokens, slices.Clone(s.Tokens())
}

// TestGuessesComeTrue also checks that each of them saves a step.
func TestGuessesComeTrue(t *testing.T) {
	m, ways := speculations(t)
	prompt := []int{28, 20, 28, 28, 28}
	write := func(o Options) (guessed, looks int) {
		c := &countedContext{Context: context.Background()}
		for tok, err := range Generate(c, m.NewSession(), prompt, o) {
			if err != nil {
				t.Fatal(err)
			}
			if tok.Guessed {
				guessed++
			}
		}
		return guessed, c.looks
	}
	const n = 18
	_, looks := write(Options{MaxTokens: n})
	for name, way := range ways {
		way.MaxTokens, way.alwaysDraft = n, true
		guessed, with := write(way)
		if guessed == 0 && name != "far draft" || way.Draft == nil && with != looks/n*(n-guessed) {
			t.Errorf("%s: %d of %d tokens were guessed, and the context was looked at %d times, %d "+
				"without", name, guessed, n, with, looks)
		}
	}
}

// A countedContext counts how often Evals check it, which is the same for each.
type countedContext struct {
	context.Context
	looks int
}

func (c *countedContext) Err() error {
	c.looks++
	return nil
}

// TestSpeculationFailsOnlyAsTheTextDoes makes the draft model fail, and cancels the context.
func TestSpeculationFailsOnlyAsTheTextDoes(t *testing.T) {
	m, ways := speculations(t)
	other, gone := tiny(t, fixture.Options{Vocab: 31}), errors.New("gone")
	for want, draft := range map[string]*guess.Model{
		"draft model: a vocabulary of 31 ids, want 29, the model's own":  {Model: other},
		"draft model: a vocabulary of 31 ids, want 29, the model's own.": {Open: opens(other, nil)},
		"draft model: gone": {Open: opens(nil, gone)},
		"draft model: want a Model or Open, found neither": {},
	} {
		o := Options{MaxTokens: 15, Draft: draft, alwaysDraft: true}
		var got error
		for _, err := range Generate(context.Background(), m.NewSession(), []int{1}, o) {
			got = err
		}
		if got == nil || got.Error() != strings.TrimSuffix(want, ".") {
			t.Errorf("error %v, want %s", got, want)
		}
	}
	closed := tiny(t, fixture.Options{})
	closed.Close()
	o := Options{MaxTokens: 15, Draft: &guess.Model{Model: closed}, alwaysDraft: true}
	got, _ := written(t, m, []int{3, 1, 4}, 1, 1<<30, o)
	want, _ := written(t, m, []int{3, 1, 4}, 1, 1<<30, Options{MaxTokens: 15})
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("with a model that fails: %v, want %v", got, want)
	}
	for name, way := range ways {
		way.alwaysDraft = true
		s := m.NewSession()
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		for _, err := range Generate(ctx, s, []int{3, 1, 4}, way) {
			if n++; n == 6 {
				cancel()
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: error %v, want the context's", name, err)
			}
			if err != nil {
				break
			}
		}
		cancel()
		if n < 7 || s.Len() != 3+n-2 {
			t.Errorf("%s: cancelled after %d tokens with %d in the session", name, n-1, s.Len())
		}
	}
}
