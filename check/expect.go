package check

// Expect: for the tests of those who train, convert or port a model.

import (
	"context"
	"errors"

	"picogpt/check/reference"
	"picogpt/checkpoint"
	"picogpt/eval"
	"picogpt/model"
)

// Open returns the Pair of the checkpoint at path, and what closes it. Of o, Format, CacheFormat and
// Device say what is compared.
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
