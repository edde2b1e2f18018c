package main

// gpt generate: text that continues a prompt.

import (
	"context"
	"iter"
	"time"

	"github.com/alecthomas/kong"

	"picogpt/decode"
	"picogpt/internal/amount"
	"picogpt/internal/genflags"
	"picogpt/model"
	"picogpt/search"
	"picogpt/tokenizer"
)

type generateCommand struct {
	Prompt generateSource `embed:""`

	genflags.Usual `embed:""`

	Seed *uint64 `placeholder:"S" group:"Which tokens:"`

	Heal     bool            `group:"How much:"`
	Filters  filterFlags     `embed:"" group:"More filters:"`
	Steering steering        `embed:""`
	Form     constraintFlags `embed:"" group:"A form for the text:"`
	Search   searchFlags     `embed:"" group:"Searches:"`
	Guess    guessFlags      `embed:"" group:"Guessing, for speed:"`

	Output string `placeholder:"FORM" default:"auto" enum:"auto,text,ids,json,events" group:"Output:"`

	LogProbs        int  `name:"logprobs" placeholder:"N" default:"0" group:"Output:"`
	NoDisplayPrompt bool `group:"Output:" help:"print the new text only, without the prompt"`

	Receipt receiptFlag `embed:""`

	Many promptsSource `embed:"" group:"Many prompts:"`
}

func (c *generateCommand) Run(a *app, k *kong.Context) error {
	if err := checkNeeds(givenFlags(k)); err != nil {
		return err
	}
	o, err := c.settle(k)
	if err == nil {
		err = c.takeStdin(a)
	}
	if err == nil {
		err = c.checkPrompts()
	}
	if err == nil {
		c.declare(a)
		err = c.Receipt.check(a, c, givenOptions(k, recordable))
	}
	if err != nil {
		return err
	}
	a.noteWithout(withoutEffect(&o, givenFlags(k), &c.Search))
	if c.Many.Prompts != nil {
		return c.runPrompts(a, o)
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	p, closePrompt, err := c.Prompt.open(a)
	if err != nil {
		return err
	}
	defer closePrompt()
	tok, err := c.vocabulary(a, &p, &o)
	if err == nil {
		err = c.openTexts(a, m, tok, &o)
	}
	if err != nil {
		return err
	}
	if p.asText {
		if err := c.readText(a, tok, m.Config().Positions, &p); err != nil {
			return err
		}
	}
	closeDraft, err := c.Guess.open(a, m, &o)
	if err != nil {
		return err
	}
	defer closeDraft()
	r := &receipt{PromptIDs: append([]int{}, p.ids...), Seed: o.Seed}
	r.Options = givenOptions(k, recordable)
	if err := c.healIfAsked(a, m, &p, &o); err != nil {
		return err
	}
	tokens, err := c.write(a, m, tok, p, o)
	if err != nil || c.Receipt.Receipt == nil {
		return err
	}
	if err := r.fill(a, m, p.ids, tokens); err != nil {
		return err
	}
	return c.Receipt.write(a, c, r)
}

// declare remembers the files that the flags name.
func (c *generateCommand) declare(a *app) {
	if c.Many.Prompts == nil && c.Prompt.Prompt == nil && c.Prompt.Tokens == nil ||
		c.Prompt.Text.File != nil {
		c.Prompt.Text.declare(a)
	}
	c.Form.declare(a)
	c.Guess.declare(a)
}

// write writes the texts that follow a prompt. It returns their tokens if a receipt wants them.
func (c *generateCommand) write(
	a *app, m *model.Model, tok *tokenizer.Tokenizer, p prompt, o decode.Options,
) (all []decode.Token, err error) {
	scores := c.Search.newScores()
	print, err := c.printer(a, tok, p, o.Seed, scores)
	if err != nil {
		return nil, err
	}
	a.logf("seed: %d", o.Seed)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	incomplete := 0
	tokens := counted(c.named(c.texts(ctx, m, p.ids, o, scores)), &incomplete)
	if c.Receipt.Receipt != nil {
		tokens = kept(tokens, &all)
	}
	t := timing{
		start: time.Now(), prompt: max(1, len(p.ids)), whole: c.Search.Beams != nil,
		asks: o.Lookup > 0 || o.Draft != nil,
	}
	err = a.stream(withDropped(tokens, p.dropped), cancel, &t, print)
	if incomplete > 0 {
		a.Notef("%s: %s ended before it was complete", c.Form.asked(), amount.Count(incomplete, "text"))
	}
	return all, err
}

// texts are the tokens that follow a prompt.
func (c *generateCommand) texts(
	ctx context.Context, m *model.Model, prompt []int, o decode.Options, scores *searchScores,
) iter.Seq2[decode.Token, error] {
	s := m.NewSession()
	switch {
	case c.Search.Beams != nil:
		return c.Search.beams(ctx, s, prompt, o, scores)
	case c.Search.Contrastive != nil:
		return search.Contrastive(ctx, s, prompt, *c.Search.Contrastive, o)
	case c.Samples > 1:
		return decode.Samples(ctx, s, prompt, c.Samples, o)
	}
	return decode.Generate(ctx, s, prompt, o)
}
