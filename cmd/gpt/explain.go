package main

// gpt explain: the forward pass of one text, step by step.

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"picogpt/check/reference"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
)

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
