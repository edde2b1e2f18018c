// Package check is a second opinion on a checkpoint: it compares the engine with package reference,
// which shares no code with it. It compares the configuration, every weight, the ids of a text, the
// logits after each token, the tokens that follow greedily, and the perplexity. In a test of a
// model:
//
//	func TestModel(t *testing.T) {
//		check.Expect(t, "models/mine", "A text of the kind that the model is for.")
//	}
//
// Its types, in the order to read them:
//
//   - [Pair] is a checkpoint, opened by the engine and by the reference; [Options] say what of it is
//     compared.
//   - [Report] is what came of that: each [Row] is one thing that was compared, with a [Verdict].
//   - [Publication] is what others measured of a checkpoint: each [Claim] is a number of a [Kind],
//     on a [KnownText].
//
// A Publication compares a known checkpoint with the numbers that others have published of it.
package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"picogpt/check/reference"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
)

// Promise bounds what the engine's logits may differ from a float64 evaluation of the same weights,
// as a share of the largest logit after the same token.
const Promise = 1e-4

// A Pair is one checkpoint that was read twice: by the engine and by package reference.
type Pair struct {
	Model     *model.Model     // of Tensors with Options
	Tensors   *weights.Tensors // from these, Compare makes models of a part of the layers
	Options   model.Options
	Tokenizer *tokenizer.Tokenizer // nil: the text must be ids

	// Compare rounds the reference's weights to the engine's number format, since the promise is
	// about the same weights.
	Reference *reference.Model
}

// Options say what Compare compares.
type Options struct {
	Text *string // nil, and no IDs: a passage of this package
	IDs  []int   // in place of a text
	N    int     // the tokens, greedy ones too; 0 is Tokens of the model

	// Progress, if not nil, is told what is being done, and the share of all that was done before.
	Progress func(what string, share float64)
}

// Tokens returns how many tokens are compared unless Options.N says it: as many as the context has,
// but at most so many that tokens times weights is 2·10¹⁰. In float64 that takes seconds.
func Tokens(weights, positions int) int {
	return int(max(1, min(2e10/int64(max(1, weights)), int64(positions))))
}

// A comparison is a Compare under way.
type comparison struct {
	Pair
	Options
	ctx    context.Context
	report *Report
	exact  bool // the promise is about these number formats

	otherWeights bool // the two have other numbers, so that other results follow
}

// Compare compares the two. An error says that they could not be compared: ctx has ended, the text
// is no text of the model, or the engine has no finite logits. What differs is in the Report.
func (p Pair) Compare(ctx context.Context, o Options) (*Report, error) {
	m := p.Model
	if err := o.Fits(m.Config(), p.Tokenizer); err != nil {
		return nil, err
	}
	c := &comparison{Pair: p, Options: o, ctx: ctx, report: &Report{
		DType: m.Format(), Cache: m.CacheFormat(), Kernel: m.Kernel(),
		Weights: count(p.Reference.Params), Notes: []string{},
	}}
	switch m.Format() {
	case "f32", "f16", "bf16":
		c.exact = m.CacheFormat() == "f32"
	}
	c.config()
	if c.report.Faults() > 0 { // what follows would compare two different models
		return c.report, nil
	}
	c.progress("weights", 0)
	if err := c.weights(); err != nil {
		return nil, err
	}
	ids, err := c.text()
	if err != nil {
		return nil, err
	}
	return c.report, c.logits(ids)
}

func (c *comparison) progress(what string, share float64) {
	if c.Progress != nil {
		c.Progress(what, share)
	}
}

// Fits returns an error if the options do not fit the model: a text or N beyond the context, an id
// beyond the vocabulary. Compare calls it; to call it before costs little, and needs no model.
func (o Options) Fits(config model.Config, tok *tokenizer.Tokenizer) error {
	n := len(o.IDs)
	switch {
	case o.N < 0 || o.N > config.Positions:
		return fmt.Errorf("%d tokens to compare: want 1 to n_positions, %d", o.N, config.Positions)
	case o.IDs != nil && n == 0:
		return errors.New("no ids")
	case o.Text != nil && tok == nil:
		return errors.New("a text needs a tokenizer, which the checkpoint does not have")
	case o.Text != nil:
		ids, err := tok.Encode(*o.Text)
		if n = len(ids); err == nil && n == 0 {
			err = errors.New("the text has no tokens")
		}
		if err != nil {
			return err
		}
	}
	if n > config.Positions && o.N == 0 {
		return &LengthError{n, config.Positions}
	}
	for i, id := range o.IDs {
		if id < 0 || id >= config.VocabSize {
			return fmt.Errorf("id %d at position %d: want 0 to %d", id, i, config.VocabSize-1)
		}
	}
	return nil
}

// A LengthError says that a text is longer than the context. With Options.N its beginning is
// compared.
type LengthError struct{ Tokens, Positions int }

func (e *LengthError) Error() string {
	return fmt.Sprintf("the text has %d tokens, want at most n_positions, %d", e.Tokens, e.Positions)
}

// text returns the ids that are compared, and compares the tokenizers.
func (c *comparison) text() ([]int, error) {
	n := c.N
	if n == 0 {
		n = Tokens(c.report.Weights, c.Model.Config().Positions)
	}
	c.report.Tokens, c.report.Greedy = n, min(n/4, 32)
	ids, err := c.ids()
	if err != nil {
		return nil, err
	}
	if most := n - c.report.Greedy; len(ids) > most {
		c.note("the first %s of the text's %d are compared, and %d that follow greedily",
			quote.Count(most, "token"), len(ids), c.report.Greedy)
		ids = ids[:most]
	}
	c.report.Tokens = len(ids) + c.report.Greedy
	return ids, nil
}

// ids are those of the text, those that were given, or random ones where there is no tokenizer.
func (c *comparison) ids() ([]int, error) {
	if c.IDs != nil {
		return c.IDs, nil
	}
	text := passage
	if c.Text != nil {
		text = *c.Text
	}
	// tiktoken-go's time is quadratic in a long word, and N tokens need no more of the text.
	if n := 1 << 16; len(text) > n {
		text = text[:tokenizer.WholeRunes(text[:n])]
		c.note("only the text's first %d bytes are tokenized", len(text))
	}
	if c.Tokenizer == nil {
		return c.random("the checkpoint has no tokenizer"), nil
	}
	ids, err := c.encode(text)
	if err != nil && c.Text == nil { // a vocabulary of a few characters
		return c.random(err.Error()), nil
	}
	return ids, err
}

// random returns ids of a fixed seed.
func (c *comparison) random(why string) []int {
	c.report.add(Row{What: "ids", Verdict: NotCompared, Where: why + ": ids of a fixed seed"})
	rng := rand.New(rand.NewPCG(1, 2))
	ids := make([]int, c.report.Tokens-c.report.Greedy)
	for i := range ids {
		ids[i] = rng.IntN(c.Model.Config().VocabSize)
	}
	return ids
}

func (c *comparison) note(format string, args ...any) {
	c.report.Notes = append(c.report.Notes, fmt.Sprintf(format, args...))
}
