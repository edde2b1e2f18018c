package main

// gpt patch: which values make the difference between two texts.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
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
			f.Add(&c.Gradient, "--gradient", `take gradients in place of runs, two passes for the whole
				table: attribution patching`)
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
	m, err := a.openModel()
	if err != nil {
		return err
	}
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewBar("runs")
	end := a.ShowBar(bar)
	o := inside.PatchOptions{At: at.Kind, Noising: c.Noising, Check: c.Check,
		Progress: func(done, total int) { bar.Set(done, total, "") }}
	if c.Gradient {
		o.Path = &c.Path
	}
	set, err := inside.PatchAll(ctx, m, pairs, o)
	end()
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

// A pairSource is two texts of as many tokens, and what is asked of them.
type pairSource struct {
	Clean, Corrupted *string
	Tokens           []string
	Special, BOS     bool
	Metric           metricFlags
}

// A pair is what a pairSource names.
type pair struct {
	names            *tokenNames
	clean, corrupted []int
	metric           inside.Metric
}

func (s *pairSource) args() []cli.Arg {
	return []cli.Arg{
		cli.OptionalWord(&s.Clean, "clean", "the text after which the target is likely"),
		cli.OptionalWord(&s.Corrupted, "corrupted",
			"one of as many tokens, after which it is not"),
	}
}

func (s *pairSource) flags(f *cli.Flags) {
	f.Add(&s.Tokens, "--tokens IDS", "token ids in place of a text, twice: 1,2,3 or [1,2,3]")
	addSpecial(f, &s.Special)
	f.Add(&s.BOS, "--bos", `put the token that stands before a text first, as TransformerLens does by
		default`)
	s.Metric.flags(f)
}

func addNoising(f *cli.Flags, p *bool) {
	f.Add(p, "--noising", "take values of the corrupted text into the clean one")
}

// addPath adds the flags of integrated gradients.
func addPath(f *cli.Flags, p *inside.Path) {
	f.Add(&p.Steps, "--steps N [0]", `integrate gradients in N steps along the embeddings between both
		ends; 0 takes the gradient at one end alone`)
	f.Add(&p.Rule, "--rule RULE [midpoint]", "where in a step a gradient is taken: midpoint, left, right").
		OneOf("midpoint", "left", "right")
}

// read returns the pair. check is made before anything is opened.
func (s *pairSource) read(a *app, check func() error) (*pair, error) {
	prompts, err := s.prompts()
	if err == nil {
		err = check()
	}
	if err != nil {
		return nil, err
	}
	a.files.LeaveStdin()
	clean, corrupted := &prompts[0], &prompts[1]
	p := &pair{}
	if p.names, err = a.nameTokens(s.Special, clean, corrupted); err != nil {
		return nil, err
	}
	if p.metric, err = s.Metric.metric(p.names); err != nil {
		return nil, err
	}
	if len(clean.ids) != len(corrupted.ids) {
		return nil, unequal(p.names, clean.ids, corrupted.ids)
	}
	p.clean, p.corrupted = clean.ids, corrupted.ids
	return p, nil
}

// prompts returns the clean text and the corrupted one.
func (s *pairSource) prompts() (both [2]prompt, err error) {
	switch {
	case s.Clean != nil && s.Tokens != nil:
		return both, errTokensAndText()
	case s.Tokens != nil && len(s.Tokens) != 2:
		return both, usagef("--tokens: want two lists of ids, found %d", len(s.Tokens))
	case s.Tokens == nil && s.Corrupted == nil:
		return both, fault.Hint(usagef("want two texts"),
			`each text is one argument: gpt patch "I have a dog" "I have a cat" --target TOKEN`)
	}
	for i, text := range []*string{s.Clean, s.Corrupted} {
		if s.Tokens == nil {
			both[i] = prompt{text: *text, asText: true, bos: s.BOS}
		} else if both[i].ids, err = textio.ParseIDs(s.Tokens[i]); err != nil {
			return both, usagef("--tokens: %w", err)
		}
		both[i].bos = s.BOS
	}
	return both, nil
}

// pairsFlags are a file of pairs.
type pairsFlags struct {
	File  *string
	Count int
	Seed  uint64
}

func (s *pairsFlags) flags(f *cli.Flags) {
	f.Add(&s.File, "--pairs FILE", `take many pairs, and show their means: JSON objects with clean,
		corrupted, answer and wrong, or one with templates and words`)
	f.Add(&s.Count, "--count N [64]", "with templates: make N pairs")
	f.Add(&s.Seed, "--seed S [0]", "with templates: the seed of the words that are drawn")
}

