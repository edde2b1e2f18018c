package main

// gpt compare: two checkpoints, or two formats of one, on a text.

import (
	"errors"
	"fmt"
	"slices"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/model"
	"picogpt/tokenizer"
)

type comparisonCommand struct {
	A, B string
	protocolText
	Top  int
	JSON bool
}

func newCompare(a *app) *cli.Command {
	c := &comparisonCommand{}
	return &cli.Command{
		Name: "compare", Group: "measure",
		Short: "measure how far two models or formats of one are apart",
		Args: []cli.Arg{
			cli.Word(&c.A, "a", `a checkpoint, as for --model; demo is the embedded one, unless
				there is a file of that name`),
			cli.Word(&c.B, "b", "another one, or f16, bf16, q8 or q4, which is A in that format"),
			c.arg(),
		},
		Flags: func(f *cli.Flags) {
			c.flags(f)
			f.Add(&c.Top, "--top N [10]", "how many of the tokens that differ most are shown")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, adapterFlag|geluFlag|threads|dtype|cacheDtype|cacheBytes|device|verbose)
		},
		Run:     func(*cli.Flags) error { return c.Run(a) },
		Instead: map[string]string{"model": "the checkpoints are arguments: gpt compare A B FILE"},
	}
}

func (c *comparisonCommand) Run(a *app) error {
	if err := fault.NotNegative("--top", c.Top); err != nil {
		return err
	}
	if c.B == "" {
		return usagef("B: want a directory or a file, or f16, bf16, q8 or q4, found nothing")
	}
	files, err := c.read(a, "gpt compare A B")
	if err != nil {
		return err
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	if err := a.fromArgument("A", c.A); err != nil {
		return err
	}
	if _, err := a.open(); err != nil {
		return err
	}
	text, err := c.text(a, files)
	if err != nil {
		return err
	}
	b, err := c.openB(a, files, text)
	if err != nil {
		return err
	}
	defer func() {
		b.Close()
		if b.opened != nil {
			b.opened.Close()
		}
	}()
	m, err := a.openModel()
	if err != nil {
		return err
	}
	return c.compare(a, m, b, text, o)
}

// A secondModel is B.
type secondModel struct {
	*model.Model
	name   string
	opened *checkpoint.Checkpoint // nil if it is A's
}

// openB loads B, whose tokenizer must be the current checkpoint's.
func (c *comparisonCommand) openB(a *app, files []string, text eval.Text) (_ *secondModel,
	err error) {
	was, adapters, first := a.globals, a.adapters, a.opened
	defer func() {
		if err != nil && a.opened != nil && a.opened != first {
			a.opened.Close()
		}
		a.globals, a.adapters, a.opened = was, adapters, first
	}()
	if slices.Contains([]string{"f16", "bf16", "q8", "q4"}, c.B) {
		a.Dtype = c.B
		m, err := a.openModel()
		return &secondModel{m, a.modelName(), nil}, err
	}
	t, known := a.openTokenizer()
	vocabulary := a.opened.Config.VocabSize
	a.Model, a.Adapters, a.adapters, a.Dtype, a.opened = nil, nil, nil, "auto", nil
	if err := a.fromArgument("B", c.B); err != nil {
		return nil, err
	}
	opened, err := a.open()
	if err != nil {
		return nil, err
	}
	if n := opened.Config.VocabSize; n != vocabulary {
		return nil, fmt.Errorf("%s: a vocabulary of %d ids, want %d, as A has", a.modelName(), n,
			vocabulary)
	}
	if known == nil {
		if err := c.sameTokens(a, t, files, text); err != nil {
			return nil, err
		}
	}
	m, err := a.openModel()
	return &secondModel{m, a.modelName(), opened}, err
}

// sameTokens refuses a current checkpoint whose ids are not those of a tokenizer: in the
// vocabulary, or in the text. Given ids need no tokenizer.
func (c *comparisonCommand) sameTokens(
	a *app, t *tokenizer.Tokenizer, files []string, text eval.Text,
) error {
	own, err := a.openTokenizer()
	if err != nil && c.Tokens != nil && errors.Is(err, checkpoint.ErrNoTokenizer) {
		return nil
	} else if err != nil {
		return err
	}
	for id := range max(t.Size(), own.Size()) {
		want, _ := t.Text(id)
		if got, _ := own.Text(id); got != want {
			return fmt.Errorf("%s: another vocabulary: id %d is %q, want %q, as A has",
				a.modelName(), id, got, want)
		}
	}
	if c.Tokens != nil {
		return nil
	}
	same, err := c.text(a, files)
	if err != nil {
		return err
	}
	for i, d := range same.Documents {
		if !slices.Equal(d.Tokens, text.Documents[i].Tokens) {
			return fmt.Errorf("%s: its tokenizer makes other tokens of the text, want those of A",
				a.modelName())
		}
	}
	return nil
}

// compare compares the models, and prints the result until it is done or interrupted.
func (c *comparisonCommand) compare(
	a *app, m *model.Model, b *secondModel, text eval.Text, o eval.Options,
) error {
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewBar("tokens")
	o.Progress = func(p eval.Progress) { bar.Set(p.Done, p.Total, "") }
	end := a.ShowBar(bar)
	r, err := eval.Compare(ctx, m, b.Model, text, o, c.Top)
	end()
	if err != nil && r.Compared == 0 {
		return err
	}
	r.A.Model, r.B.Model = a.modelName(), b.name
	if t, err := a.openTokenizer(); err == nil {
		show.NameDifferences(r.Most, text, t)
	}
	return fault.First(a.print(c.JSON, r, show.Comparison(&r, a.digits())), err)
}
