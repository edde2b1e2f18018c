package main

// gpt generate --prompts: many prompts, a text or several for each, written side by side.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/records"

	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/option"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// A promptsSource is a file of prompts and where their texts go.
type promptsSource struct {
	Prompts *string
	Form    promptForm
	Target  records.Target
}

func (s *promptsSource) flags(f *cli.Flags) {
	f.Add(&s.Prompts, "--prompts FILE",
		"continue each prompt of FILE: lines, JSON objects on lines, or a table; - is stdin")
	s.Form.flags(f, "--input-format")
	targetFlags(f, &s.Target)
}

// checkPrompts refuses what --prompts does not go with.
func (c *generateCommand) checkPrompts() error {
	t, one := &c.Many.Target, &c.Prompt
	switch {
	case c.Receipt.Receipt != nil && t.Out != nil &&
		filepath.Clean(*c.Receipt.Receipt) == filepath.Clean(*t.Out):
		return usagef("--receipt %s: that is the file of --out", quoteShort(*t.Out))
	case c.Many.Prompts == nil && t.Resume:
		return usagef("--resume: want --prompts FILE with it")
	case c.Many.Prompts == nil && t.Force && t.Out == nil && c.Receipt.Receipt == nil &&
		c.Session.Session == nil:
		return usagef(
			"--force: want --out, --receipt or --session with it, whose file is written over")
	case c.Many.Prompts == nil:
		return nil
	case len(one.Text.Words) > 0 || one.Text.File != nil || one.Prompt != nil || one.Tokens != nil:
		return usagef("--prompts and another prompt: want one of them")
	case c.Search.asked() != "":
		return usagef("--prompts and %s: want one of them", c.Search.asked())
	case c.Receipt.Receipt != nil && t.Resume:
		return usagef(
			"--receipt and --resume: want one of them, because a receipt is of a whole run")
	case c.Output != "auto" && c.Output != "json":
		return usagef("--prompts and --output %s: want --output json, which is the default here",
			c.Output)
	}
	return nil
}

// runPrompts answers a file of prompts.
func (c *generateCommand) runPrompts(
	a *app, given map[string]bool, options []string,
) error {
	source, prompts, err := c.Many.Form.open(a, "", *c.Many.Prompts)
	if err != nil {
		return err
	}
	defer source.Close()
	if source.Form == "lines" && c.Many.Form.TextField != nil {
		return fault.Hint(usagef("--text-field: %s has no fields, its lines are prompts",
			source.Name), "--input-format says what they are: csv, tsv, jsonl")
	}
	if err := a.checkTarget(&c.Many.Target); err != nil {
		return err
	}
	o, err := c.settleSaved(a, given)
	if err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	run := records.Prompts{
		Console: &a.Console, Signals: &a.Signals, Logf: a.logf,
		Bar:   c.Many.Target.Out != nil || !a.stdout.Terminal,
		Model: m, Options: o, Samples: c.Samples, Forms: c.forms(),
		Input: &records.Input{Reader: source}, Prompts: prompts,
	}
	run.Prompts.Special = c.Prompt.Special
	t, err := a.openTokenizer()
	switch {
	case err == nil:
		run.Prompts.Tokenizer, run.Options.Vocabulary = t, t
	case !errors.Is(err, checkpoint.ErrNoTokenizer) || len(o.Stop) > 0:
		return err
	}
	run.Prompts.Missing = err // ids can still be given
	run.Form = lines.Form{Text: t != nil, Top: c.Top > 0, Open: c.tellsOpen()}
	if err := c.openTexts(a, m, t, &run.Options); err != nil {
		return err
	}
	if c.Heal {
		if run.Healer, err = a.newHealer(m); err != nil {
			return err
		}
	}
	form, err := c.Form.settings(a.optionFile, a.rules)
	if err != nil {
		return err
	}
	settings := slices.Concat(c.settings(), form, c.Many.Form.settings(source))
	seed := []records.Setting{{Name: "--seed", Value: strconv.FormatUint(o.Seed, 10)}}
	if len(a.saved) > 0 {
		settings = append(settings, setting(savedSetting, strings.Join(a.saved, " ")))
	}
	if given["seed"] {
		settings, seed = append(settings, seed...), nil
	}
	run.Out, err = a.openRecords(&c.Many.Target, m, "gpt generate", settings, seed)
	if err != nil {
		return err
	}
	write := func(receipts io.Writer) error {
		run.Receipts = receipts
		return run.Out.Close(run.Run())
	}
	if c.Receipt.Receipt == nil {
		err = write(nil)
	} else if run.Receipt, err = a.receiptOf(m, options); err == nil {
		err = c.Receipt.write(a, c.Many.Target.Force, write)
	}
	if err == nil {
		err = run.Bad()
	}
	return err
}

