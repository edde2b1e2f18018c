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
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"picogpt/check/reference"
	"picogpt/checkpoint"
	"picogpt/eval"
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
	return fmt.Sprintf("the text has %d tokens, want at most n_positions, %d", e.Tokens,
		e.Positions)
}

func (c *comparison) note(format string, args ...any) {
	c.report.Notes = append(c.report.Notes, fmt.Sprintf(format, args...))
}

// Open returns the Pair of the checkpoint at path, and what closes it. Of o, Format, CacheFormat
// and Device say what is compared.
func Open(ctx context.Context, path string, o model.Options) (p Pair, close func(), err error) {
	c, err := checkpoint.Open(path, checkpoint.Options{})
	if err != nil {
		return Pair{}, nil, err
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	p = Pair{Tensors: c.Tensors, Options: o}
	if p.Reference, _, err = Read(c, nil, reference.Options{}); err != nil {
		return Pair{}, nil, err
	}
	p.Tokenizer, err = c.Tokenizer()
	if err != nil && !errors.Is(err, checkpoint.ErrNoTokenizer) {
		return Pair{}, nil, err
	}
	if p.Model, err = model.New(ctx, c.Config, c.Tensors, o); err != nil {
		return Pair{}, nil, err
	}
	return p, func() { p.Model.Close(); c.Close() }, nil
}

// Expect compares the engine with the reference on the checkpoint at path and a text, and fails the
// test, with the table, if they differ. The text is cut after Tokens; "" is a passage of this
// package, or random ids where the checkpoint has no tokenizer. If the two cannot be compared, the
// test ends.
//
//	func TestModel(t *testing.T) {
//		check.Expect(t, "models/mine", "A text of the kind that the model is for.")
//	}
func Expect(t eval.TB, path, text string) *Report {
	t.Helper()
	p, close, err := Open(context.Background(), path, model.Options{})
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	defer close()
	var o Options
	if text != "" {
		o.Text = &text
	}
	r, err := p.Compare(context.Background(), o)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
		return nil
	}
	if !r.Agree {
		t.Errorf("%s: %v\n\n%v", path, r.Err(), r)
	}
	return r
}

// Read returns package reference's model of a checkpoint that the engine has opened. Where the
// format is safetensors, the reference reads the files itself: those that the engine has taken, or
// files if it is not nil. Tensors of other formats come through the engine's readers, and the note
// says so. That the tensors fit the configuration is checked before any of them is read; the error
// has both readings.
func Read(
	c *checkpoint.Checkpoint, files fs.FS, o reference.Options,
) (m *reference.Model, note string, err error) {
	if c.Portable() != nil {
		return nil, "", fmt.Errorf("%s: quantized weights, which the reference does not read: "+
			"compare the checkpoint that they were made of, in that number format",
			c.Tensors.Name())
	}
	if n := c.VirtualTokens(); n > 0 {
		return nil, "", fmt.Errorf("%d virtual tokens of an adapter, which the reference does not have", n)
	}
	_, _, mismatch := model.Check(c.Config, c.Tensors)
	if mismatch != nil { // the reference's opinion is wanted too, and no weights
		o.Before = func(int64) error { return errFits }
	}
	switch path := c.Tensors.Name(); {
	case c.Adapted():
		note = "the reference reads no adapters: it has the merged weights from the engine, and " +
			"only what follows is compared"
		m, err = converted(c, o)
		if err == nil && files != nil {
			m.Encoder, m.NoEncoder = reference.OpenEncoderFS(files)
		}
	case c.Rearranged():
		note = "the reference reads no names and shapes but GPT-2's own: it has config and " +
			"weights from the engine's reader, and only what follows is compared"
		m, err = converted(c, o)
	case c.Format() != "safetensors":
		note = fmt.Sprintf("the reference reads no %s: it has config and weights from the "+
			"engine's reader, and only what follows is compared", c.Format())
		m, err = converted(c, o)
	case files != nil:
		m, err = o.OpenFS(files)
	default:
		m, err = o.Open(path)
	}
	switch {
	case mismatch == nil:
		return m, note, err
	case errors.Is(err, errFits):
		return nil, "", fmt.Errorf("%w; the reference finds no fault", mismatch)
	}
	return nil, "", fmt.Errorf("%w; the reference says: %w", mismatch, err)
}

// errFits ends the reference's reading where nothing but the shapes was asked for.
var errFits = errors.New("the tensors fit")

// converted is the reference's model of the engine's configuration and tensors.
func converted(c *checkpoint.Checkpoint, o reference.Options) (*reference.Model, error) {
	config, err := json.Marshal(c.Config)
	if err != nil {
		return nil, err
	}
	hp, err := reference.ParseHParams(config)
	if err != nil {
		return nil, err
	}
	m, err := o.New(hp, source{c.Tensors})
	if err == nil {
		m.Encoder, m.NoEncoder = reference.OpenEncoder(weights.Dir(c.Tensors.Name()))
	}
	return m, err
}

// A source is the engine's tensors for the reference.
type source struct{ *weights.Tensors }

func (s source) Names() (names []string) {
	for _, t := range s.All() {
		names = append(names, t.Name)
	}
	return names
}

func (s source) Shape(name string) ([]int, bool) {
	t, ok := s.Tensor(name)
	return t.Shape, ok
}

func (s source) Read(name string) ([]float64, error) {
	t, _ := s.Tensor(name)
	x, err := t.Float32s()
	return widen(x), err
}
