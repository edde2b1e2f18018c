package main

// gpt next, gpt logits and gpt surprise: what may follow the tokens of a text, and what did.

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/receipt"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/decode"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/option"
	"picogpt/internal/webparts"
	"picogpt/model"
	"picogpt/tokenizer"
)

// gpt next: the distribution of the next token, as a table or as JSON.

type nextCommand struct {
	Prompt promptSource

	Top     int
	JSON    bool
	Receipt receiptFlag
	Force   bool

	decode.Options // as flags say them
}

func newNext(a *app) *cli.Command {
	c := &nextCommand{}
	return &cli.Command{
		Name: "next", Group: "look",
		Short: "show which tokens may come next, and how likely each is",
		Args:  []cli.Arg{wordsArg(&c.Prompt.Text)},
		Flags: func(f *cli.Flags) {
			c.flags(f)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(f *cli.Flags) error { return c.Run(a, f) },
	}
}

// flags adds the flags that gpt next has of its own.
func (c *nextCommand) flags(f *cli.Flags) {
	c.Prompt.flags(f)
	c.Prompt.addBOS(f)
	f.Add(&c.Top, "--top N [10]", "show the N likeliest tokens; 0 is all")
	f.Add(&c.Generated, "--new N [0]", "count the last N tokens of the prompt as generated ones")
	f.Add(&c.JSON, "--json", "print one JSON object")
	c.Receipt.flags(f)
	f.Find("receipt").Help = "write to FILE what the table was made from and what came out: gpt " +
		"verify FILE makes it again and compares"
	f.Add(&c.Force, "--force", "write over the file that --receipt names, if it is there")
	f.AddOptions(option.In(option.Of(&c.Options), option.Next), false)
	seed := f.Find("seed")
	seed.Help, seed.Default = "the seed of the coin of --xtc-probability", "0"
}

// recordableNext reports whether the options of a receipt have a flag of gpt next.
func recordableNext(f *cli.Flag) bool {
	if f.Option != nil {
		return f.Option.In&option.Receipts != 0
	}
	return f.Name == "top" || f.Name == "new"
}

// settle checks the flags and makes decode's options of them. Vocabulary is left open.
func (c *nextCommand) settle(given map[string]bool) (decode.Options, error) {
	o := c.Options
	o.MaxTokens = 1
	table := option.Of(&o)
	err := fault.First(fault.NotNegative("--top", c.Top), fault.NotNegative("--new", c.Generated),
		settle(table, given), checkEnds(&o, given), checkListed(&o, table, given))
	return o, err
}

func (c *nextCommand) Run(a *app, f *cli.Flags) error {
	given := f.Given()
	if err := checkNeeds(option.Of(&c.Options), given); err != nil {
		return err
	}
	o, err := c.settle(given)
	if err != nil {
		return err
	}
	a.noteWithout(withoutEffect(option.Of(&o), &o, given, false))
	if c.Receipt.Receipt != nil {
		c.Prompt.declare(a)
	} else if c.Force {
		return usagef("--force: want --receipt FILE, the file to write over")
	}
	if err := c.Receipt.check(a, c.Force, f.Options(recordableNext), "the table"); err != nil {
		return err
	}
	p, err := c.Prompt.given(a)
	if err != nil {
		return err
	}
	if len(p.ids) == 0 && !p.asText {
		return usagef("--tokens: want at least one id, found none")
	}
	tok, err := p.tokenizer(a, c.Prompt.Special, true)
	if err != nil {
		return err
	}
	err = fault.First(c.open(a, tok, p.ids, &o), a.Edits.within(max(1, len(p.ids))))
	if err != nil {
		return err
	}
	a.chooses = true
	m, err := a.openModel()
	if err != nil {
		return err
	}
	t, err := show.LookNext(m, p.ids, o, c.Top)
	if err != nil {
		return err
	}
	t.Name(tok)
	if err = a.print(c.JSON, t, t.Table()); err != nil {
		return err
	}
	return c.Receipt.make(a, c.Force, p.ids, f.Options(recordableNext), o.Seed,
		func(r *receipt.Receipt) error { return r.FillNext(m, t.Logits, candidates(t)) })
}

// open gives o what its texts are in tokens, for a prompt.
func (c *nextCommand) open(a *app, tok *tokenizer.Tokenizer, ids []int, o *decode.Options) error {
	if c.Generated > len(ids) {
		return usagef("--new %d: want at most %d, the tokens of the prompt", c.Generated, len(ids))
	}
	if tok != nil {
		o.Vocabulary = tok
	}
	return openOptions(a, tok, o)
}

// candidates are what a receipt has of the tokens that may come next.
func candidates(t *show.Next) []receipt.Candidate {
	all := []receipt.Candidate{}
	for _, k := range t.Candidates {
		all = append(all, receipt.Candidate{ID: k.ID, LogProb: k.LogProb, Prob: k.Prob})
	}
	return all
}

// gpt logits: what the model makes of some tokens, as JSON or as an array.

type logitsCommand struct {
	Prompt    promptSource
	Positions string
	Top       int
	To        arrayOutput
}

func newLogits(a *app) *cli.Command {
	c := &logitsCommand{}
	return &cli.Command{
		Name: "logits", Group: "look",
		Short: "print the logits of the next token, as JSON or for NumPy",
		Args:  []cli.Arg{wordsArg(&c.Prompt.Text)},
		Flags: func(f *cli.Flags) {
			c.Prompt.flags(f)
			c.Prompt.addBOS(f)
			f.Add(&c.Positions, "--positions WHICH [last]",
				"last: the logits after the last token; all: an array with those after each token").
				OneOf("last", "all")
			f.Add(&c.Top, "--top K",
				"print the K likeliest next tokens; default: the logits of all ids")
			c.To.flags(f, `write an array of float32 in place of JSON; FILE ends in .npy or
				.safetensors`)
			jsonAlready(f)
			a.flags(f, evaluates|edited|engineFlag|cjkSpaces)
		},
		Run: func(f *cli.Flags) error { return c.Run(a, f) },
	}
}

func (c *logitsCommand) Run(a *app, f *cli.Flags) error {
	err := fault.First(a.checkEngine("logits", f.Given()), fault.NotNegative("--top", c.Top))
	if err != nil {
		return err
	}
	if c.To.Out != nil && c.Top > 0 {
		return usagef("--out and --top: want one of them, because an array holds all logits")
	}
	c.Prompt.declare(a)
	if err := c.To.check(a); err != nil {
		return err
	}
	p, err := c.Prompt.given(a)
	if err != nil {
		return err
	}
	if len(p.ids) == 0 && !p.asText {
		return usagef("--tokens: want at least one id, found none")
	}
	return a.backend().logits(c, &p)
}

// logits writes the logits of the model.
func (a fastEngine) logits(c *logitsCommand, p *prompt) (err error) {
	w := show.Logits{Top: c.Top}
	if p.asText || c.Top > 0 {
		if w.Tokenizer, err = p.shownBy(a.app, c.Prompt.Special, lines.IDs{}); err != nil {
			return err
		}
	}
	if err := a.Edits.within(max(1, len(p.ids))); err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	return c.write(a.app, m, w, p)
}

func (c *logitsCommand) write(a *app, m *model.Model, w show.Logits, p *prompt) error {
	ctx := context.Background() // Ctrl-C ends the process
	label := func() string { return fmt.Sprintf("reading %d tokens", len(p.ids)) }
	rows, all := show.LastLogits(ctx, m.NewSession(), p.ids), c.Positions == "all"
	if all {
		var done atomic.Int64
		rows = show.AllLogits(ctx, m.NewSession(), p.ids, &done)
		label = func() string { return fmt.Sprintf("%d of %d tokens", done.Load(), len(p.ids)) }
	}
	if !all || !a.stdout.Terminal || c.To.Out != nil {
		defer a.ShowProgress(label)()
	}
	if c.To.Out == nil {
		return w.Write(a.stdout, m, p.ids, rows, all)
	}
	shape := []int{m.Config().VocabSize}
	if all {
		shape = []int{len(p.ids), m.Config().VocabSize}
	}
	return c.To.write(a, m, p, nil, func(f *arrayWriter) error {
		for row, err := range rows {
			if err == nil {
				err = f.write(row)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, arrayShape{Name: "logits", Shape: shape})
}

// gpt surprise: how surprising each token of a text is, as a picture.

type surpriseCommand struct {
	Text  promptSource
	By    string
	Out   insideOutput
	BOS   bool
	Top   int
	Color string
}

func newSurprise(a *app) *cli.Command {
	c := &surpriseCommand{}
	return &cli.Command{
		Name: "surprise", Group: "look",
		Short: "show how surprising each token of a text is",
		Args:  []cli.Arg{wordsArg(&c.Text.Text)},
		Flags: func(f *cli.Flags) {
			c.Text.flags(f)
			f.Add(&c.By, "--by SCALE [rank]",
				`what the colours show: rank (how many tokens the model thought likelier) or
				surprisal (in bits)`).OneOf("rank", "surprisal")
			c.Out.Page.flags(f)
			f.Add(&c.Out.JSON, "--json", "print one JSON object, which is that of gpt score --text")
			f.Add(&c.BOS, "--bos",
				"put <|endoftext|> before the text, so that its first token has a colour too")
			f.Add(&c.Top, "--top K",
				"how many alternatives the page shows for each token; default: 8")
			addColor(f, &c.Color)
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *surpriseCommand) Run(a *app) error {
	err := fault.First(fault.NotNegative("--top", c.Top), c.Out.check(a, &c.Text))
	if err != nil {
		return err
	}
	p, err := c.Text.given(a)
	if err != nil {
		return err
	}
	t, err := p.shownBy(a, c.Text.Special, lines.IDs{Before: " "})
	if err != nil {
		return err
	}
	picture := pages.Surprise{Model: a.modelName(), By: webparts.Scale(c.By)}
	picture.Score, err = c.score(a, eval.Request{Tokens: p.ids}, t)
	if err != nil {
		return err
	}
	record := picture.Score.Record()
	record.Line = 1
	return c.Out.show(a, record, picture.Page, func() error {
		if a.colored(c.Color) {
			return picture.Terminal(a.stdout.Painted())
		}
		return picture.Table(a.stdout)
	})
}

// score is the text's score.
func (c *surpriseCommand) score(a *app, r eval.Request, t eval.Tokenizer) (eval.Scored, error) {
	m, err := a.openModel()
	if err != nil {
		return eval.Scored{}, err
	}
	o := eval.ScoreOptions{BOS: c.BOS}
	switch {
	case c.Out.JSON:
		o.Top = c.Top
	case c.Out.Page.HTML != nil:
		o.Top = cmp.Or(c.Top, 8)
	}
	defer a.ShowProgress(func() string { return "reading" })()
	return eval.ScoreOne(context.Background(), m, t, r, o)
}
