package main

// gpt inspect, gpt check and gpt explain: what a checkpoint holds, and a second opinion on it.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"picogpt/check"
	"picogpt/check/reference"
	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
)

// gpt inspect: what a checkpoint holds, and what it needs.

type inspectCommand struct {
	Path   *string
	Remote bool
	Folder *string
	JSON   bool
}

func newInspect(a *app) *cli.Command {
	c := &inspectCommand{}
	return &cli.Command{
		Name: "inspect", Group: "models",
		Short: "show what a checkpoint holds and how much memory it needs",
		Args: []cli.Arg{
			cli.OptionalWord(&c.Path, "model", `the checkpoint to show, as for
				--model, a .gptz file, or a file of --session`),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Remote, "--remote",
				"show a checkpoint at the Hugging Face hub, and download none of its weights")
			f.Add(&c.Folder, "--subfolder FOLDER",
				"with --remote: the folder of the repository that the checkpoint is in")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, opens|cacheDtype)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *inspectCommand) Run(a *app) error {
	if c.Path != nil && *c.Path == "" {
		return usagef("model: want a directory or a file, found nothing")
	}
	if c.Folder != nil && !c.Remote {
		return usagef("--subfolder: want it with --remote, or a path")
	}
	if c.Path != nil && !c.Remote {
		if is, err := a.inspectPacked(*c.Path, c.JSON); is {
			return err
		}
		if is, err := a.inspectSession(*c.Path, c.JSON); is {
			return err
		}
	}
	inspect := a.inspectLocal
	if c.Remote {
		inspect = a.inspectRemote
	}
	i, problem, err := inspect(c)
	if err != nil {
		return err
	}
	return fault.First(a.print(c.JSON, i, string(i.Text())), problem)
}

// inspectLocal inspects a checkpoint on this machine. problem says why it cannot run.
func (a *app) inspectLocal(c *inspectCommand) (i *show.Inspection, problem, err error) {
	if c.Path != nil {
		if err := a.fromArgument("model", *c.Path); err != nil {
			return nil, nil, err
		}
	}
	opened, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	i, problem = show.Inspect(a.modelName(), opened, a.CacheDtype)
	return i, problem, nil
}

// inspectRemote inspects a checkpoint at the hub. The error says why it cannot run or be shown.
func (a *app) inspectRemote(c *inspectCommand) (i *show.Inspection, problem, err error) {
	if c.Path == nil {
		return nil, nil, usagef("--remote: want the name of a repository, as gpt2, found none")
	}
	o, err := a.finder.HubOptions()
	if err != nil {
		return nil, nil, err
	}
	w, err := checkpoints.PullName(*c.Path, o.Endpoint, nil, c.Folder)
	if err != nil {
		return nil, nil, err
	}
	name, files := w.Name, []string(nil)
	if o.Folder, o.Part = w.Folder, w.Part; w.File != "" {
		files = []string{w.File}
	}
	o.Progress = func(p hub.Progress) { a.Notef("%s: %s", p.File, p.Note) }
	ctx, release := a.Graceful()
	defer release()
	defer a.ShowProgress(func() string { return "reading " + name.String() })()
	far, err := hub.Look(ctx, name, o, files...)
	if err != nil {
		return nil, nil, checkpoints.HubError(name, o, err)
	}
	defer far.Close()
	i, problem, err = show.InspectRemote(name, far,
		checkpoint.Options{GELU: a.GELU, Heads: a.Heads}, a.CacheDtype)
	if err != nil {
		err = checkpoints.HubError(name, o, err)
	}
	a.EndProgress()
	a.logf("commit %s, %s fetched", far.Commit, quote.Count(int(far.Fetched()), "byte"))
	return i, problem, err
}

