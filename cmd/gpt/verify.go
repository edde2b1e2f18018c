package main

// gpt verify: the text of a receipt once more.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"picogpt/decode"
	"picogpt/internal/amount"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/receipt"
	"picogpt/internal/strictjson"
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
			"ablate":      "the receipt has the edits",
			"hide":        "the receipt has the edits",
			"steer":       "the receipt has the edits",
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
edits	what --ablate, --hide and --steer change, as values: verify needs no file of a control vector
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
	damaged := want.Check()
	if want.Digest == nil {
		a.Notef(receipt.NoDigest, c.name())
	}
	again, err := c.again(a, want)
	if err == nil {
		err = again.Compare(want)
	}
	switch {
	case err != nil && damaged != nil: // what differs says more
		return fault.Hint(c.named(err), damaged.Error())
	case err != nil || damaged != nil:
		return c.named(fault.First(err, damaged))
	}
	_, err = fmt.Fprintf(a.stdout, "%s: identical: %s\n", c.name(),
		amount.Count(len(want.IDs), "token"))
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

func (c *verifyCommand) read(a *app) (*receipt.Receipt, error) {
	if c.Receipt == "" {
		return nil, usagef("receipt: want a file, found nothing")
	}
	text, err := a.files.Limited(c.Receipt, "", receipt.Longest)
	if err != nil {
		return nil, err
	}
	r, err := receipt.Parse(text)
	if err != nil {
		return nil, c.named(fmt.Errorf("want a receipt of gpt generate --receipt: %w", err))
	}
	return r, nil
}

// again makes the text once more. A token that differs is an error.
func (c *verifyCommand) again(a *app, r *receipt.Receipt) (*receipt.Receipt, error) {
	g, f, err := parseOptions(r.Options, recordable)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	ids := string(strictjson.AppendIDs(nil, r.PromptIDs))
	g.Seed, g.Prompt.Tokens = r.Seed, &ids
	a.Dtype, a.CacheDtype = r.Formats.Weights, r.Formats.Cache
	a.Edits.recorded = r.Edits
	a.optionFiles = optionFiles{texts: r.Files, all: true}
	if err := c.checkModel(a, r); err != nil {
		return nil, err
	}
	o, err := g.settle(f.Given())
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	m, err := a.openModel()
	if err != nil {
		return nil, err
	}
	defer m.Close()
	p := prompt{ids: r.PromptIDs}
	tok, err := g.vocabulary(a, &p, &o)
	if err == nil {
		err = g.openTexts(a, m, tok, &o)
	}
	if err == nil {
		err = g.healIfAsked(a, m, &p, &o)
	}
	if err != nil {
		return nil, err
	}
	var tokens []decode.Token
	all := g.named(g.texts(context.Background(), m.NewSession(), p.ids, o, g.Search.newScores()))
	var same atomic.Int64
	end := a.ShowProgress(func() string {
		return fmt.Sprintf("token %d of %d", same.Load(), len(r.IDs))
	})
	err = r.Follow(receipt.Keep(all, &tokens), &same)
	end()
	if err != nil {
		return nil, err
	}
	again := &receipt.Receipt{
		PromptIDs: r.PromptIDs, Options: r.Options, Files: r.Files, Seed: r.Seed,
	}
	return again, fillReceipt(a, again, m, p.ids, tokens)
}

// checkModel compares the checkpoint, before anything is made with another.
func (c *verifyCommand) checkModel(a *app, r *receipt.Receipt) error {
	if err := cmp.Or(r.Formats.Check(), r.CheckArithmetic()); err != nil {
		return err
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
