package main

// gpt attribute: what each part of the model adds to a logit.

import (
	"context"
	"fmt"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/strictjson"
	"picogpt/kernels"
	"picogpt/model"
)

type attributeCommand struct {
	Text            promptSource
	Target, Against *string
	At              int
	Top             int
	Out             insideOutput
}

func newAttribute(a *app) *cli.Command {
	c := &attributeCommand{}
	return &cli.Command{
		Name: "attribute", Group: "look",
		Short: "show what each part of the model adds to a logit",
		Args:  []cli.Arg{wordsArg(&c.Text.Text)},
		Flags: func(f *cli.Flags) {
			c.Text.flags(f)
			f.Add(&c.Target, "--target TOKEN",
				`the token whose logit is explained, such as " Paris"; an id if the prompt is given with
				--tokens; default: the likeliest`)
			f.Add(&c.Against, "--against TOKEN",
				"explain its logit less that of this token; default: less the mean of all logits")
			f.Add(&c.At, "--at N [-1]",
				"explain what follows the token at position N, from 0; -1 is the last")
			f.Add(&c.Top, "--top K [20]", "show the K largest parts, and the rest as one; 0 is all")
			c.Out.flags(f)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
		Long: `
The logit of a token is a sum over the parts of the model: each writes into the residual stream, and
the unembedding reads it. gpt attribute shows how much each part adds to the logit of one token less
that of another, or less the mean of all: direct logit attribution. What a part does through later
parts counts as theirs; to see the whole effect of a head, switch it off (--ablate 3.1).

The parts, layers and heads from 0:

embed	the token itself
pos	its position
head 3.1	head 1 of the attention of layer 3, without bias
attn_bias 3	the bias of the attention's output in layer 3
mlp 3	the MLP of layer 3
ln_f.b	the bias of the last LayerNorm

Their sum is the difference of the logits, but for rounding; with weights in q8 or q4 only about so,
because activations are rounded too.

--json prints one object: tokens (ids of the text), target and against (ids), difference (of the
model's logits), sum (of the parts) and parts, an object from each part's name to its value.

Examples:

  gpt attribute "Once upon a time, there was a little girl named"
  gpt attribute --target " Lily" --against " Tim" "There was a girl named"
  gpt attribute --json --tokens 464,3797 --target 373`,
	}
}

func (c *attributeCommand) Run(a *app) error {
	err := fault.First(fault.NotNegative("--top", c.Top), c.Out.check(a, "gpt attribute", &c.Text))
	if err != nil {
		return err
	}
	f, err := a.focus(&c.Text, &c.At, c.Target)
	if err != nil {
		return err
	}
	q := inside.Metric{Target: -1}
	if f.target != nil {
		q.Target = *f.target
	}
	if c.Against != nil {
		id, err := f.names.find("--against", *c.Against)
		if err != nil {
			return err
		}
		q.Against = &id
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	made, err := c.compute(a, m, f.ids[:f.at+1], q)
	if err != nil {
		return err
	}
	shown := &show.Attribution{Tokens: f.ids[:f.at+1], Attribution: made, Name: f.names.name}
	return c.show(a, m, f.names, f.ids, shown)
}

// compute finds the target, if the flags name none, and what adds to its logit.
func (c *attributeCommand) compute(
	a *app, m *model.Model, ids []int, q inside.Metric,
) (*inside.Attribution, error) {
	if most := m.Config().Positions; len(ids) > most {
		return nil, fmt.Errorf("prompt of %d tokens: want at most %d (n_positions)", len(ids), most)
	}
	defer a.ShowProgress(func() string { return "reading" })()
	ctx := context.Background() // Ctrl-C ends the process
	if c.Target == nil {
		s := m.NewSession()
		defer s.Release()
		if err := m.Eval(ctx, model.Input{Session: s, Tokens: ids}); err != nil {
			return nil, err
		}
		q.Target = kernels.Argmax(s.Logits())
	}
	return inside.Attribute(ctx, m, ids, q)
}

func (c *attributeCommand) show(
	a *app, m *model.Model, names *tokenNames, ids []int, made *show.Attribution,
) error {
	switch {
	case c.Out.JSON:
		return strictjson.Print(a.stdout, made)
	case c.Out.Page.HTML == nil:
		_, err := a.stdout.WriteString(made.Bars(c.Top, a.columns()))
		return err
	}
	p := names.picture(a, m, ids)
	p.At, p.View = len(made.Tokens)-1, "attribution"
	p.Parts = &pages.Parts{Target: names.name(made.Target), At: p.At, Difference: made.Difference}
	if made.Against != nil {
		p.Parts.Against = names.name(*made.Against)
	}
	for _, part := range made.Parts {
		p.Parts.Parts = append(p.Parts.Parts, pages.Part(part))
	}
	if err := addAttention(p, m, ids); err != nil {
		return err
	}
	return c.Out.Page.write(a, p.Page)
}
