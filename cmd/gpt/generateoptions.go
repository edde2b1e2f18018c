package main

// What flags of gpt generate mean: together, for a model, and in its tokens.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/option"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/tokenizer"
)

// The flags of gpt generate, checked: what does not go together, and what has no effect.

// takeStdin lets an option have stdin for its file, unless the prompt comes from there.
func (c *generateCommand) takeStdin(a *app) error {
	flag, p := c.Form.ofStdin(), &c.Prompt
	if flag == "" {
		return nil
	}
	a.files.StdinTaken = true
	switch file, prompts := p.Text.File, c.Many.Prompts; {
	case file != nil && *file == "-", prompts != nil && *prompts == "-",
		file == nil && prompts == nil && len(p.Text.Words) == 0 && p.Prompt == nil &&
			p.Tokens == nil:
		return usagef("%s -: want a file, because stdin has the prompt", flag)
	}
	return nil
}

// takeJSON makes --json the output that it means.
func (c *generateCommand) takeJSON(given map[string]bool) error {
	if !c.JSON {
		return nil
	}
	if given["output"] && c.Output != "json" {
		return usagef("--json and --output %s: want one of them", c.Output)
	}
	c.Output = "json"
	return nil
}

// writesJSON reports whether the output is objects.
func (c *generateCommand) writesJSON() bool {
	return c.Output == "json" || c.Output == "events" || c.Many.Prompts != nil
}

// tellsOpen reports whether objects have the mass that a form leaves open.
func (c *generateCommand) tellsOpen() bool {
	return c.writesJSON() && c.Form.asked() != "" && c.Search.asked() == ""
}

// settle checks the flags together, fills in what depends on others, and makes decode's options of
// them. c stays as it is. Vocabulary is left open.
func (c *generateCommand) settle(given map[string]bool) (decode.Options, error) {
	meant := *c
	o, table := &meant.Options, meant.table()
	if err := meant.settleSearch(given); err != nil {
		return *o, err
	}
	o.OpenMass = meant.tellsOpen()
	err := settle(table, given)
	switch {
	case err != nil:
	case o.Top > 0 && !c.writesJSON():
		err = fault.Hint(usagef("--logprobs: --output %s has no room for them", c.Output),
			"--output json and --output events have")
	default:
		err = fault.First(checkEnds(o, given), checkListed(o, table, given),
			meant.checkSearch(given), c.checkGuesses(), c.Form.check(), meant.checkExact(given))
	}
	return *o, err
}

// settle checks options that flags have said, and makes them what is meant.
func settle(table []option.Option, given map[string]bool) error {
	err := option.CheckFlags(table, func(flag string) bool { return given[flag] })
	if err == nil {
		option.Settle(table)
		err = option.Check(table)
	}
	if err != nil {
		return fault.Usage{Err: option.ByFlag(err)}
	}
	return nil
}

// checkEnds refuses flags about the end of texts that no token ends.
func checkEnds(o *decode.Options, given map[string]bool) error {
	never := o.EndOfText != nil && len(o.EndOfText) == 0
	switch {
	case never && o.MinTokens > 0 && given["min-tokens"]:
		return usagef("--min-tokens and --eos none: want one of them, for no token ends the text")
	case never && o.LengthDecay.Factor != 0:
		return usagef("--length-decay and --eos none: want one of them, for no token ends the text")
	}
	return nil
}

// checkListed refuses flags for what --samplers does not list.
func checkListed(o *decode.Options, table []option.Option, given map[string]bool) error {
	for i := range table {
		row := &table[i]
		if row.Step != "" && len(row.With) == 0 && given[row.Flag.Name] && !o.Lists(row.Step) {
			return usagef("--%s: want %s in the list of --samplers too", row.Flag.Name, row.Step)
		}
	}
	return nil
}

// wanting calls f with each flag that was given without one that it needs, which is named as want.
func wanting(table []option.Option, given map[string]bool, f func(flag, want string)) {
	option.Wanting(table, func(flag string) bool { return given[flag] }, f)
	for _, flag := range []string{"json-open", "json-closed", "json-strict", "json-space",
		"json-any-order", "json-openapi"} {
		if given[flag] && !given["json-schema"] && !given["grammar"] && !given["structural-tag"] {
			f("--"+flag, "--json-schema")
		}
	}
	for _, flag := range []string{"input-format", "text-field"} {
		if given[flag] && !given["prompts"] {
			f("--"+flag, "--prompts FILE")
		}
	}
}

// checkNeeds refuses flags that need others.
func checkNeeds(table []option.Option, given map[string]bool) (err error) {
	wanting(table, given, func(flag, want string) {
		if err == nil {
			err = usagef("%s: want %s with it", flag, want)
		}
	})
	return err
}

