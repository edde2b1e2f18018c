package main

// gpt patch, gpt ablate, gpt edges and gpt saliency: values, parts, edges and tokens on which a
// prediction depends.

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/webparts"
	"picogpt/model"
)

type patchCommand struct {
	Pair     pairSource
	Pairs    pairsFlags
	At, By   string
	To       *string
	Heads    *string
	Through  bool
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
			f.Add(&c.At, "--at POINTS [resid_pre]",
				`what is taken from one text into the other: resid_pre (the stream before a layer),
				attn_out, mlp_out (what attention and MLP add to it), z (a head's values), pattern (where
				it looks), q, k, v; also resid_mid, resid_post, mlp_pre, mlp_post; several, or all`)
			f.Add(&c.By, "--by GRAINS [head]", `what of a head: head (at all positions), position (at
				one), edge (of pattern: one weight), several, or all; rows without 0.005 are left out`)
			addHeads(f, &c.Heads, "by position and by edge: patch these heads alone")
			f.Add(&c.To, "--to RECEIVERS", `path patching: what reaches these directly from z,
				attn_out, mlp_out or the stream, all else frozen: logits, or 9.9.q,mlp.3; 9.9 is its q,
				k and v. With --at all these tables come too`)
			f.Add(&c.Through, "--through-mlps", "with --to: MLPs pass the change on")
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

// tables returns what each table is of.
func (c *patchCommand) tables() (all []inside.PatchOptions, err error) {
	o := inside.PatchOptions{Noising: c.Noising, Check: c.Check, ThroughMLPs: c.Through}
	if c.Gradient {
		o.Path = &c.Path
	}
	if c.To != nil {
		if o.To, err = parseReceivers(*c.To); err != nil {
			return nil, err
		}
	}
	if c.Through && c.To == nil {
		return nil, usagef("--through-mlps: want --to with it")
	}
	points, grains := c.At, c.By
	if points == "all" {
		points = "resid_pre,attn_out,mlp_out,resid_mid,z,q,k,v,pattern"
	}
	if grains == "all" {
		grains = "head,position,edge"
	}
	for by := range strings.SplitSeq(grains, ",") {
		g := inside.Grain(strings.TrimSpace(by))
		if g != inside.ByHead && g != inside.ByPosition && g != inside.ByEdge {
			return nil, usagef("--by %s: want head, position, edge or all", quoteShort(by))
		}
	}
	for name := range strings.SplitSeq(points, ",") {
		p, err := model.ParsePoint(strings.TrimSpace(name) + ".*")
		if err != nil {
			return nil, usagef("--at: %w", err)
		}
		list := []string{""}
		if o.At = p.Kind; o.At.PerHead() {
			list = strings.Split(grains, ",")
		}
		for _, by := range list {
			o.By = inside.Grain(strings.TrimSpace(by))
			if c.By == "all" && o.By == inside.ByEdge && o.At != model.Pattern {
				continue
			}
			if plain := o; c.At == "all" && o.To != nil {
				plain.To, plain.ThroughMLPs = nil, false
				if all = append(all, plain); o.At != model.Z && o.At != model.MLPOut {
					continue
				}
			}
			all = append(all, o)
		}
	}
	if c.Heads != nil && !slices.ContainsFunc(all, func(o inside.PatchOptions) bool {
		return o.By == inside.ByPosition || o.By == inside.ByEdge
	}) {
		return nil, usagef("--heads: want --by position or --by edge with it, of points of heads")
	}
	return all, nil
}

var receiverForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:logits|mlp\.(\d{1,5})|(\d{1,5})\.(\d{1,5})(?:\.([qkv]))?)$`)
})

// parseReceivers reads a value of --to.
func parseReceivers(list string) (all []inside.Receiver, err error) {
	for name := range strings.SplitSeq(list, ",") {
		m := receiverForm().FindStringSubmatch(strings.TrimSpace(name))
		r := inside.Receiver{At: model.Point{Kind: model.FinalNormalized}, Head: model.AllHeads}
		switch {
		case m == nil:
			return nil, usagef("--to %s: want logits, mlp.LAYER, LAYER.HEAD or LAYER.HEAD.q (k, v)",
				quoteShort(name))
		case m[1] != "":
			r.At = model.Point{Kind: model.MLPPre, Layer: number(m[1])}
		case m[2] != "":
			for i, part := range "qkv" {
				r.At, r.Head = model.Point{Kind: model.Query + model.Kind(i), Layer: number(m[2])}, number(m[3])
				if strings.ContainsRune(cmp.Or(m[4], "qkv"), part) {
					all = append(all, r)
				}
			}
			continue
		}
		all = append(all, r)
	}
	return all, nil
}

func (c *patchCommand) Run(a *app) error {
	if (c.Path.Steps > 0 || c.Check) && !c.Gradient {
		return usagef("--steps and --check: want --gradient with them")
	}
	tables, err := c.tables()
	if err != nil {
		return err
	}
	names, pairs, err := c.Pairs.orPair(a, &c.Pair, func() error {
		return c.Output.checkInside(a, "gpt patch")
	})
	if err != nil {
		return err
	}
	var m *model.Model
	sets, err := look(a, "runs", c.Gradient, func(ctx context.Context, of *model.Model,
		progress func(done, runs int)) (sets []*inside.PatchSet, err error) {
		m = of
		heads, err := parseHeads(c.Heads, m.Config())
		for i := 0; err == nil && i < len(tables); i++ { // before the first is made
			if o := &tables[i]; o.By == inside.ByPosition || o.By == inside.ByEdge {
				o.Heads = heads
			}
			err = inside.CheckPatch(m, pairs, tables[i])
		}
		for i := 0; err == nil && i < len(tables); i++ {
			o, set := tables[i], (*inside.PatchSet)(nil)
			o.Progress = func(run, runs int) { progress(i*runs+run, len(tables)*runs) }
			set, err = inside.PatchAll(ctx, m, pairs, o)
			sets = append(sets, set)
		}
		return sets, err
	})
	if err != nil {
		return err
	}
	return c.print(a, m, names, sets)
}

// mean is the table of a set: that of its only pair, or of the means, whose positions have the names
// of the first pair.
func mean(set *inside.PatchSet) *inside.PatchTable {
	t := *set.Pairs[0]
	if t.Share = set.Share; len(set.Pairs) > 1 && t.ByGradient != nil {
		t.ByGradient = &inside.Approximation{Path: t.ByGradient.Path}
	}
	return &t
}

// about says what all tables are of.
func (c *patchCommand) about(
	names *tokenNames, s *inside.PatchSet, quoted func(string) string,
) string {
	if c.Pairs.File == nil {
		return fmt.Sprintf("%s: %.3f clean, %.3f corrupted", names.said(s.Pairs[0].Metric, quoted),
			s.Clean.Mean, s.Corrupted.Mean)
	}
	return fmt.Sprintf("%d pairs, the answer's logit: %.3f ± %.3f clean, %.3f ± %.3f corrupted",
		len(s.Pairs), s.Clean.Mean, s.Clean.Spread, s.Corrupted.Mean, s.Corrupted.Spread)
}

// into says what goes into which text.
func (c *patchCommand) into() string {
	if c.Noising {
		return "the clean text with the corrupted one's "
	}
	return "the corrupted text with the clean one's "
}

func (c *patchCommand) print(
	a *app, m *model.Model, names *tokenNames, sets []*inside.PatchSet,
) error {
	var tables []any
	for _, set := range sets {
		if tables = append(tables, set); c.Pairs.File == nil {
			tables[len(tables)-1] = set.Pairs[0]
		}
	}
	found := tables[0]
	if len(tables) > 1 {
		found = map[string]any{"tables": tables}
	}
	return c.Output.show(a, found, c.page(a, m, names, sets), func() error {
		text := show.Wrapped(c.about(names, sets[0], quoteShort), a.columns()) + "\n"
		for i, set := range sets {
			t := mean(set)
			title, more := c.into()+show.PatchName(t, ""), ""
			if c.Pairs.File != nil {
				title, more = show.PatchName(t, " of the means"), "; tokens are those of the first pair"
			}
			if i > 0 {
				text += "\n"
			}
			text += show.Wrapped(title+": 1 is clean, 0 is corrupted"+more, a.columns()) + "\n\n" +
				show.Patch(names.name, t).Text(terminal.Columns(a.stdout.File))
		}
		return a.printText(text)
	})
}

// page draws the page of patching: of one pair with all that a page can show of its clean text.
func (c *patchCommand) page(
	a *app, m *model.Model, names *tokenNames, sets []*inside.PatchSet,
) func(io.Writer) error {
	first := sets[0].Pairs[0]
	f := &focus{names: names, ids: first.IDs[0], at: len(first.IDs[0]) - 1}
	return f.page(a, m, func(p *pages.Picture) error {
		shown := &pages.Patch{About: fmt.Sprintf("%s. A cell is %svalues at one place: 1 is the clean "+
			"difference, 0 the corrupted one; single heads without 0.005 of it are left out. ",
			signs(c.about(names, sets[0], webparts.Quoted)), c.into())}
		p.View, p.Patch = "patch", shown
		for _, t := range sets[0].Pairs {
			shown.Pairs = append(shown.Pairs, [2][]pages.Token{names.picture(a, m, t.IDs[0]).Tokens,
				names.picture(a, m, t.IDs[1]).Tokens})
		}
		for _, set := range sets {
			t := mean(set)
			heat := pages.PatchMap{Name: show.PatchName(t, ""), Tokens: t.By != "" || !t.At.PerHead(),
				Pairs: make([][][]float64, len(set.Pairs))}
			for _, row := range show.PatchRows(t) {
				heat.Rows, heat.Shares = append(heat.Rows, t.Rows[row]), append(heat.Shares, t.Share[row])
				for k, pair := range set.Pairs {
					heat.Pairs[k] = append(heat.Pairs[k], pair.Share[row])
				}
			}
			shown.Maps = append(shown.Maps, heat)
		}
		if c.Pairs.File != nil {
			shown.About += "Text and attention are the first pair's."
			return nil
		}
		return f.explain(m, first.Metric, p)
	})
}

// signs writes numbers with the minus sign that the page has elsewhere.
func signs(text string) string { return strings.ReplaceAll(text, " -", " −") }

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
