package main

// gpt generate: text that continues a prompt.

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/receipt"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/search"
	"picogpt/tokenizer"
)

type generateCommand struct {
	app    *app
	Prompt generateSource

	decode.Options // as flags say them; settle makes of them what is meant
	Samples        int

	Heal   bool
	Form   textForm
	Search searchFlags

	Exact    bool
	MaxDraws int

	DraftName *string

	Output          string
	JSON            bool
	NoDisplayPrompt bool

	Receipt receiptFlag

	Many    promptsSource
	Session sessionFlag
}

// table is the options of the command, bound to c.
func (c *generateCommand) table() []option.Option {
	return slices.Concat(option.Of(&c.Options), option.Of(&c.Search.BeamOptions), []option.Option{
		option.Samples(&c.Samples), option.Contrastive(&c.Search.Contrastive)})
}

func newGenerate(a *app) *cli.Command {
	c := &generateCommand{app: a}
	return &cli.Command{
		Name: "generate", Group: "write",
		Short: "write text that continues a prompt (the default command)",
		Args:  []cli.Arg{cli.Words(&c.Prompt.Text.Words, "text", "")}, // the page has it above
		Flags: func(f *cli.Flags) {
			c.flags(f)
			f.Group(option.Output)
			a.addRawControls(f)
			a.flags(f, evaluates|edited|engineFlag|cjkSpaces|generationConfig)
		},
		Check: c.checkFlags,
		Run:   c.Run,
	}
}

// flags adds the flags that gpt generate has of its own.
func (c *generateCommand) flags(f *cli.Flags) {
	c.Prompt.flags(f)
	f.AddOptions(c.table(), true)
	c.Seed = uint64(rand.Uint32()) // short enough to type
	formFlags(f, &c.Form)
	f.Add(&c.Exact, "--exact", `draw the text from those of the form as likely as they are without
		it, whole texts and not token by token`)
	f.Add(&c.MaxDraws, "--max-draws N",
		"give up --exact after N texts that are not of the form; default: 1000")
	f.Group(option.Guessing)
	f.Add(&c.DraftName, "--draft DIR|NAME|q8|q4",
		"let the checkpoint in DIR guess, or this one in q8 or q4; the text stays the same")
	f.Group(option.Output)
	f.Add(&c.Output, "--output FORM [auto]",
		`text, ids (an array for each text), json (an object for each text) or events (an object for
		each token, as it comes); auto is text, or ids where there is no tokenizer`).
		OneOf("auto", "text", "ids", "json", "events")
	f.Add(&c.JSON, "--json", "what --output json is")
	f.Add(&c.NoDisplayPrompt, "--no-display-prompt", "print the new text only, without the prompt")
	c.Receipt.flags(f)
	f.Group(otherPrompts)
	f.Add(&c.Heal, "--heal", `let the new text begin inside the prompt's last word: tokens at its
		end are taken back, as far as a longer token could begin there`)
	c.Many.flags(f)
	c.Session.flags(f)
}

// generateFlags are the flags of gpt generate, which set c.
func generateFlags(c *generateCommand) *cli.Flags { return cli.NewFlags(c.flags) }

// checkFlags refuses flags that no prompt would go with, before it is clear that there is one.
func (c *generateCommand) checkFlags(f *cli.Flags, words []string) error {
	given := f.Given()
	err := fault.First(c.takeJSON(given), checkNeeds(c.table(), given))
	if err == nil {
		_, err = c.settle(given)
	}
	switch {
	case err != nil:
		return err
	case len(words) > 1 && given["prompt"]:
		return errPromptAndText()
	case len(words) > 1 && given["tokens"]:
		return errTokensAndText()
	}
	return nil
}

func (c *generateCommand) Run(f *cli.Flags) error {
	a := c.app
	given := f.Given()
	if err := fault.First(c.takeJSON(given), checkNeeds(c.table(), given),
		a.checkEngine("generate", given)); err != nil {
		return err
	}
	_, err := c.settle(given)
	if err == nil {
		err = c.takeStdin(a)
	}
	if err == nil {
		err = c.checkPrompts()
	}
	if err == nil {
		c.declare(a)
		err = c.Receipt.check(a, c.Many.Target.Force, f.Options(recordable), "the text")
	}
	if err == nil {
		err = c.Session.check(a, c)
	}
	if out := c.Many.Target.Out; err == nil && c.Many.Prompts == nil && out != nil && *out != "-" {
		err = outfile.FlagError("--out", outfile.Check(*out, c.writing(a)))
		if errors.Is(err, outfile.ErrEnding) {
			err = fault.Hint(err,
				"--json writes JSON; --output text a text under any name of texts")
		}
	}
	if err != nil {
		return err
	}
	if c.Many.Prompts != nil {
		return c.runPrompts(a, given, f.Options(recordable))
	}
	o, err := c.settleSaved(a, given)
	if err != nil {
		return err
	}
	if c.Many.Target.Out != nil && *c.Many.Target.Out != "-" {
		return a.toFile(*c.Many.Target.Out, c.writing(a),
			func() error { return a.backend().generate(c, f, o) })
	}
	return a.backend().generate(c, f, o)
}

// writing returns the rules for the file of one prompt.
func (c *generateCommand) writing(a *app) outfile.Options {
	kind := outfile.JSON
	switch {
	case c.Output == "text" || c.Output == "auto" && c.Form.asked() != "":
		kind = outfile.Formed
	case c.Output == "auto":
		kind = outfile.Text
	}
	return a.writing(c.Many.Target.Force, kind)
}