// read returns the pairs of the file.
func (s *pairsFlags) read(a *app, source *pairSource) (
	names *tokenNames, pairs []inside.Pair, err error,
) {
	text, err := a.files.Limited(*s.File, "--pairs", textio.MostPairs)
	if err != nil {
		return nil, nil, err
	}
	rows, err := textio.ParsePairs(text, s.Count, s.Seed)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", *s.File, err)
	}
	for i := range rows {
		var p inside.Pair
		if names, err = source.pair(a, &rows[i], &p); err != nil {
			return nil, nil, fmt.Errorf("%s: pair %d: %w", *s.File, i, err)
		}
		pairs = append(pairs, p)
	}
	return names, pairs, nil
}

// pair makes ids of a row.
func (s *pairSource) pair(a *app, r *textio.Pair, p *inside.Pair) (*tokenNames, error) {
	var both [2]prompt
	for i, t := range []*textio.TextOrIDs{&r.Clean, &r.Corrupted} {
		both[i] = prompt{text: t.Text, ids: t.IDs, asText: t.IDs == nil, bos: s.BOS}
		if t.Text == "" && t.IDs == nil {
			return nil, errors.New("want clean and corrupted, texts or ids")
		}
	}
	names, err := a.nameTokens(s.Special, &both[0], &both[1])
	if err != nil {
		return nil, err
	}
	one := func(field string, t *textio.TextOrIDs) (int, error) {
		if len(t.IDs) == 1 {
			return t.IDs[0], nil
		}
		if t.IDs != nil || names.byID {
			return 0, fmt.Errorf("%s: want one id", field)
		}
		return names.find(field, t.Text)
	}
	p.Clean, p.Corrupted, p.Metric.LogProb = both[0].ids, both[1].ids, s.Metric.LogProb
	if len(p.Clean) != len(p.Corrupted) {
		return nil, unequal(names, p.Clean, p.Corrupted)
	}
	if p.Metric.Target, err = one("answer", &r.Answer); err == nil &&
		(r.Wrong.Text != "" || r.Wrong.IDs != nil) && !s.Metric.LogProb {
		p.Metric.Against = new(int)
		*p.Metric.Against, err = one("wrong", &r.Wrong)
	}
	return names, err
}

// orPair returns the pairs of --pairs, or the only one of the arguments.
func (s *pairsFlags) orPair(a *app, source *pairSource, check func() error,
) (*tokenNames, []inside.Pair, error) {
	if s.File == nil {
		p, err := source.read(a, check)
		if err != nil {
			return nil, nil, err
		}
		return p.names, []inside.Pair{{Clean: p.clean, Corrupted: p.corrupted, Metric: p.metric}}, nil
	}
	if q := source.Metric; source.Clean != nil || source.Tokens != nil || q.Target != nil ||
		q.Against != nil {
		return nil, nil, usagef("--pairs and texts or tokens of one: want one of them")
	}
	if err := check(); err != nil {
		return nil, nil, err
	}
	return s.read(a, source)
}

// metricFlags are the tokens of a metric.
type metricFlags struct {
	Target, Against *string
	LogProb         bool
}

func (q *metricFlags) flags(f *cli.Flags) {
	f.Add(&q.Target, "--target TOKEN", "the token whose logit is explained (ids with --tokens)")
	f.Add(&q.Against, "--against TOKEN",
		"the token whose logit is subtracted; default: the mean of all logits")
	f.Add(&q.LogProb, "--logprob", "explain the logarithm of its probability, not its logit")
}

// metric returns the metric; the target must be there.
func (q *metricFlags) metric(names *tokenNames) (m inside.Metric, err error) {
	if q.Target == nil {
		return m, usagef("want --target TOKEN, the token whose logit is explained")
	}
	m.LogProb = q.LogProb
	if m.Target, err = names.find("--target", *q.Target); err == nil && q.Against != nil {
		m.Against = new(int)
		*m.Against, err = names.find("--against", *q.Against)
	}
	return m, err
}

// said says what a metric is, with names quoted.
func (n *tokenNames) said(q inside.Metric, quoted func(string) string) string {
	switch {
	case q.LogProb:
		return "log-probability of " + quoted(n.name(q.Target))
	case q.Against == nil:
		return "logit of " + quoted(n.name(q.Target)) + " − mean of all"
	}
	return "logit of " + quoted(n.name(q.Target)) + " − of " + quoted(n.name(*q.Against))
}

// unequal says where texts of different lengths differ.
func unequal(names *tokenNames, clean, corrupted []int) error {
	first, last := 0, 0 // tokens that are the same in both
	for n := min(len(clean), len(corrupted)); first < n && clean[first] == corrupted[first]; {
		first++
	}
	for n := min(len(clean), len(corrupted)) - first; last < n &&
		clean[len(clean)-1-last] == corrupted[len(corrupted)-1-last]; {
		last++
	}
	say := func(ids []int) string {
		return cmp.Or(names.some(ids[first:len(ids)-last], 8), "nothing")
	}
	return usagef("the clean text has %d tokens and the corrupted one %d, want as many: from "+
		"token %d on, %s and %s", len(clean), len(corrupted), first, say(clean), say(corrupted))
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
