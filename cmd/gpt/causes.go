package main

// gpt saliency, gpt edges and gpt ablate: tokens, edges and parts on which a prediction depends.

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// addJSON adds --json.
func addJSON(f *cli.Flags, p *bool) { f.Add(p, "--json", "print one JSON object") }

// noteRounding tells what the gradient of a quantized model is.
func (a *app) noteRounding(m *model.Model) {
	if format := m.Format(); format == "q8" || format == "q4" {
		a.Notef("%s: the gradient is that of the weights as they are, rounding is passed through",
			format)
	}
}

type saliencyCommand struct {
	Text     promptSource
	Metric   metricFlags
	At       int
	Path     inside.Path
	Baseline *string
	JSON     bool
}

func newSaliency(a *app) *cli.Command {
	c := &saliencyCommand{}
	return &cli.Command{
		Name: "saliency", Group: "look",
		Short: "show how much a prediction depends on each token",
		Args:  []cli.Arg{wordsArg(&c.Text.Text)},
		Flags: func(f *cli.Flags) {
			c.Text.flags(f)
			c.Text.addBOS(f)
			c.Metric.flags(f)
			f.Add(&c.At, "--at N [-1]",
				"explain what follows the token at position N, from 0; -1 is the last")
			addPath(f, &c.Path)
			f.Add(&c.Baseline, "--baseline TEXT", `with --steps: begin at the embeddings of TEXT, of as
				many tokens (ids with --tokens); default: zeros`)
			addJSON(f, &c.JSON)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *saliencyCommand) Run(a *app) error {
	if c.Baseline != nil && c.Path.Steps == 0 {
		return usagef("--baseline: want --steps N with it")
	}
	if err := fault.First(fault.NotNegative("--steps", c.Path.Steps),
		a.onProcessor("gpt saliency")); err != nil {
		return err
	}
	f, err := a.focus(&c.Text, &c.At, nil)
	if err != nil {
		return err
	}
	q, err := c.Metric.metric(f.names)
	if err != nil {
		return err
	}
	o := inside.SaliencyOptions{Path: c.Path}
	if c.Baseline != nil {
		base := promptSource{Tokens: c.Baseline, Special: c.Text.Special, BOS: c.Text.BOS}
		if c.Text.Tokens == nil {
			base.Tokens, base.Text.Words = nil, []string{*c.Baseline}
		}
		other, err := a.focus(&base, nil, nil)
		if err != nil {
			return err
		}
		if len(other.ids) != len(f.ids) {
			return usagef("--baseline: %d tokens, want %d as the text has", len(other.ids),
				len(f.ids))
		}
		o.Baseline = other.ids[:f.at+1]
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	a.noteRounding(m)
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewBar("steps")
	o.Progress = func(done, total int) { bar.Set(done, total, "") }
	end := a.ShowBar(bar)
	t, err := inside.Saliency(ctx, m, f.ids[:f.at+1], q, o)
	end()
	if err != nil {
		return err
	}
	if c.JSON {
		return strictjson.Print(a.stdout, t)
	}
	return a.printText(saliencyText(f.names, t))
}

// saliencyText is a line for each token.
func saliencyText(names *tokenNames, t *inside.SaliencyTable) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %.3f\n\n at  gradient  · embedding", names.said(t.Metric, quoteShort),
		t.Difference)
	if t.Integrated != nil {
		b.WriteString("  integrated")
	}
	b.WriteString("  token\n")
	for i, id := range t.Tokens {
		fmt.Fprintf(&b, "%3d  %8.3f  %+11.3f", i, t.Norm[i], t.Dot[i])
		if t.Integrated != nil {
			fmt.Fprintf(&b, "  %+10.3f", t.Integrated[i])
		}
		fmt.Fprintf(&b, "  %s\n", quoteShort(names.name(id)))
	}
	if t.Integrated != nil {
		fmt.Fprintf(&b, "\n%d steps, %s; the baseline has %.3f, and the sum of all misses the "+
			"difference by %.2g\n", t.Steps, t.Rule, *t.Base, *t.Gap)
	}
	return b.String()
}

type edgesCommand struct {
	Pair    pairSource
	Path    inside.Path
	Noising bool
	Top     int
	JSON    bool
}

func newEdges(a *app) *cli.Command {
	c := &edgesCommand{}
	return &cli.Command{
		Name: "edges", Group: "look",
		Short: "find which heads and MLPs read from which, by gradients",
		Args:  c.Pair.args(),
		Flags: func(f *cli.Flags) {
			c.Pair.flags(f)
			addNoising(f, &c.Noising)
			addPath(f, &c.Path)
			f.Add(&c.Top, "--top K [20]", "show the K strongest edges; 0 is all")
			addJSON(f, &c.JSON)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *edgesCommand) Run(a *app) error {
	p, err := c.Pair.read(a, func() error {
		return fault.First(fault.NotNegative("--top", c.Top), fault.NotNegative("--steps",
			c.Path.Steps), a.onProcessor("gpt edges"))
	})
	if err != nil {
		return err
	}
	if err := a.Edits.within(len(p.clean)); err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	a.noteRounding(m)
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewBar("steps")
	end := a.ShowBar(bar)
	t, err := inside.Edges(ctx, m, p.clean, p.corrupted, p.metric, inside.EdgesOptions{Path: c.Path,
		Noising: c.Noising, Progress: func(done, total int) { bar.Set(done, total, "") }})
	end()
	if err != nil {
		return err
	}
	if c.JSON {
		return strictjson.Print(a.stdout, t)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", show.Wrapped(fmt.Sprintf("%s: %.3f clean, %.3f corrupted",
		p.names.said(t.Metric, quoteShort), t.Clean, t.Corrupted), a.columns()))
	for _, e := range t.Strongest(c.Top) {
		fmt.Fprintf(&b, "%+8.4f  %-9s -> %s\n", e.Score, e.From, e.To)
	}
	return a.printText(b.String())
}

type ablateCommand struct {
	Pair     pairSource
	Pairs    pairsFlags
	By       string
	Together *string
	Top      int
	JSON     bool
}

func newAblate(a *app) *cli.Command {
	c := &ablateCommand{}
	return &cli.Command{
		Name: "ablate", Group: "look",
		Short: "show what becomes of a prediction without parts of the model",
		Args:  c.Pair.args(),
		Flags: func(f *cli.Flags) {
			c.Pair.flags(f)
			c.Pairs.flags(f)
			f.Add(&c.By, "--by WHAT [zero]", `what stands in the place of a part: zero; mean, over all
				tokens of the corrupted texts; or resample, what the corrupted text has at the same
				position`).OneOf("zero", "mean", "resample")
			f.Add(&c.Together, "--parts LIST", `take these parts away, all at once, with commas between
				them: 9.9,10.0 are heads, attn_out.3 and mlp_out.3 a layer's`)
			f.Add(&c.Top, "--top K [20]", "show the K parts that change most; 0 is all")
			addJSON(f, &c.JSON)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *ablateCommand) Run(a *app) error {
	o := inside.AblateOptions{View: inside.View(a.Edits.As)}
	if c.Together != nil {
		for part := range strings.SplitSeq(*c.Together, ",") {
			e, err := parseAblate(strings.TrimSpace(part), mostLayers)
			if err != nil {
				return err
			}
			name := map[model.Kind]string{model.Z: "head", model.AttnOut: "attn",
				model.MLPOut: "mlp"}[e.At.Kind]
			if name == "" {
				return usagef("--parts %s: want heads, attn_out.N or mlp_out.N", quoteShort(part))
			}
			if name += fmt.Sprintf(" %d", e.At.Layer); e.At.Kind == model.Z {
				name += fmt.Sprintf(".%d", e.Head)
			}
			o.Together = append(o.Together, name)
		}
	}
	names, pairs, err := c.Pairs.orPair(a, &c.Pair, func() error {
		return fault.First(fault.NotNegative("--top", c.Top), a.onProcessor("gpt ablate"))
	})
	if err != nil {
		return err
	}
	if c.By == "mean" {
		for _, p := range pairs {
			o.Mean = append(o.Mean, p.Corrupted)
		}
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	bar := terminal.NewBar("pairs")
	end := a.ShowBar(bar)
	ctx, release := a.Graceful()
	defer release()
	set, err := inside.AblateAll(ctx, m, pairs, c.By == "resample", o,
		func(done, all int) { bar.Set(done, all, "") })
	end()
	if err != nil || c.JSON {
		return cmp.Or(err, strictjson.Print(a.stdout, set))
	}
	return a.printText(partsText(names, set, c.Top, set.Difference.Mean))
}

// partsText is a line for each part, those that are farthest from a number first.
func partsText(names *tokenNames, s *inside.PartSet, top int, from float64) string {
	parts := slices.Clone(s.Parts)
	slices.SortStableFunc(parts, func(a, b inside.MeanPart) int {
		return cmp.Compare(math.Abs(b.Mean-from), math.Abs(a.Mean-from))
	})
	var b strings.Builder
	if len(s.Texts) == 1 {
		fmt.Fprintf(&b, "%s: %.3f\n\n", names.said(s.Texts[0].Metric, quoteShort), s.Difference.Mean)
	} else {
		fmt.Fprintf(&b, "%d pairs, the answer's logit: %.3f, spread %.3f\n\n", len(s.Texts),
			s.Difference.Mean, s.Difference.Spread)
	}
	fmt.Fprintf(&b, "%-12s %9s %9s %9s\n", "part", "mean", "change", "spread")
	for i, p := range parts {
		if top > 0 && i == top {
			break
		}
		fmt.Fprintf(&b, "%-12s %+9.3f %+9.3f %9.3f\n", p.Name, p.Mean, p.Mean-s.Difference.Mean, p.Spread)
	}
	return b.String()
}

// attributeAll is gpt attribute --pairs.
func (c *attributeCommand) attributeAll(a *app) error {
	names, pairs, err := c.Pairs.orPair(a, &pairSource{Special: c.Text.Special, BOS: c.Text.BOS},
		func() error { return c.Out.checkInside(a, "gpt attribute") })
	if err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	set, err := inside.AttributeAll(context.Background(), m, pairs, // Ctrl-C ends the process
		inside.AttributeOptions{View: inside.View(a.Edits.As)}, nil)
	if err != nil || c.Out.JSON {
		return cmp.Or(err, strictjson.Print(a.stdout, set))
	}
	return a.printText(partsText(names, set, c.Top, 0))
}
