package main

// gpt verify: what a receipt has once more.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	"picogpt/cmd/gpt/internal/receipt"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/decode"
	"picogpt/internal/chat"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

type verifyCommand struct {
	Receipt string
	JSON    bool
}

func newVerify(a *app) *cli.Command {
	c := &verifyCommand{}
	return &cli.Command{
		Name: "verify", Group: "write",
		Short: "make the texts of a receipt again, and compare",
		Args: []cli.Arg{
			cli.Word(&c.Receipt, "receipt",
				"the file that gpt generate --receipt FILE or gpt next --receipt FILE wrote; - is stdin"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.JSON, "--json", "print one JSON object, also where something differs")
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
	}
}

func (c *verifyCommand) Run(a *app) error {
	all, err := c.read(a)
	if err != nil {
		return err
	}
	made := verified{}
	defer made.close()
	for i, want := range all {
		if want.Digest == nil && i == 0 {
			a.Notef(strictjson.NoDigest, c.name())
		}
		err := made.verify(a, want)
		if err != nil && len(all) > 1 {
			err = fmt.Errorf("line %d: %w", i+1, inReceipt(err))
		}
		if err != nil {
			return fault.First(c.print(a, &made, err), c.named(err))
		}
	}
	if c.JSON {
		return c.print(a, &made, nil)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: identical: %s\n", c.name(), made.counted())
	return err
}

// print prints what was made again, and what differs, with --json.
func (c *verifyCommand) print(a *app, made *verified, differs error) error {
	if !c.JSON {
		return nil
	}
	v := struct {
		Receipt    string `json:"receipt"`
		Identical  bool   `json:"identical"`
		Texts      int    `json:"texts"`
		Tokens     int    `json:"tokens"`
		Candidates int    `json:"candidates"`
		Error      string `json:"error,omitempty"`
	}{c.name(), differs == nil, made.texts, made.tokens, made.candidates, ""}
	if differs != nil {
		v.Error = quote.OneLine(differs)
	}
	return strictjson.Print(a.stdout, v)
}

func (c *verifyCommand) name() string {
	if c.Receipt == "-" {
		return "stdin"
	}
	return c.Receipt
}

// named is an error that begins with the receipt's name.
func (c *verifyCommand) named(err error) error {
	return fmt.Errorf("%s: %w", c.name(), inReceipt(err))
}

// inReceipt is an error of the options there, not of this command line.
func inReceipt(err error) error {
	var usage fault.Usage
	if errors.As(err, &usage) {
		return errors.New(err.Error())
	}
	return err
}

func (c *verifyCommand) read(a *app) ([]*receipt.Receipt, error) {
	if c.Receipt == "" {
		return nil, usagef("receipt: want a file, found nothing")
	}
	text, err := a.files.Limited(c.Receipt, "", receipt.Longest)
	if err != nil {
		return nil, err
	}
	all, err := receipt.ParseAll(text)
	if err != nil {
		return nil, c.named(fmt.Errorf("want a receipt of gpt generate --receipt: %w", err))
	}
	return all, nil
}

// verified is what was made again, and the model that made it.
type verified struct {
	model *model.Model
	of    *receipt.Receipt // that the model was opened for

	texts, tokens, candidates int
}

func (v *verified) close() {
	if v.model != nil {
		v.model.Close()
	}
}

// counted says what was made.
func (v *verified) counted() string {
	var all []string
	if v.texts > 1 {
		all = append(all, quote.Count(v.texts, "text"))
	}
	if v.texts > 0 {
		all = append(all, quote.Count(v.tokens, "token"))
	}
	if v.candidates > 0 || v.texts == 0 {
		all = append(all, quote.Count(v.candidates, "candidate"))
	}
	return strings.Join(all, ", ")
}

// verify makes what a receipt has again. What differs is an error.
func (v *verified) verify(a *app, want *receipt.Receipt) error {
	damaged := want.Check()
	err := v.open(a, want)
	switch {
	case err != nil:
	case want.Next != nil:
		err = v.next(a, want)
	default:
		err = v.write(a, want)
	}
	if err != nil && damaged != nil { // what differs says more
		return fault.Hint(err, damaged.Error())
	}
	return fault.First(err, damaged)
}

// open opens the model of a receipt, unless that of the one before has the same.
func (v *verified) open(a *app, r *receipt.Receipt) error {
	a.optionFiles, a.rules = optionFiles{texts: r.Files, all: true}, r.Rules
	if v.of != nil && v.of.Model == r.Model && v.of.Formats == r.Formats &&
		v.of.Arithmetic == r.Arithmetic && v.of.Rules == r.Rules &&
		reflect.DeepEqual(v.of.Edits, r.Edits) {
		return nil
	}
	a.Dtype, a.CacheDtype = r.Formats.Weights, r.Formats.Cache
	a.Edits.recorded = r.Edits
	if err := checkReceipt(a, r); err != nil {
		return err
	}
	v.close()
	m, err := a.openModel()
	v.model, v.of = m, r
	return err
}

// write makes the texts once more. A token that differs is an error.
func (v *verified) write(a *app, r *receipt.Receipt) error {
	g, f, err := parseOptions(r.Options, recordable)
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	ids := string(strictjson.AppendIDs(nil, r.PromptIDs))
	g.Seed, g.Prompt.Tokens = r.Seed, &ids
	o, err := g.settle(f.Given())
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	p := prompt{ids: r.PromptIDs}
	tok, err := g.vocabulary(a, &p, &o)
	if err == nil {
		err = g.openTexts(a, v.model, tok, &o)
	}
	if err == nil {
		err = g.healIfAsked(a, v.model, &p, &o)
	}
	if err != nil {
		return err
	}
	var tokens []decode.Token
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	all := g.named(g.texts(ctx, v.model.NewSession(), p.ids, o, g.Search.newScores()))
	var same atomic.Int64
	end := a.ShowProgress(func() string {
		return fmt.Sprintf("token %d of %d", same.Load(), r.Tokens())
	})
	err = r.Follow(receipt.Keep(all, &tokens), &same)
	end()
	if err != nil {
		return err
	}
	again := &receipt.Receipt{}
	if err := fillReceipt(a, again, v.model, p.ids, tokens); err != nil {
		return err
	}
	v.texts, v.tokens = v.texts+len(r.All()), v.tokens+r.Tokens()
	return again.Compare(r)
}

// next finds what may come next once more.
func (v *verified) next(a *app, r *receipt.Receipt) error {
	c := &nextCommand{}
	f := cli.NewFlags(c.flags)
	if err := setOptions(f, r.Options, recordableNext); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	ids := string(strictjson.AppendIDs(nil, r.PromptIDs))
	c.Seed, c.Prompt.Tokens = r.Seed, &ids
	o, err := c.settle(f.Given())
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	p := prompt{ids: r.PromptIDs}
	tok, err := c.tokenizer(a, &p)
	if err == nil {
		err = c.open(a, tok, p.ids, &o)
	}
	if err != nil {
		return err
	}
	t, err := show.LookNext(v.model, p.ids, o, c.Top)
	if err != nil {
		return err
	}
	again := &receipt.Receipt{}
	if err := again.FillNext(v.model, t.Logits, candidates(t)); err != nil {
		return err
	}
	v.candidates += len(t.Candidates)
	return again.CompareNext(r)
}

// checkReceipt compares the checkpoint, before anything is made with another.
func checkReceipt(a *app, r *receipt.Receipt) error {
	if err := cmp.Or(r.Formats.Check(), r.CheckArithmetic(), chat.CheckRules(r.Rules)); err != nil {
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