// receiptOf returns a function that makes the receipt of a line's texts, one at a time: each needs
// a cache of its own.
func (a *app) receiptOf(m *model.Model, options []string) (
	func(prompt []int, seed uint64, start []int, tokens []decode.Token) ([]byte, error), error,
) {
	of, err := a.newReceipt(nil, options, 0) // the digest takes the time of reading all weights
	var one sync.Mutex
	return func(prompt []int, seed uint64, start []int, tokens []decode.Token) ([]byte, error) {
		one.Lock()
		defer one.Unlock()
		r := *of
		r.PromptIDs, r.Seed = append([]int{}, prompt...), seed
		if err := r.Fill(m, start, tokens); err != nil {
			return nil, err
		}
		return r.Line()
	}, err
}

// settings returns the options that the output depends on, without the seed.
func (c *generateCommand) settings() (all []records.Setting) {
	for _, o := range c.table() {
		value, first := o.String(), o.First(true)
		if list, ok := o.Value.(*[]string); ok {
			value, first = fmt.Sprintf("%q", *list), "[]"
		}
		if o.Flag.Name == "" || o.Flag.Name == "seed" || o.Flag.Group == option.Guessing ||
			value == "" && first == "" {
			continue
		}
		all = append(all, records.Setting{Name: "--" + o.Flag.Name, Value: value, Default: first})
	}
	return append(all, setting("--heal", c.Heal), setting("--special", c.Prompt.Special))
}

// targetFlags adds the flags of a target of records.
func targetFlags(f *cli.Flags, t *records.Target) {
	f.Add(&t.Out, "-o, --out FILE", "write to FILE, not to stdout")
	f.Add(&t.Resume, "--resume", "continue the file of --out where an earlier run was stopped")
	f.Add(&t.Force, "--force", "write over the file that is to be written, if it is there")
}

// checkTarget refuses a target that cannot be written, before anything is loaded. If it continues a
// file that an earlier version began, it takes that file's rules; one that was begun without what a
// generation_config.json says goes on without it.
func (a *app) checkTarget(t *records.Target) error {
	err := t.Check(a.writingLines())
	if err == nil && t.Resume {
		rules, ok := records.Began(*t.Out, rulesSetting)
		if n, err := strconv.Atoi(cmp.Or(rules, "0")); ok && err == nil && n < a.rules {
			a.rules = n
		}
		if saved, ok := records.Began(*t.Out, savedSetting); ok && saved == "" {
			a.Generation = "none"
		}
	}
	return err
}

// rulesSetting is chat.Rules in a journal. Journals of before have none.
const rulesSetting = "rules"

// savedSetting is what a journal has of a generation_config.json.
const savedSetting = "generation_config"

// openRecords opens a target for the program that is named and its options. free are options that
// were chosen and not asked for.
func (a *app) openRecords(
	t *records.Target, m *model.Model, program string, options, free []records.Setting,
) (*records.Records, error) {
	o := records.Options{Options: a.writingLines(), Program: program, Free: free}
	settings := func() ([]records.Setting, error) {
		checkpoint, err := a.checkpointSettings(m)
		return append(checkpoint, options...), err
	}
	unsealed := func(journal string) { a.Notef(strictjson.NoDigest, journal) }
	r, err := t.Open(a.stdout.JSON(), o, settings, unsealed)
	if err == nil && t.Out != nil && t.Resume {
		a.logf("%s: continuing after line %d", *t.Out, r.Last().Line)
	}
	return r, err
}

// checkpointSettings are what records depend on in the checkpoint.
func (a *app) checkpointSettings(m *model.Model) ([]records.Setting, error) {
	defer a.ShowProgress(func() string { return "reading " + a.modelName() })()
	c, err := a.open()
	if err != nil {
		return nil, err
	}
	weights, err := c.Digest()
	if err != nil {
		return nil, err
	}
	tokenizer, err := c.TokenizerDigest()
	settings := []records.Setting{setting("model", weights), setting("--dtype", m.Format()),
		setting("tokenizer", tokenizer),
		{Name: rulesSetting, Value: strconv.Itoa(a.rules), Default: "0"}}
	if m.CacheFormat() != "f32" { // journals were written before there was another
		settings = append(settings, setting("--cache-dtype", m.CacheFormat()))
	}
	if edits := m.Edits(); len(edits) > 0 && err == nil {
		var digest *string
		if digest, err = strictjson.Digest(edits); err == nil {
			settings = append(settings, setting("edits", *digest))
		}
	}
	return settings, err
}
