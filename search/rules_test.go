package search

// The rules of a stream hold in searches: forms, banned strings, healed prompts, guidance and echo.
// Searches give back their memory.

import (
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"picogpt/constrain"
	"picogpt/decode"
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
	"picogpt/tokenizer"
)

func TestWhatIsFoundFitsItsConstraint(t *testing.T) {
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	prompt, err := tok.Encode("Once upon a time")
	if err != nil {
		t.Fatal(err)
	}
	const re = `,? (there|a) [a-z ]{3,20}, [A-Z][a-z]{2,5}\.`
	judge := regexp.MustCompile(`^(?:` + re + `)$`)
	o := decode.Options{Vocabulary: tok, Constraint: regex(t, re), MaxTokens: 60}
	best, err := Beams(t.Context(), m.NewSession(), prompt, BeamOptions{Beams: 3, Return: 2}, o)
	if err != nil {
		t.Fatal(err)
	}
	o.TopK = 4
	contrasted := Beam{Tokens: collect(t, Contrastive(t.Context(), m.NewSession(), prompt, 0.6, o))}
	for _, b := range append(best[:1], contrasted) {
		if !judge.MatchString(b.Text()) || b.last().Finish != decode.FinishEndOfText {
			t.Errorf("%q, %s: does not match", b.Text(), b.last().Finish)
		}
	}
	o = decode.Options{Vocabulary: tok, Constraint: regex(t, "[a-z]{2}"), EndOfText: []int{}}
	best, err = Beams(t.Context(), m.NewSession(), []int{0}, BeamOptions{Beams: 3, Return: 3}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range best {
		if len(b.Text()) != 2 || b.last().Finish != decode.FinishStop {
			t.Errorf("%q, %s; want two letters and a stop", b.Text(), b.last().Finish)
		}
	}
}

func TestBeamsHaveNoBannedStrings(t *testing.T) {
	m, tok := testmodel.Demo(t, model.Options{}), demoTokenizer(t)
	prompt, err := tok.Encode("Once upon a time")
	if err != nil {
		t.Fatal(err)
	}
	o := decode.Options{MaxTokens: 12, Vocabulary: tok, Ban: []string{"little girl", " there was a"}}
	found, err := Beams(t.Context(), m.NewSession(), prompt, BeamOptions{Beams: 3, Return: 3}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range found {
		for _, ban := range o.Ban {
			if strings.Contains(b.Text(), ban) {
				t.Errorf("%q has %q", b.Text(), ban)
			}
		}
	}
}

// TestBansCutFromBeams repeatedly bans a part of the text that was found.
func TestBansCutFromBeams(t *testing.T) {
	cases.NotShort(t)
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	r := rand.New(rand.NewPCG(22, 3))
	written, stuck := 0, 0
	for i, prompt := range []string{"Tom said: \"", "Once upon a time", "ran and ran and ran and"} {
		ids, err := tok.Encode(prompt)
		if err != nil {
			t.Fatal(err)
		}
		o := decode.Options{MaxTokens: 20, Vocabulary: tok}
		for range 4 {
			found, err := Beams(t.Context(), m.NewSession(), ids, BeamOptions{Beams: 2 + i}, o)
			if errors.Is(err, errNoBeam) {
				stuck++ // no beam can continue
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			text := found[0].Text()
			for _, ban := range o.Ban {
				if strings.Contains(text, ban) {
					t.Errorf("%q has %q", text, ban)
				}
			}
			at := r.IntN(len(text))
			o.Ban = append(o.Ban, text[at:min(len(text), at+1+r.IntN(12))])
			written++
		}
	}
	if stuck > 1 {
		t.Errorf("%d of %d searches ended early", stuck, written)
	}
}

// TestBeamsGoOnFromHealedPrompts also has a form for the text after the prompt's end.
func TestBeamsGoOnFromHealedPrompts(t *testing.T) {
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	tokens, err := tok.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"The little gi", "They went to the par", "Onc", "She was very "} {
		ids, err := tok.Encode(prompt)
		if err != nil {
			t.Fatal(err)
		}
		h := decode.NewHealing(tokens, ids, 0)
		inside := []string{string(h.Bytes)}
		o := decode.Options{MaxTokens: 5, Vocabulary: tok, Healing: h, Stop: inside, Ban: inside}
		found, err := Beams(t.Context(), m.NewSession(), h.Prompt, BeamOptions{Beams: 3, Return: 3}, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range found {
			if !strings.HasPrefix(b.Text(), string(h.Bytes)) {
				t.Errorf("%q: a beam goes on %q, want %q first", prompt, b.Text(), h.Bytes)
			}
		}
		if prompt != "The little gi" {
			continue
		}
		list := []string{"rl was sad", "rl was glad", "raffe ate", "ant", "ve me é"}
		o = decode.Options{MaxTokens: 40, Vocabulary: tok, Healing: h}
		o.Constraint = form(t, func(v *constrain.Vocabulary) (*constrain.Constraint, error) {
			return constrain.Choice(v, list...)
		})
		found, err = Beams(t.Context(), m.NewSession(), h.Prompt, BeamOptions{Beams: 3}, o)
		if err != nil || !slices.Contains(list, strings.TrimPrefix(found[0].Text(), string(h.Bytes))) {
			t.Errorf("the best beam is %q, %v", found[0].Text(), err)
		}
	}
}

func TestGuidedBeamsAreHuggingFaces(t *testing.T) {
	var cases []struct {
		Prompt   []int `json:"prompt_ids"`
		IDs      []int
		MaxNew   int     `json:"max_new"`
		Scale    float64 `json:"guidance_scale"`
		Negative []int
	}
	if err := fixture.Decoding("greedy", &cases); err != nil {
		t.Fatal(err)
	}
	m, checked := testmodel.Demo(t, model.Options{}), 0
	for _, c := range cases {
		if c.Scale == 0 {
			continue
		}
		checked++
		o := decode.Options{MaxTokens: c.MaxNew, Params: sample.Params{
			Guidance: &sample.Guidance{Scale: c.Scale, Negative: c.Negative}}}
		found, err := Beams(t.Context(), m.NewSession(), c.Prompt, BeamOptions{}, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(found[0].Tokens); !slices.Equal(got, c.IDs) {
			t.Errorf("%+v: one beam finds %v", c, got)
		}
	}
	if checked < 2 {
		t.Errorf("%d answers about guidance, want 2", checked)
	}
}

func TestSearchesRefuseEcho(t *testing.T) {
	m, o := tiny(t, fixture.Options{}), decode.Options{Echo: decode.EchoPrompt}
	_, err := Beams(t.Context(), m.NewSession(), []int{1}, BeamOptions{}, o)
	if !errors.Is(err, decode.ErrNoEcho) {
		t.Errorf("beams: %v, want %v", err, decode.ErrNoEcho)
	}
	for _, err = range Contrastive(t.Context(), m.NewSession(), []int{1}, 0, o) {
	}
	if !errors.Is(err, decode.ErrNoEcho) {
		t.Errorf("contrastive: %v, want %v", err, decode.ErrNoEcho)
	}
}

// TestALateStepThatLeavesNoIDEndsBeams has a step after top-k that removes the only id.
func TestALateStepThatLeavesNoIDEndsBeams(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for _, rest := range []string{"", ",top-p", ",typical", ",min-p,temperature", ",top-h,xtc,eta"} {
		o := decode.Options{MaxTokens: 9, EndOfText: []int{}, Params: sample.Params{Temperature: 1,
			TopK: 1, TopP: 0.9, Typical: 0.9, MinP: 0.1, TopH: 0.5, XTCProbability: 1, Eta: 0.1,
			Samplers: "top-k,no-repeat-ngram" + rest, NoRepeatNgram: 1}}
		_, err := Beams(t.Context(), m.NewSession(), []int{1}, BeamOptions{}, o)
		var none *sample.NoIDError
		if !errors.As(err, &none) {
			t.Errorf("%s: %v, want that no id is left", o.Samplers, err)
		}
	}
}

// A balking constraint allows everything, and fails after so many tokens of a text.
type balking struct{ toys.EndAt }

var errBalked = errors.New("no further")

func (b *balking) Accept(id int) error {
	if b.Left == 1 {
		return errBalked
	}
	return b.EndAt.Accept(id)
}

func (b *balking) Fork() constrain.Matcher { f := *b; return &f }

func TestSearchesThatFailGiveTheirForksBack(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	m := tiny(t, fixture.Options{})
	ctx, prompt := context.Background(), []int{1, 2, 3}
	balks := decode.Options{Constraint: &balking{toys.EndAt{Left: 4}}, MaxTokens: 9}
	draws := balks
	draws.Temperature = 1
	beams := func(b BeamOptions, o decode.Options) func(s *model.Session) error {
		return func(s *model.Session) error {
			_, err := Beams(ctx, s, prompt, b, o)
			return err
		}
	}
	for name, fails := range map[string]func(s *model.Session) error{
		"Beams":                beams(BeamOptions{Beams: 4}, balks),
		"Beams that are drawn": beams(BeamOptions{Beams: 4}, draws),
		"Beams in groups":      beams(BeamOptions{Beams: 4, Groups: 2}, balks),
		"Contrastive": func(s *model.Session) (err error) {
			for _, err = range Contrastive(ctx, s, prompt, 0.5, balks) {
			}
			return err
		},
	} {
		s, before := m.NewSession(), m.CacheBytes()
		if err := fails(s); !errors.Is(err, errBalked) {
			t.Errorf("%s: error %v", name, err)
		}
		s.Release()
		if n := m.CacheBytes() - before; n != 0 {
			t.Errorf("%s: %d bytes of cache stay", name, n)
		}
	}
}

// A sparing device is the processor, except that it returns no logits where it need not.
type sparing struct{ engine.Backend }

func (sparing) Open(
	_ context.Context, p *stack.Params, b *engine.Budget, team *kernels.Team,
) (engine.Backend, error) {
	return sparing{cpu.New(team, p, b)}, nil
}

func (s sparing) Run(ctx context.Context, p *engine.Pass) error {
	own := *p
	own.Visit = func(span, i int, row engine.Row) {
		if p.Spans[span].Best > 0 {
			row = engine.Row{Best: &stack.Best{}}
		}
		p.Visit(span, i, row)
	}
	return s.Backend.Run(ctx, &own)
}

// TestSearchesNeedWholeRows, whatever the sampler needs.
func TestSearchesNeedWholeRows(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Vocab: 90, Positions: 60})
	m := testmodel.New(t, config, file, model.Options{Device: sparing{}})
	o := decode.Options{MaxTokens: 9}
	if _, err := Beams(t.Context(), m.NewSession(), []int{1}, BeamOptions{Beams: 1}, o); err != nil {
		t.Error(err)
	}
	o.TopK = 4
	if n := len(collectContrast(t, m.NewSession(), []int{1, 2}, 0.6, o)); n != 9 {
		t.Errorf("contrastive search gave %d tokens, want 9", n)
	}
}

// TestBudgetsOfSearchesKeepAShare: a text that ends in time tells what of the form its masks left.
func TestBudgetsOfSearchesKeepAShare(t *testing.T) {
	m := testmodel.Demo(t, model.Options{})
	o := decode.Options{Vocabulary: tokenizer.GPT2(), MaxTokens: 8}
	for i, temperature := range []float64{0, 1.5} {
		o.Temperature, o.Seed = temperature, 3
		o.Constraint = regex(t, `(there|a)( [a-z]{2,9})+ and the end\.`)
		found, err := Beams(t.Context(), m.NewSession(), []int{0}, BeamOptions{Beams: 3}, o)
		if err != nil {
			t.Fatal(err)
		}
		all := [][]decode.Token{found[0].Tokens}
		if i == 0 {
			all = append(all, collect(t, Contrastive(t.Context(), m.NewSession(), []int{0}, 0.6, o)))
		}
		for _, tokens := range all {
			narrowed := 0
			for _, token := range tokens {
				if token.Narrowed {
					narrowed++
				}
				if token.Narrowed != (token.Kept > 0) || token.Kept >= 1 {
					t.Errorf("%q: narrowed is %v, and kept %v", token.Text, token.Narrowed, token.Kept)
				}
			}
			if last := tokens[len(tokens)-1]; narrowed == 0 || last.Incomplete || last.Finish == "length" {
				t.Errorf("%d masks were narrowed, and the text ends by %s", narrowed, last.Finish)
			}
		}
	}
}
