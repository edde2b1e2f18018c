package main

// gpt patch, gpt ablate, gpt edges and gpt saliency: values, parts, edges and tokens on which a
// prediction depends.

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/strictjson"
	"picogpt/internal/webparts"
	"picogpt/model"
)

type patchCommand struct {
	Pair     pairSource
	Pairs    pairsFlags
	At       string
	Noising  bool
	Gradient bool
	Path     inside.Path
	Check    bool
	Output   insideOutput
}

func newPatch(a *app) *cli.Command {
	c := &patchCommand{}
	return &cli.Command{
		Name: "patch", Group: "look",
		Short: "find where the difference between two texts is made",
		Args:  c.Pair.args(),
		Flags: func(f *cli.Flags) {
			c.Pair.flags(f)
			c.Pairs.flags(f)
			f.Add(&c.At, "--at POINT [resid_pre]",
				`what is taken from one text into the other: resid_pre (the stream before a layer),
				attn_out, mlp_out (what attention and MLP add to it), z (a head's values, at all
				positions); also resid_mid, resid_post, mlp_pre, mlp_post, q, k and v`).
				OneOf("resid_pre", "attn_out", "mlp_out", "z", "resid_mid", "resid_post", "mlp_pre",
					"mlp_post", "q", "k", "v")
			addNoising(f, &c.Noising)
			f.Add(&c.Gradient, "--gradient", `take gradients in place of runs, two passes for the
				whole table: attribution patching`)
			addPath(f, &c.Path)
			f.Add(&c.Check, "--check", "with --gradient: make the runs too, and say how far off it is")
			c.Output.flags(f)
			f.Add(&a.Edits.As, "--as VIEW [raw]", `raw or transformerlens: the numbers of patching
				are the same in both`).OneOf("raw", "transformerlens")
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *patchCommand) Run(a *app) error {
	if (c.Path.Steps > 0 || c.Check) && !c.Gradient {
		return usagef("--steps and --check: want --gradient with them")
	}
	names, pairs, err := c.Pairs.orPair(a, &c.Pair, func() error {
		if c.Pairs.File != nil && c.Output.Page.HTML != nil {
			return usagef("--pairs and --html: want one of them")
		}
		return c.Output.checkInside(a, "gpt patch")
	})
	if err != nil {
		return err
	}
	at, err := model.ParsePoint(c.At + ".*")
	if err != nil {
		return err
	}
	o := inside.PatchOptions{At: at.Kind, Noising: c.Noising, Check: c.Check}
	if c.Gradient {
		o.Path = &c.Path
	}
	var m *model.Model
	set, err := look(a, "runs", c.Gradient, func(ctx context.Context, of *model.Model,
		progress func(done, runs int)) (*inside.PatchSet, error) {
		m, o.Progress = of, progress
		return inside.PatchAll(ctx, m, pairs, o)
	})
	switch {
	case err != nil:
		return err
	case c.Pairs.File == nil:
		return c.print(a, m, names, set.Pairs[0])
	case c.Output.JSON:
		return strictjson.Print(a.stdout, set)
	}
	mean := *set.Pairs[0] // its first text names the positions
	mean.Share = set.Share
	of := c.At + " of the means"
	if g := mean.ByGradient; g != nil {
		of = show.Approximate(of, &inside.Approximation{Path: g.Path})
	}
	return a.printText(fmt.Sprintf("%d pairs, the answer's logit: %.3f ± %.3f clean, %.3f ± %.3f "+
		"corrupted\n%s: 1 is clean, 0 is corrupted; tokens are those of the first pair\n\n%s",
		len(pairs), set.Clean.Mean, set.Clean.Spread, set.Corrupted.Mean, set.Corrupted.Spread, of,
		show.Patch(names.name, &mean).Text(terminal.Columns(a.stdout.File))))
}

func (c *patchCommand) print(
	a *app, m *model.Model, names *tokenNames, t *inside.PatchTable,
) error {
	quoted := quoteShort
	if c.Output.Page.HTML != nil {
		quoted = webparts.Quoted
	}
	metric := names.said(t.Metric, quoted)
	into := "the corrupted text with the clean one's " + c.At
	if t.Noising {
		into = "the clean text with the corrupted one's " + c.At
	}
	if g := t.ByGradient; g != nil {
		into = show.Approximate(into, g)
	}
	return c.Output.show(a, t, func(w io.Writer) error {
		p := names.picture(a, m, t.IDs[0])
		p.View, p.Patch = "patch", &pages.Patch{Rows: t.Share, Heads: t.At.PerHead(),
			About: fmt.Sprintf("The %s is %s after this text, the clean one, and %s after the "+
				"corrupted one, which has %s. A cell is %s in one place: 1 is the clean "+
				"difference, 0 the corrupted one.", metric, minus(t.Clean), minus(t.Corrupted),
				differences(names, t), into)}
		return p.Page(w)
	}, func() error {
		values := fmt.Sprintf("%s: %.3f clean, %.3f corrupted", metric, t.Clean, t.Corrupted)
		return a.printText(fmt.Sprintf("%s\n%s\n\n%s", show.Wrapped(values, a.columns()),
			show.Wrapped(into+": 1 is clean, 0 is corrupted", a.columns()),
			show.Patch(names.name, t).Text(terminal.Columns(a.stdout.File))))
	})
}

// minus writes a number with the minus sign that the page has elsewhere.
func minus(x float64) string { return strings.ReplaceAll(fmt.Sprintf("%.3f", x), "-", "−") }

// differences says what the corrupted text has in place of the clean one's tokens, for a page.
func differences(names *tokenNames, t *inside.PatchTable) string {
	const most = 5
	var list []string
	for i, id := range t.IDs[1] {
		other := webparts.Quoted(names.name(id)) + " for " +
			webparts.Quoted(names.name(t.IDs[0][i]))
		if id != t.IDs[0][i] && !slices.Contains(list, other) {
			list = append(list, other)
		}
	}
	if len(list) > most {
		list = append(list[:most], "…")
	}
	return strings.Join(list, ", ")
}

func addNoising(f *cli.Flags, p *bool) {
	f.Add(p, "--noising", "take values of the corrupted text into the clean one")
}

// addPath adds the flags of integrated gradients.
func addPath(f *cli.Flags, p *inside.Path) {
	f.Add(&p.Steps, "--steps N [0]", `integrate gradients in N steps along the embeddings between
		both ends; 0 takes the gradient at one end alone`)
	f.Add(&p.Rule, "--rule RULE [midpoint]",
		"where in a step a gradient is taken: midpoint, left, right").OneOf("midpoint", "left", "right")
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
		Short: "show how a prediction changes without parts of the model",
		Args:  c.Pair.args(),
		Flags: func(f *cli.Flags) {
			c.Pair.flags(f)
			c.Pairs.flags(f)
			f.Add(&c.By, "--by WHAT [zero]", `what stands in the place of a part: zero; mean, over
				all tokens of the corrupted texts; or resample, what the corrupted text has at the
				same position`).OneOf("zero", "mean", "resample")
			f.Add(&c.Together, "--parts LIST", `take these parts away, all at once, with commas
				between them: 9.9,10.0 are heads, attn_out.3 and mlp_out.3 a layer's`)
			f.Add(&c.Top, "--top K [20]", "show the K parts that change most; 0 is all")
			f.Add(&c.JSON, "--json", "print one JSON object")
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
	set, err := look(a, "pairs", false, func(ctx context.Context, m *model.Model,
		progress func(done, pairs int)) (*inside.PartSet, error) {
		return inside.AblateAll(ctx, m, pairs, c.By == "resample", o, progress)
	})
	if err != nil {
		return err
	}
	metric := names.said(set.Texts[0].Metric, quoteShort)
	return a.print(c.JSON, set, show.Parts(metric, set, c.Top, set.Difference.Mean))
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
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *edgesCommand) Run(a *app) error {
	names, p, err := c.Pair.read(a, func() error {
		return fault.First(fault.NotNegative("--top", c.Top), fault.NotNegative("--steps",
			c.Path.Steps), a.onProcessor("gpt edges"))
	})
	if err != nil {
		return err
	}
	if err := a.Edits.within(len(p.Clean)); err != nil {
		return err
	}
	t, err := look(a, "steps", true, func(ctx context.Context, m *model.Model,
		progress func(done, steps int)) (*inside.EdgeTable, error) {
		return inside.Edges(ctx, m, p.Clean, p.Corrupted, p.Metric,
			inside.EdgesOptions{Path: c.Path, Noising: c.Noising, Progress: progress})
	})
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", show.Wrapped(fmt.Sprintf("%s: %.3f clean, %.3f corrupted",
		names.said(t.Metric, quoteShort), t.Clean, t.Corrupted), a.columns()))
	for _, e := range t.Strongest(c.Top) {
		fmt.Fprintf(&b, "%+8.4f  %-9s -> %s\n", e.Score, e.From, e.To)
	}
	return a.print(c.JSON, t, b.String())
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
			f.Add(&c.Baseline, "--baseline TEXT", `with --steps: begin at the embeddings of TEXT, of
				as many tokens (ids with --tokens); default: zeros`)
			f.Add(&c.JSON, "--json", "print one JSON object")
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
	t, err := look(a, "steps", true, func(ctx context.Context, m *model.Model,
		progress func(done, steps int)) (*inside.SaliencyTable, error) {
		o.Progress = progress
		return inside.Saliency(ctx, m, f.ids[:f.at+1], q, o)
	})
	if err != nil {
		return err
	}
	return a.print(c.JSON, t, show.Saliency(f.names.said(t.Metric, quoteShort), f.names.name, t))
}