// gpt check: a second opinion on a checkpoint.

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
			f.Add(&c.N, "-n, --max-tokens N", `how many tokens are compared, with those that follow
				greedily; default: tokens times weights are at most 2·10¹⁰, within the context`)
			f.Add(&c.Published, "--published",
				"measure what others have published of this model, on the texts that FILEs hold")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
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
	m, note, err := a.readReference(ck, 1e9,
		"the reference takes %s of memory, 8 bytes for each weight")
	if err != nil {
		return err
	}
	p := check.Pair{Tensors: ck.Tensors, Options: a.modelOptions(), Reference: m, Tokenizer: tok}
	if p.Model, err = a.openModel(); err != nil {
		return err
	}
	bar := terminal.NewShareBar("checking " + a.modelName())
	ctx, release := a.Graceful()
	defer release()
	end := a.ShowBar(bar)
	o.Progress = bar.SetShare
	r, err := p.Compare(ctx, o)
	end()
	if err != nil {
		return err
	}
	if r.Model = a.modelName(); note != "" {
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

func (c *compareCommand) print(a *app, r *check.Report) error {
	return fault.First(a.print(c.JSON, r, r.Text(a.columns())), r.Err())
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

// gpt explain: the forward pass of one text, step by step.

type explainCommand struct {
	Prompt promptSource
	Block  *int
	Head   *int
}

func newExplain(a *app) *cli.Command {
	c := &explainCommand{}
	return &cli.Command{
		Name: "explain", Group: "look",
		Short: "show how the model comes to its next token, step by step",
		Args:  []cli.Arg{wordsArg(&c.Prompt.Text)},
		Flags: func(f *cli.Flags) {
			c.Prompt.flags(f)
			f.Add(&c.Block, "--block N", "show the attention of a head of block N, counted from 0")
			f.Add(&c.Head, "--head N",
				"show the attention of head N; default: the head that looks back the most")
			a.flags(f, opens)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *explainCommand) Run(a *app) error {
	o := reference.ExplainOptions{Block: -1, Head: -1}
	for name, flag := range map[string]struct{ from, to *int }{
		"block": {c.Block, &o.Block}, "head": {c.Head, &o.Head},
	} {
		if flag.from == nil {
			continue
		}
		if *flag.to = *flag.from; *flag.to < 0 {
			return usagef("--%s %d: want 0 or more", name, *flag.to)
		}
	}
	p, err := c.Prompt.given(a)
	if err != nil {
		return err
	}
	ck, err := a.open()
	if err != nil {
		return err
	}
	e, err := a.referenceIDs(&p, c.Prompt.Special, reference.MostExplained)
	if err != nil {
		return err
	}
	hp := reference.HParams{Vocab: ck.Config.VocabSize, Positions: ck.Config.Positions,
		Layer: ck.Config.Layer, Head: ck.Config.Head}
	if err := o.Check(p.ids, hp); err != nil {
		return err
	}
	m, _, err := a.readReference(ck, 1e9, "the lesson takes %s of memory, 8 bytes for each weight")
	if err != nil {
		return err
	}
	m.Encoder = e
	w := newWork("computing", len(p.ids), len(p.ids))
	w.watch(m)
	end := a.ShowBar(w.bar)
	steps, err := m.Explain(context.Background(), p.ids, o) // Ctrl-C ends the process
	end()
	if err != nil {
		return err
	}
	return c.show(a, steps)
}

// show prints the steps, on a terminal one at a time.
func (c *explainCommand) show(a *app, steps []reference.Step) error {
	waits := a.stdout.Terminal && a.Terminal() != nil && terminal.Is(a.files.Stdin)
	lines := bufio.NewReader(a.files.Stdin)
	for i, s := range steps {
		var b strings.Builder
		if i > 0 {
			b.WriteString("\n")
		}
		title := fmt.Sprintf("%d of %d: %s", i+1, len(steps), s.Title)
		fmt.Fprintf(&b, "%s\n%s\n\n%s\n", title, strings.Repeat("=", len(title)), s.Text)
		for line := range strings.Lines(s.Source) {
			b.WriteString("    " + strings.ReplaceAll(line, "\t", "  "))
		}
		b.WriteString("\n")
		if _, err := a.stdout.WriteString(b.String()); err != nil {
			return err
		}
		if !waits || i == len(steps)-1 {
			continue
		}
		fmt.Fprint(a.Stderr, "\n[Enter: next, q: end] ")
		if line, err := lines.ReadString('\n'); err != nil || strings.HasPrefix(line, "q") {
			return nil // Ctrl-D ends it too
		}
	}
	return nil
}
