package main

// gpt logits and gpt perplexity with --engine reference.

import (
	"context"
	"fmt"

	"picogpt/check/reference"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/eval"
	"picogpt/internal/fault"
)

// runReference prints the reference's logits, in float64.
func (c *logitsCommand) runReference(a *app) error {
	if err := fault.NotNegative("--top", c.Top); err != nil {
		return err
	}
	p, err := c.Prompt.given(a)
	if err != nil {
		return err
	}
	if len(p.ids) == 0 && !p.asText {
		return usagef("--tokens: want at least one id, found none")
	}
	ck, err := a.open()
	if err != nil {
		return err
	}
	w := show.Logits{Top: c.Top, Tokenizer: noTexts{}}
	if p.asText || c.Top > 0 {
		e, err := a.referenceIDs(&p, c.Prompt.Special, ck.Config.Positions)
		if err != nil {
			return err
		}
		if e != nil {
			w.Tokenizer = newReferenceVocabulary(e)
		}
	}
	if err := show.CheckTokens(ck.Config, p.ids); err != nil {
		return err
	}
	m, err := a.openReference(ck)
	if err != nil {
		return err
	}
	work := &referenceWork{bar: terminal.NewShareBar("reading"), total: len(p.ids)}
	work.begin("reading", len(p.ids))
	work.watch(m)
	end := a.ShowBar(work.bar)
	logits, err := m.Logits(context.Background(), p.ids) // Ctrl-C ends the process
	end()
	if err != nil {
		return err
	}
	rows := func(yield func([]float64, error) bool) {
		for i := range p.ids {
			if (c.Positions == "all" || i == len(p.ids)-1) && !yield(logits.Row(i), nil) {
				return
			}
		}
	}
	return w.WriteReference(a.stdout, p.ids, rows, c.Positions == "all")
}

// noTexts is the vocabulary of a model that has only ids.
type noTexts struct{}

func (noTexts) Text(int) (string, error) { return "", nil }

// measureReference measures the files by Hugging Face's protocol.
func (c *perplexityCommand) measureReference(
	a *app, files []string, o eval.Options,
) (r eval.Result, err error) {
	if o.Protocol != eval.HF {
		return r, usagef("--protocol %s: want hf with --engine reference", o.Protocol)
	}
	ck, err := a.open()
	if err != nil {
		return r, err
	}
	text, err := c.referenceText(a, files)
	if err != nil {
		return r, err
	}
	total, err := eval.NewTotal(o, ck.Config)
	if err != nil {
		return r, err
	}
	d := text.Documents[0]
	if err := show.CheckIDs(ck.Config, d.Tokens); err != nil {
		return r, err
	}
	measured := eval.Measured{Tokens: len(d.Tokens), Words: d.Words, Bytes: d.Bytes}
	enough := *total
	enough.Add(&measured)
	if _, err := enough.Result(); err != nil { // before anything is loaded
		return r, err
	}
	m, err := a.openReference(ck)
	if err != nil {
		return r, err
	}
	score, interrupted := a.scoreReference(m, d.Tokens, o)
	measured.Windows, measured.Scored = []float64{score.NLL * float64(score.Scored)}, score.Scored
	total.Add(&measured)
	r, err = total.Result()
	r.SHA256, r.DType, r.Partial = text.SHA256, "f64 by --engine reference", interrupted != nil
	return r, fault.First(interrupted, err)
}

// referenceText encodes the files, or reads them as ids.
func (c *perplexityCommand) referenceText(a *app, files []string) (eval.Text, error) {
	defer a.ShowProgress(func() string { return "tokenizing" })()
	if c.Tokens != nil {
		ids, err := textio.ParseIDs(files[0])
		if err != nil {
			return eval.Text{}, usagef("--tokens: %w", err)
		}
		return eval.NewTokens(ids, nil), nil
	}
	e, err := a.referenceEncoder()
	if err != nil {
		return eval.Text{}, err
	}
	if c.Special {
		e = e.WithSpecial()
	}
	if c.WikiText {
		return eval.NewWikiText(eval.HF, e, files...)
	}
	return eval.NewText(eval.HF, e, files...)
}

// scoreReference scores tokens with a progress bar. Ctrl-C ends it early.
func (a *app) scoreReference(
	m *reference.Model, ids []int, o eval.Options,
) (reference.Score, error) {
	ctx, release := a.Graceful()
	defer release()
	stride := o.Stride
	if stride == 0 {
		stride = o.Window
	}
	if stride == 0 {
		stride = m.HParams.Positions
	}
	w := &referenceWork{bar: terminal.NewShareBar("scoring"), total: len(ids)}
	w.begin("scoring", min(len(ids), stride))
	w.watch(m)
	defer a.ShowBar(w.bar)()
	s, err := m.Perplexity(ctx, ids, o.Window, o.Stride, func(tokens int, so reference.Score) {
		w.begin(fmt.Sprintf("perplexity %.4f", so.Perplexity()), min(stride, len(ids)-tokens))
	})
	return s, err
}