// sampling are the flags that are on and without effect where nothing is drawn: the filters, and
// the others.
func sampling(table []option.Option) (filters, others []string) {
	for i := range table {
		switch o := &table[i]; {
		case o.Filter && o.On():
			filters = append(filters, o.Flag.Name)
		case o.Drawn && o.On():
			others = append(others, o.Flag.Name)
		}
	}
	return filters, others
}

// withoutEffect tells which of the flags that were given have no effect, and why: those of a
// command's table, as they are meant. Searches refuse what they do not follow.
func withoutEffect(
	table []option.Option, o *decode.Options, given map[string]bool, searches bool,
) (notes []string) {
	note := func(flag, because string) {
		if given[flag] {
			notes = append(notes, fmt.Sprintf("--%s, because %s", flag, because))
		}
	}
	for i := range table {
		row := &table[i]
		if row.Idle == nil || !row.On() {
			continue
		}
		if because := row.Idle(); because != "" {
			note(row.Flag.Name, because)
		}
	}
	for _, flag := range []string{"lookup", "draft"} {
		if o.Guidance.On() {
			note(flag, "--guidance evaluates two texts, and nothing is guessed for them")
		}
	}
	filters, others := sampling(table)
	switch {
	case searches:
	case o.Temperature == 0:
		for _, flag := range append(filters, others...) {
			note(flag, "--temp 0 takes the likeliest token")
		}
	case o.Mirostat.Version != 0:
		for _, flag := range filters {
			note(flag, "--mirostat takes the place of all filters")
		}
	}
	return notes
}

// noteWithout tells of flags without effect.
func (a *app) noteWithout(notes []string) {
	for _, note := range notes {
		a.Notef("without effect: %s", note)
	}
}

// What a checkpoint says of options: its generation_config.json, which flags outrank.

// takeSaved gives options what the checkpoint says of them, unless a flag outranks it, and tells it
// once. It returns it as flags.
func (a *app) takeSaved(
	table []option.Option, outranked func(*option.Option) bool,
) ([]string, error) {
	ck, err := a.open()
	if err != nil {
		return nil, err
	}
	c := a.byRules(ck.Config)
	flags, err := option.TakeSaved(table, c.Generation.Sampling, c.VocabSize, c.EndTokens(),
		outranked)
	if err != nil {
		err = fault.Hint(err, "--generation-config none leaves what it says of sampling")
	} else if len(flags) > 0 && a.saved == nil {
		a.saved = flags
		a.Notef("%s", option.TellSaved(flags))
	}
	return flags, err
}

// outranked reports whether what a checkpoint says of an option has no effect. Under a search there
// is nothing of sampling, as of the flags' usual values, and max_new_tokens is no budget of a form.
func (c *generateCommand) outranked(given map[string]bool) func(*option.Option) bool {
	search, formed := c.Search.asked() != "", c.Form.asked() != "" && !c.MayCut
	return func(o *option.Option) bool {
		return given[o.Flag.Name] || search && (o.Drawn || o.Name == "temperature") ||
			o.Drawn && c.Temperature == 0 || o.Filter && c.Mirostat.Version != 0 ||
			o.Step != "" && !c.Lists(o.Step) || o.Unasked != nil && formed
	}
}

// settleSaved is settle with what the checkpoint says. It tells what has no effect.
func (c *generateCommand) settleSaved(a *app, given map[string]bool) (o decode.Options, err error) {
	a.chooses = true
	if _, err = a.takeSaved(c.table(), c.outranked(given)); err != nil {
		return o, err
	}
	o, err = c.settle(given)
	a.noteWithout(withoutEffect(append(option.Of(&o), option.Of(&c.Search.BeamOptions)...), &o,
		given, c.Search.asked() != ""))
	return o, err
}

// What gpt generate needs of a tokenizer: texts in flags, a vocabulary, and the form of output.

// openTexts gives o what texts of the flags mean in the model's tokens. t is the tokenizer, if one
// is open.
func (c *generateCommand) openTexts(
	a *app, m *model.Model, t *tokenizer.Tokenizer, o *decode.Options,
) error {
	if err := openOptions(a, t, o); err != nil {
		return err
	}
	if o.EndOfText == nil && a.rules < 1 {
		o.EndOfText = append([]int{}, a.byRules(m.Config()).EndTokens()...)
	}
	return a.openForm(&c.Form, m, t, o)
}

// openOptions gives o what its texts are in tokens, and the rules of what is read. t is the
// tokenizer, if one is open.
func openOptions(a *app, t *tokenizer.Tokenizer, o *decode.Options) (err error) {
	o.Earlier = a.rules < 1
	for _, row := range option.Of(o) {
		if t == nil && row.NeedsText() {
			if t, err = a.openTokenizer(); err != nil {
				return fmt.Errorf("--%s: %w", row.Flag.Name, err)
			}
		}
	}
	if t == nil {
		return nil
	}
	err = o.Open(context.Background(), t)
	if byFlag := option.ByFlag(err); byFlag != err {
		return fault.Usage{Err: byFlag}
	}
	return err
}