// generate answers one prompt.
func (e fastEngine) generate(c *generateCommand, f *cli.Flags, o decode.Options) error {
	a := e.app
	m, err := a.openModel()
	if err != nil {
		return err
	}
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
			return overflowHint(err)
		}
	}
	closeDraft, err := c.openDraft(a, m, &o)
	if err != nil {
		return err
	}
	defer closeDraft()
	promptIDs := p.ids
	if err := c.healIfAsked(a, m, &p, &o); err != nil {
		return err
	}
	s, rest, err := c.Session.open(a, m, p.ids)
	if err != nil {
		return err
	}
	scores := c.Search.newScores()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tokens, err := c.write(a, decoderOf(tok), p, o, scores, nil, cancel,
		c.texts(ctx, s, rest, o, scores))
	if err = fault.First(c.Session.save(a, s), err); err != nil {
		return err
	}
	return c.Receipt.make(a, c.Many.Target.Force, promptIDs, f.Options(recordable), o.Seed,
		func(r *receipt.Receipt) error { return fillReceipt(a, r, m, p.ids, tokens) })
}

// declare remembers the files that the flags name.
func (c *generateCommand) declare(a *app) {
	if c.Many.Prompts == nil && c.Prompt.Prompt == nil && c.Prompt.Tokens == nil ||
		c.Prompt.Text.File != nil {
		c.Prompt.Text.Declare(&a.files)
	}
	for name, flag := range c.Form.files {
		a.files.WillRead(name, flag)
	}
	if c.DraftName == nil || *c.DraftName == "q8" || *c.DraftName == "q4" {
		return
	}
	// An error is reported when it is opened.
	if where, err := a.finder.Locate(*c.DraftName); err == nil {
		a.finder.WillRead(where.Path, "--draft")
	}
}

// write writes the texts that follow a prompt. It returns their tokens if a receipt wants them.
// bar, if it is not nil, shows how far they are. cancel ends them.
func (c *generateCommand) write(
	a *app, tok decoder, p prompt, o decode.Options, scores *searchScores, bar *terminal.Bar,
	cancel func(), texts iter.Seq2[decode.Token, error],
) (all []decode.Token, err error) {
	print, err := c.printer(a, tok, p, o.Seed, scores)
	if err != nil {
		return nil, err
	}
	a.logf("seed: %d", o.Seed)
	t := textio.Timing{
		Printer: print, Out: a.stdout, Console: &a.Console, Signals: &a.Signals, Cancel: cancel,
		Prompt: max(1, len(p.ids)-c.Session.held), Bar: bar,
		Whole: c.Search.Beams != 0 || c.Exact, Asks: o.Lookup > 0 || o.Draft != nil,
	}
	t.Begin()
	defer t.End() // of a panic too
	incomplete, narrowed, outranked, begun := 0, 0, "", map[int]bool{}
	for token, failed := range texts {
		if failed != nil {
			err = t.Fail(textio.ByFlags(failed, c.forms()))
			break
		}
		if token.Incomplete {
			incomplete++
			outranked = cmp.Or(outranked, token.Outranked)
		}
		if token.Narrowed {
			narrowed++
		}
		if c.Receipt.Receipt != nil {
			all = append(all, token)
		}
		c.Session.begun, c.Session.last = true, token
		if !begun[token.Sample] { // what was dropped while the prompt was read
			begun[token.Sample] = true
			token.Dropped += p.dropped
		}
		if err = t.Token(token); err != nil {
			break
		}
	}
	t.End()
	if !errors.Is(err, process.ErrClosedPipe) {
		t.Log(a.Notef, a.logf, a.start)
	}
	if incomplete > 0 && outranked != "" {
		a.Notef("%s: %s ended before it was complete: --%s left no token with which it ends in time",
			c.Form.asked(), quote.Count(incomplete, "text"), outranked)
	} else if incomplete > 0 {
		a.Notef("%s: %s ended before it was complete", c.Form.asked(),
			quote.Count(incomplete, "text"))
	}
	if narrowed > 0 {
		a.Notef("%s: %s had to lead to an end in time; --may-cut lets texts be cut", c.Form.asked(),
			quote.Count(narrowed, "token"))
	}
	err = overflowHint(err)
	if none := (*search.AcceptanceError)(nil); errors.As(err, &none) && none.Fit > 0 {
		err = fault.Hint(err,
			"--max-draws N allows more; a prompt after which the form is likely needs fewer")
	}
	return all, err
}

// readText reads the text of p to its end, and fills in its ids.
func (c *generateCommand) readText(
	a *app, tok *tokenizer.Tokenizer, context int, p *prompt,
) (err error) {
	if c.Prompt.Special {
		tok = tok.WithSpecial()
	}
	p.ids, p.dropped, p.text, err = textio.Prompt{
		Tokenizer: tok, Context: context, Refuse: c.Overflow == decode.OverflowError,
		Show: !c.NoDisplayPrompt && (c.Output == "text" || c.Output == "auto"),
		Out:  a.stdout, Console: &a.Console,
	}.Read(p.source)
	return err
}

// texts are the tokens that follow a prompt.
func (c *generateCommand) texts(
	ctx context.Context, s *model.Session, prompt []int, o decode.Options, scores *searchScores,
) iter.Seq2[decode.Token, error] {
	switch {
	case c.Search.Beams != 0:
		return c.Search.beams(ctx, s, prompt, o, scores)
	case c.Search.Contrastive != nil:
		return search.Contrastive(ctx, s, prompt, *c.Search.Contrastive, o)
	case c.Exact:
		return search.Exact(ctx, s, prompt, c.exactOptions(), o)
	case c.Samples > 1:
		return decode.Samples(ctx, s, prompt, c.Samples, o)
	}
	return decode.Generate(ctx, s, prompt, o)
}
