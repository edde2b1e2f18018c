package main

// gpt generate: text that continues a prompt.

import (
	"context"
	"iter"
	"time"

	"github.com/alecthomas/kong"

	"picogpt/decode"
	"picogpt/model"
	"picogpt/tokenizer"
)

type generateCommand struct {
	Prompt generateSource `embed:""`

	MaxTokens     *int     `short:"n" placeholder:"N" group:"How much:" help:"write at most N new tokens; default: until the text ends or the context is full"`
	Samples       int      `placeholder:"N" default:"1" group:"How much:" help:"write N texts; text i, counted from 0, is what seed S+i gives alone"`
	Stop          []string `placeholder:"STRING" sep:"none" group:"How much:" help:"end the text before this string; the flag may be repeated"`
	Overflow      string   `placeholder:"HOW" default:"error" enum:"error,truncate,slide" group:"How much:" help:"what to do where the model's context is too small: error, truncate (drop the oldest tokens of the prompt) or slide (drop them later too, and write on without end)"`
	Temp          float64  `placeholder:"T" default:"0.8" aliases:"temperature" group:"Which tokens:" help:"temperature: 0 always takes the likeliest token, higher values give more variety"`
	TopK          int      `placeholder:"K" default:"40" group:"Which tokens:" help:"choose among the K likeliest tokens; 0 is no limit"`
	TopP          float64  `placeholder:"P" default:"1" group:"Which tokens:" help:"choose among the likeliest tokens that have the probability P together; 1 is no limit"`
	MinP          float64  `placeholder:"P" default:"0" group:"Which tokens:" help:"choose among tokens at least P times as likely as the likeliest; 0 is no limit"`
	RepeatPenalty float64  `placeholder:"R" default:"1" group:"Which tokens:" help:"values above 1 make tokens that occurred before less likely; 1 is off"`
	RepeatLastN   int      `placeholder:"N" default:"0" group:"Which tokens:" help:"how many of the last tokens the penalty looks at; 0 is all"`
	Seed          *uint64  `placeholder:"S" group:"Which tokens:" help:"the same seed gives the same text, on every machine; default: a random seed, which -v reports"`

	Heal     bool            `group:"How much:" help:"let the new text begin inside the prompt's last word: tokens at its end are taken back, as far as a longer token could begin there"`
	Filters  filterFlags     `embed:"" group:"More filters:"`
	Steering steering        `embed:""`
	Form     constraintFlags `embed:"" group:"A form for the text:"`
	Search   searchFlags     `embed:"" group:"Searches:"`
	Guess    guessFlags      `embed:"" group:"Guessing, for speed:"`

	Output          string `placeholder:"FORM" default:"auto" enum:"auto,text,ids,json,events" group:"Output:" help:"text, ids (an array for each text), json (an object for each text) or events (an object for each token, as it comes); auto is text, or ids where there is no tokenizer"`
	LogProbs        int    `name:"logprobs" placeholder:"N" default:"0" group:"Output:" help:"in json and events, the N likeliest tokens in place of each; default: none"`
	NoDisplayPrompt bool   `group:"Output:" help:"print the new text only, without the prompt"`

	Receipt receiptFlag `embed:""`

	Many promptsSource `embed:"" group:"Many prompts:"`
}

func (c *generateCommand) Run(a *app, k *kong.Context) error {
	if err := checkNeeds(givenFlags(k)); err != nil {
		return err
	}
	o, err := c.settle(k)
	if err == nil {
		err = c.checkPrompts()
	}
	if err == nil {
		err = c.Receipt.check(a, c, givenOptions(k, recordable))
	}
	if err != nil {
		return err
	}
	a.noteWithout(withoutEffect(&o, givenFlags(k), c.Search.asked()))
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
		a.notef("%s: %s ended before it was complete", c.Form.asked(), count(incomplete, "text"))
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
		return decode.Contrastive(ctx, s, prompt, *c.Search.Contrastive, o)
	case c.Samples > 1:
		return decode.Samples(ctx, s, prompt, c.Samples, o)
	}
	return decode.Generate(ctx, s, prompt, o)
}
