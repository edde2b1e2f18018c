package main

// gpt verify: the text of a receipt once more.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"picogpt/decode"
	"picogpt/internal/amount"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/model"
)

type verifyCommand struct {
	Receipt string
}

func newVerify(a *app) *cli.Command {
	c := &verifyCommand{}
	return &cli.Command{
		Name: "verify", Group: "write",
		Short: "make the text of a receipt again, and compare",
		Args: []cli.Arg{
			cli.Word(&c.Receipt, "receipt",
				"the file that gpt generate --receipt FILE wrote; - is stdin"),
		},
		Flags: func(f *cli.Flags) {
			a.flags(f, evaluates&^(dtype|cacheDtype)|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
		Instead: map[string]string{
			"dtype":       "the receipt says the format of the weights",
			"cache-dtype": "the receipt says the format of the cache",
		},
		Long: `
Makes the text of a receipt again, and compares: the digest of the model, each new id, why
the text ended, and the digests of the logits before each token. The exit status is 0 where all are
the same, and 1 where something differs; a line on stderr then says what differs first. Tokens are
counted from 0.

A receipt is one JSON object, and holds all but the checkpoint, which -m names as for gpt
generate:

model	the digest of the checkpoint's config and weights
formats	the number formats of the weights and of the cache
prompt_ids	the ids of the prompt
options	the flags that were given, of those that say which tokens follow
files	the texts of the files that options name, if there are any
seed	the seed
ids	the new ids, without the one that ended the text
finish_reason	end_of_text, stop or length
logits	a digest of the logits before each new token, the one that ended the text too
token_logits	the first 8 digits of the digest of each of those rows of logits
digest	the SHA-256 of all the above, so that damage is seen; earlier versions wrote none

The threads, the processor, the batches and guesses (--lookup, --draft) change nothing of it, and
are no part of a receipt.

Examples:

  gpt --receipt lily.json --seed 1 -n 40 "Lily said"
  gpt verify lily.json
  gpt verify -m ~/models/gpt2 story.json`,
	}
}

func (c *verifyCommand) Run(a *app) error {
	want, err := c.read(a)
	if err != nil {
		return err
	}
	damaged := a.checkDigest(c.name(), want.content(), want.Digest)
	again, err := want.again(a)
	if err == nil {
		err = again.compare(want)
	}
	switch {
	case err != nil && damaged != nil: // what differs says more
		return fault.Hint(c.named(err), damaged.Error())
	case err != nil || damaged != nil:
		return c.named(fault.First(err, damaged))
	}
	_, err = fmt.Fprintf(a.stdout, "%s: identical: %s\n", c.name(), amount.Count(len(want.IDs), "token"))
	return err
}

func (c *verifyCommand) name() string {
	if c.Receipt == "-" {
		return "stdin"
	}
	return c.Receipt
}

// named is an error that begins with the receipt's name.
func (c *verifyCommand) named(err error) error {
	var usage fault.Usage
	if errors.As(err, &usage) { // of the options there, not of this command line
		err = errors.New(err.Error())
	}
	return fmt.Errorf("%s: %w", c.name(), err)
}

// longestReceipt bounds what is read: the ids of a very long text.
const longestReceipt = 256 << 20

func (c *verifyCommand) read(a *app) (*receipt, error) {
	if c.Receipt == "" {
		return nil, usagef("receipt: want a file, found nothing")
	}
	text, err := a.files.Limited(c.Receipt, "", longestReceipt)
	if err != nil {
		return nil, err
	}
	r, err := parseReceipt(text)
	if err != nil {
		return nil, c.named(fmt.Errorf("want a receipt of gpt generate --receipt: %w", err))
	}
	return r, nil
}

// parseReceipt reads an object with the keys of a receipt, and no others.
func parseReceipt(text string) (*receipt, error) {
	r := &receipt{}
	return r, parseFields(text, []jsonField{
		stringField("model", &r.Model),
		formatsField(&r.Formats),
		idsField("prompt_ids", &r.PromptIDs),
		stringsField("options", &r.Options),
		textsField("files", &r.Files),
		seedField("seed", &r.Seed),
		idsField("ids", &r.IDs),
		stringField("finish_reason", &r.FinishReason),
		stringField("logits", &r.Logits),
		stringsField("token_logits", &r.TokenLogits),
		digestField(&r.Digest),
	})
}

// content is what the digest of a receipt is of.
func (r receipt) content() receipt {
	r.Digest = nil
	return r
}

// again makes the text once more. A token that differs is an error.
func (r *receipt) again(a *app) (*receipt, error) {
	c, f, err := parseOptions(r.Options, recordable)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	seed, ids := r.Seed, string(appendIDs(nil, r.PromptIDs))
	c.Seed, c.Prompt.Tokens = &seed, &ids
	a.Dtype, a.CacheDtype = r.Formats.Weights, r.Formats.Cache
	a.optionFiles = optionFiles{texts: r.Files, all: true}
	if err := r.checkModel(a); err != nil {
		return nil, err
	}
	o, err := c.settle(f.Given())
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	m, err := a.openModel()
	if err != nil {
		return nil, err
	}
	defer m.Close()
	p := prompt{ids: r.PromptIDs}
	tok, err := c.vocabulary(a, &p, &o)
	if err == nil {
		err = c.openTexts(a, m, tok, &o)
	}
	if err == nil {
		err = c.healIfAsked(a, m, &p, &o)
	}
	if err != nil {
		return nil, err
	}
	var tokens []decode.Token
	all := c.named(c.texts(context.Background(), m, p.ids, o, c.Search.newScores()))
	if err := r.follow(a, kept(all, &tokens)); err != nil {
		return nil, err
	}
	again := &receipt{PromptIDs: r.PromptIDs, Options: r.Options, Seed: r.Seed}
	return again, again.fill(a, m, p.ids, tokens)
}

// checkModel compares the checkpoint, before anything is made with another.
func (r *receipt) checkModel(a *app) error {
	f := r.Formats
	if f.Weights == "auto" || !slices.Contains(model.Formats(), f.Weights) {
		return fmt.Errorf("formats: weights %s: want a number format", quoteShort(f.Weights))
	}
	if !slices.Contains(model.CacheFormats(), f.Cache) {
		return fmt.Errorf("formats: cache %s: want f32 or f16", quoteShort(f.Cache))
	}
	ck, err := a.open()
	if err != nil {
		return err
	}
	defer a.ShowProgress(func() string { return "reading " + a.modelName() })()
	digest, err := ck.Digest()
	if err == nil && digest != r.Model {
		err = fault.Hint(fmt.Errorf("model: %s has the digest %s, want %s", a.modelName(), digest,
			quoteShort(r.Model)), "-m names the checkpoint that the text was made with")

	}
	return err
}

// follow compares the ids as they come.
func (r *receipt) follow(a *app, tokens iter.Seq2[decode.Token, error]) error {
	var came atomic.Int64
	label := func() string { return fmt.Sprintf("token %d of %d", came.Load(), len(r.IDs)) }
	defer a.ShowProgress(label)()
	for t, err := range tokens {
		n := int(came.Load())
		switch {
		case err != nil:
			return err
		case t.Finish == decode.FinishEndOfText && n < len(r.IDs):
			return fmt.Errorf("token %d of %d differs: the text ends, want id %d", n, len(r.IDs),
				r.IDs[n])
		case t.Finish == decode.FinishEndOfText:
			return r.compareEnd(n, t.Finish)
		case n >= len(r.IDs):
			return fmt.Errorf("token %d of %d differs: id %d, want the end of the text", n,
				len(r.IDs), t.ID)
		case t.ID != r.IDs[n]:
			return fmt.Errorf("token %d of %d differs: id %d, want %d", n, len(r.IDs), t.ID,
				r.IDs[n])
		}
		came.Add(1)
		if t.Finish != "" {
			return r.compareEnd(n+1, t.Finish)
		}
	}
	return nil
}

func (r *receipt) compareEnd(n int, reason string) error {
	switch {
	case n < len(r.IDs):
		return fmt.Errorf("token %d of %d differs: the text ends (%s), want id %d", n, len(r.IDs),
			reason, r.IDs[n])
	case reason != r.FinishReason:
		return fmt.Errorf("finish_reason differs: %s, want %s", reason, quoteShort(r.FinishReason))
	}
	return nil
}

// compare compares the logits of a text of the same ids.
func (r *receipt) compare(want *receipt) error {
	for i, row := range r.TokenLogits {
		if i >= len(want.TokenLogits) || row != want.TokenLogits[i] {
			return fmt.Errorf("logits before token %d of %d differ, its id does not", i,
				len(r.IDs))
		}
	}
	if len(r.TokenLogits) != len(want.TokenLogits) || r.Logits != want.Logits {
		return fmt.Errorf("logits differ: digest %s, want %s", r.Logits, quoteShort(want.Logits))
	}
	return nil
}
