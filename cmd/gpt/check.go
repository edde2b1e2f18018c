package main

// gpt check: a second opinion on a checkpoint.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"picogpt/check"
	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/strictjson"
)

type compareCommand struct {
	Files     []string
	Text      *string
	Tokens    *string
	N         *int
	Published bool
	JSON      bool
}

func newCheck(a *app) *cli.Command {
	c := &compareCommand{}
	return &cli.Command{
		Name: "check", Group: "measure",
		Short: "compare with a second program, and with published results",
		Args: []cli.Arg{
			cli.Words(&c.Files, "file", "the text; - is stdin; default: a passage of its own"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Text, "--text TEXT", "compare on TEXT")
			f.Add(&c.Tokens, "--tokens IDS", "compare on token ids: 1,2,3 or [1,2,3]")
			f.Add(&c.N, "-n, --max-tokens N",
				`how many tokens are compared, with those that follow greedily; default: tokens times
				weights are at most 2·10¹⁰, within the context`)
			f.Add(&c.Published, "--published",
				"measure what others have published of this model, on the texts that FILEs hold")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
		Long: `
Compares the engine with picoGPT in float64 (package reference), which shares no code with it: it
reads safetensors with nlpodyssey/safetensors, tokenizes with tiktoken-go and multiplies with gonum.
For whoever converts, trains or ports a checkpoint, or runs it on a new machine or GPU. The config,
every weight, the ids of the text, the logits after each token, the tokens that follow greedily and
the perplexity are compared. The table says for each how far the two are apart, and where.

With f32, f16 and bf16 and the f32 cache, logits must be within 1e-4 of the largest; if they are
not, the exit status is 1, and the last line names the place: a field of the config, a weight, a
token, or the part of the model that differs first. A greedy token that differs where two logits
are nearer than that is a tie. With q8, q4 and the f16 cache the table shows what these lose: the
Kullback-Leibler divergence in nats, how often the first choice is the same, the perplexity.

Tokenizers that are not byte-level BPE, or whose merges tiktoken-go may take in another order, are
not compared. Files in other formats than safetensors go through the engine's reader. Where that is
so, the table says it. The reference takes 8 bytes of memory for each weight, and seconds.

With --json the object has rows (what, compared, difference, bound, the engine's and the reference's
value, where, verdict), place, which is empty where they agree, and agree.

--published measures what others have published of GPT-2: picoGPT's example, perplexities of
WikiText-2 and LAMBADA. Give the texts as FILEs; the table says where those are that it does not have.

Examples:

  gpt check
  gpt check -m ~/models/mine --text "A text of the kind that the model is for."
  gpt check -m ~/models/mine --dtype q8 book.txt
  gpt check -m gpt2 --published wiki.test.raw lambada_test.jsonl`,
	}
}

func (c *compareCommand) Run(a *app) error {
	if c.Published {
		return c.published(a)
	}
	o, err := c.options(a)
	if err != nil {
		return err
	}
	if err := a.chooseDevice(); err != nil { // before seconds of reading
		return err
	}
	ck, err := a.open()
	if err != nil {
		return err
	}
	tok, err := a.openTokenizer()
	if errors.Is(err, checkpoint.ErrNoTokenizer) && o.Text == nil {
		tok, err = nil, nil
	}
	if err == nil {
		err = o.Fits(ck.Config, tok)
	}
	if tooLong := (*check.LengthError)(nil); errors.As(err, &tooLong) {
		err = fault.Hint(err, "-n N compares the first N tokens")
	}
	if err != nil {
		return err
	}
	p, note, err := c.pair(a, ck)
	if err != nil {
		return err
	}
	defer p.Model.Close()
	p.Tokenizer = tok
	r, err := c.compare(a, p, o)
	if err != nil {
		return err
	}
	if note != "" {
		r.Notes = append([]string{note}, r.Notes...)
	}
	return c.print(a, r)
}

// options are what the flags say, with the text.
func (c *compareCommand) options(a *app) (o check.Options, err error) {
	given := len(c.Files)
	for _, s := range []*string{c.Text, c.Tokens} {
		if s != nil {
			given++
		}
	}
	if given > 1 {
		return o, usagef("one FILE, --text or --tokens: want one of them, found %d", given)
	}
	if c.N != nil {
		if o.N = *c.N; o.N < 1 {
			return o, usagef("-n %d: want 1 or more", o.N)
		}
	}
	if !slices.Contains(c.Files, "-") {
		a.files.LeaveStdin()
	}
	switch {
	case c.Tokens != nil:
		if o.IDs, err = textio.ParseIDs(*c.Tokens); err != nil {
			err = usagef("--tokens: %w", err)
		} else if len(o.IDs) == 0 {
			err = usagef("--tokens: want at least one id, found none")
		}
	case c.Text != nil:
		o.Text = c.Text
	case len(c.Files) > 0:
		var text string
		text, err = a.files.Text(c.Files[0], "")
		o.Text = &text
	}
	return o, err
}

// pair is the checkpoint as the reference and the engine read it.
func (c *compareCommand) pair(
	a *app, ck *checkpoint.Checkpoint,
) (p check.Pair, note string, err error) {
	p = check.Pair{Tensors: ck.Tensors, Options: a.modelOptions()}
	if p.Reference, note, err = a.readReference(ck, 1e9,
		"the reference takes %s of memory, 8 bytes for each weight"); err != nil {
		return p, note, err
	}
	p.Model, err = a.openModel()
	return p, note, err
}

func (c *compareCommand) compare(a *app, p check.Pair, o check.Options) (*check.Report, error) {
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewShareBar("checking " + a.modelName())
	defer a.ShowBar(bar)()
	o.Progress = bar.SetShare
	r, err := p.Compare(ctx, o)
	if err == nil {
		r.Model = a.modelName()
	}
	return r, err
}

func (c *compareCommand) print(a *app, r *check.Report) error {
	var err error
	if c.JSON {
		err = strictjson.Print(a.stdout, r)
	} else {
		_, err = a.stdout.WriteString(r.Text(a.columns()))
	}
	return fault.First(err, r.Err())
}

// published measures what was published of the model.
func (c *compareCommand) published(a *app) error {
	if c.Text != nil || c.Tokens != nil || c.N != nil {
		return usagef("--published: want no --text, --tokens or -n beside it")
	}
	ck, err := a.open()
	if err != nil {
		return err
	}
	p := check.Find(check.Publications(), ck.Config)
	if p == nil {
		return fault.Hint(fmt.Errorf("%s: nothing is known that was published of a model of %d "+
			"layers of width %d", a.modelName(), ck.Config.Layer, ck.Config.Embd),
			"without --published, gpt check compares any model with the reference")
	}
	files, err := c.texts(a, p)
	if err != nil {
		return err
	}
	tok, err := a.openTokenizer()
	if err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewShareBar("measuring " + a.modelName())
	end := a.ShowBar(bar)
	r, err := p.Compare(ctx, m, tok, files, bar.SetShare)
	end()
	if len(r.Rows) == 0 && err != nil {
		return err
	}
	if r.Model = a.modelName(); err != nil {
		r.Notes = append(r.Notes, "ended before the rest was measured")
	}
	return fault.First(err, c.print(a, r))
}

// texts reads the files, which must be texts of the publication.
func (c *compareCommand) texts(a *app, p *check.Publication) (files []string, err error) {
	for _, name := range c.Files {
		file, err := a.files.Text(name, "")
		if err != nil {
			return nil, err
		}
		if _, ok := p.Known(file); !ok {
			var want []string
			for _, t := range p.Texts() {
				want = append(want, t.Name+" (SHA-256 "+t.SHA256[:8]+"…)")
			}
			return nil, fmt.Errorf("%s: want %s, by its SHA-256", name, strings.Join(want, " or "))
		}
		files = append(files, file)
	}
	return files, nil
}