// needsText reports whether flags need the tokens' text, whatever the prompt and the output are.
func (c *generateCommand) needsText() bool {
	return c.Form.asked() != "" ||
		slices.ContainsFunc(option.Of(&c.Options), func(o option.Option) bool {
			return o.NeedsText()
		})
}

// vocabulary finds the tokenizer that the prompt and the output need, nil if ids will do, and gives
// o its vocabulary. The ids that may be drawn are those of the tokenizer in every form of output,
// so that the same seed draws the same.
func (c *generateCommand) vocabulary(
	a *app, p *prompt, o *decode.Options,
) (*tokenizer.Tokenizer, error) {
	ck, err := a.open()
	if err != nil {
		return nil, err
	}
	if c.Output == "ids" && !p.asText && !c.needsText() {
		size, gaps, err := ck.Vocabulary()
		if err == nil {
			o.Vocabulary = decode.OnlyIDs(size, gaps)
		}
		a.noteWithoutText(err)
		return nil, nil
	}
	tok, err := a.openTokenizer()
	switch {
	case err == nil:
		o.Vocabulary = tok
		return tok, nil
	case p.asText || c.Output == "text" || c.needsText():
		return nil, err
	}
	a.noteWithoutText(err)
	return nil, nil
}

// noteWithoutText says why there is no text, only ids. Where there is no tokenizer, that needs no
// word.
func (a *app) noteWithoutText(err error) {
	if err != nil && !errors.Is(err, checkpoint.ErrNoTokenizer) {
		a.Notef("no text, only ids: %s", quote.OneLine(err))
	}
}

// newHealer returns what takes back the ends of prompts.
func (a *app) newHealer(m *model.Model) (*textio.Healer, error) {
	t, err := a.openTokenizer()
	if err != nil {
		return nil, err
	}
	_, fromNothing := m.Config().StartToken()
	return textio.NewHealer(t, fromNothing)
}

// heal takes back the end of a prompt.
func (a *app) heal(m *model.Model, prompt []int) (*decode.Healing, error) {
	h, err := a.newHealer(m)
	if err != nil {
		return nil, err
	}
	return h.Heal(prompt)
}

// healIfAsked takes back the end of p, with --heal.
func (c *generateCommand) healIfAsked(
	a *app, m *model.Model, p *prompt, o *decode.Options,
) (err error) {
	if !c.Heal {
		return nil
	}
	if o.Healing, err = a.heal(m, p.ids); err != nil {
		return err
	}
	p.ids = o.Healing.Prompt
	end := string(o.Healing.Bytes)
	if text, found := strings.CutSuffix(p.text, end); found {
		p.text = text
	} else if p.asText { // the end of a long text, which was printed while it was read
		p.printed = len(end)
	}
	return nil
}

// A decoder gives the text of ids; nil is none.
type decoder interface {
	Decode(ids []int) (string, error)
}

// decoderOf is the tokenizer as a decoder, if there is one.
func decoderOf(t *tokenizer.Tokenizer) decoder {
	if t == nil {
		return nil
	}
	return t
}

// printer makes the printer for --output. tok may be nil, if the ids are there.
func (c *generateCommand) printer(
	a *app, tok decoder, p prompt, seed uint64, scores *searchScores,
) (textio.Printer, error) {
	form := c.Output
	if form == "auto" && tok == nil {
		form = "ids"
	}
	switch form {
	case "json":
		return textio.JSON(a.stdout, c.jsonForm(tok, scores, seed), seed, p.ids), nil
	case "events":
		return textio.Events(a.stdout, c.jsonForm(tok, scores, seed)), nil
	case "ids":
		if c.NoDisplayPrompt {
			p.ids = nil
		}
		return textio.IDs(a.stdout, p.ids), nil
	}
	text := p.text
	if !p.asText {
		var err error
		if text, err = tok.Decode(p.ids); err != nil {
			return nil, err
		}
	}
	if c.NoDisplayPrompt {
		text, p.printed = "", 0
	}
	return textio.Text(a.stdout, text, p.printed), nil
}

// jsonForm says what the objects have.
func (c *generateCommand) jsonForm(tok decoder, scores *searchScores, seed uint64) textio.Form {
	begin := func(s *lines.Sample) { scores.begin(s, seed) }
	return textio.Form{Form: lines.Form{Text: tok != nil, Top: c.Top > 0,
		Open: c.tellsOpen()}, Begin: begin}
}

// forms are the flags that the text must fit.
func (c *generateCommand) forms() (flags []string) {
	if c.Heal {
		flags = append(flags, "--heal")
	}
	if form := c.Form.asked(); form != "" {
		flags = append(flags, form)
	}
	return flags
}
