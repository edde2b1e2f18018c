package main

// Receipts: --receipt of gpt generate and gpt next, and gpt verify, which checks them.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"picogpt/cmd/gpt/internal/receipt"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/internal/chat"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// --receipt of gpt generate and gpt next, and the options that receipts and saved chats have.

// A receiptFlag is where the receipt goes.
type receiptFlag struct {
	Receipt *string
}

func (r *receiptFlag) flags(f *cli.Flags) {
	f.Add(&r.Receipt, "--receipt FILE", `write to FILE what the texts were made from and what came
		out: gpt verify FILE makes them again and compares`)
}

// check refuses receipts that cannot be written, before anything is loaded. stdout is what stdout
// has.
func (f *receiptFlag) check(a *app, force bool, options []string, stdout string) error {
	switch {
	case f.Receipt == nil:
		return nil
	case *f.Receipt == "-":
		return usagef("--receipt -: want a file, because stdout has %s", stdout)
	}
	for _, option := range options {
		if !utf8.ValidString(option) {
			return usagef("--receipt and %s: want UTF-8", quoteShort(option))
		}
	}
	return f.failed(outfile.Check(*f.Receipt, a.writing(force, outfile.JSON)))
}

func (f *receiptFlag) failed(err error) error { return outfile.FlagError("--receipt", err) }

// write writes what a function writes; after an error there is no file.
func (f *receiptFlag) write(a *app, force bool, write func(io.Writer) error) error {
	return f.failed(outfile.WriteFile(context.Background(), *f.Receipt,
		a.writing(force, outfile.JSON), write))
}

// make writes the receipt of a prompt, if one is asked for. fill completes it.
func (f *receiptFlag) make(
	a *app, force bool, prompt []int, options []string, seed uint64,
	fill func(*receipt.Receipt) error,
) error {
	if f.Receipt == nil {
		return nil
	}
	r, err := a.newReceipt(prompt, options, seed)
	if err == nil {
		err = fill(r)
	}
	var line []byte
	if err == nil {
		line, err = r.Line()
	}
	if err != nil {
		return err
	}
	return f.write(a, force, outfile.Bytes(line))
}

// newReceipt begins a receipt of the open checkpoint.
func (a *app) newReceipt(prompt []int, options []string, seed uint64) (*receipt.Receipt, error) {
	r := &receipt.Receipt{Build: thisBuild().String(), Rules: a.rules,
		PromptIDs: append([]int{}, prompt...), Options: options, Saved: a.saved, Seed: seed,
		Files: a.optionFiles.texts}
	ck, err := a.open()
	if err == nil {
		r.Model, err = ck.Digest()
	}
	return r, err
}

// fillReceipt completes a receipt. start is what the tokens follow.
func fillReceipt(
	a *app, r *receipt.Receipt, m *model.Model, start []int, tokens []decode.Token,
) error {
	defer a.ShowProgress(func() string { return "reading the logits again" })()
	return r.Fill(m, start, tokens)
}

// optionFiles are the files that options name. Each is read once.
type optionFiles struct {
	texts map[string]string
	all   bool // there are no others: they are those of a receipt
}

// optionFile returns the text of a file that a flag names.
func (a *app) optionFile(name, flag string) (string, error) {
	files := &a.optionFiles
	if text, ok := files.texts[name]; ok {
		return text, nil
	}
	if files.all {
		return "", fmt.Errorf("files: %s is not there, but in options", quoteShort(name))
	}
	text, err := a.files.Text(name, flag)
	if err == nil && files.texts == nil {
		files.texts = map[string]string{}
	}
	if err == nil {
		files.texts[name] = text
	}
	return text, err
}

// unrecorded are the flags of gpt generate, beside its options, that do not change which tokens
// follow a prompt's ids, or that a receipt has in another form.
var unrecorded = [...]string{
	"prompt", "file", "tokens", "special", // prompt_ids
	"output", "json", "no-display-prompt", "receipt", "force", "prompts", "input-format",
	"text-field", "out", "resume",
	"draft", // guesses change nothing
	"generation-config",
	"session", "session-read-only",
}

// recordable reports whether the options of a receipt have a flag of gpt generate.
func recordable(f *cli.Flag) bool {
	if f.Option != nil {
		return f.Option.In&option.Receipts != 0
	}
	switch f.Group {
	case "", modelGroup, editGroup, cli.General: // which gpt generate has not of its own
		return false
	}
	return !slices.Contains(unrecorded[:], f.Name)
}

// parseOptions is what gpt generate with options comes to, each of which is a flag to keep.
func parseOptions(
	options []string, keep func(*cli.Flag) bool,
) (*generateCommand, *cli.Flags, error) {
	c := new(generateCommand)
	f := generateFlags(c)
	return c, f, setOptions(f, options, keep)
}

// setOptions sets flags by options, each of which is a flag to keep.
func setOptions(f *cli.Flags, options []string, keep func(*cli.Flag) bool) error {
	for _, option := range options {
		name, _, hasValue := strings.Cut(option, "=")
		name, hyphens := strings.CutPrefix(name, "--")
		flag := f.Find(name)
		if flag == nil || !hyphens || !keep(flag) || !hasValue && !flag.Bool {
			return usagef("%s: want an option for choosing tokens, such as --temp=0.9",
				quoteShort(option))
		}
	}
	for _, option := range options {
		if err := f.SetOption(option); err != nil {
			return err
		}
	}
	return nil
}

// gpt verify: what a receipt has once more.

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
			cli.Word(&c.Receipt, "receipt", `the file that gpt generate --receipt FILE or gpt next
				--receipt FILE wrote; - is stdin`),
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
	if _, ok := errors.AsType[fault.Usage](err); ok {
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
	a.closeModels()
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
	if err := option.SetSaved(g.table(), r.Saved); err != nil {
		return fmt.Errorf("generation_config: %w", err)
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
	all := g.texts(ctx, v.model.NewSession(), p.ids, o, g.Search.newScores())
	var same atomic.Int64
	end := a.ShowProgress(func() string {
		return fmt.Sprintf("token %d of %d", same.Load(), r.Tokens())
	})
	err = textio.ByFlags(r.Follow(receipt.Keep(all, &tokens), &same), g.forms())
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
	tok, err := p.tokenizer(a, false, true)
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
