package main

// gpt patch: which values make the difference between two texts.

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/webparts"
	"picogpt/model"
)

type patchCommand struct {
	Clean, Corrupted *string
	Tokens           []string
	Special, BOS     bool
	Target           *string
	Against          *string
	At               string
	Noising          bool
	Output           insideOutput
}

func newPatch(a *app) *cli.Command {
	c := &patchCommand{}
	return &cli.Command{
		Name: "patch", Group: "look",
		Short: "find where the difference between two texts is made",
		Args: []cli.Arg{
			cli.OptionalWord(&c.Clean, "clean", "the text after which the target is likely"),
			cli.OptionalWord(&c.Corrupted, "corrupted",
				"one of as many tokens, after which it is not"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Tokens, "--tokens IDS",
				"token ids in place of a text, twice: 1,2,3 or [1,2,3]")
			addSpecial(f, &c.Special)
			f.Add(&c.BOS, "--bos", `put the token that stands before a text first, as
				TransformerLens does by default`)
			f.Add(&c.Target, "--target TOKEN",
				"the token whose logit is explained (ids with --tokens)")
			f.Add(&c.Against, "--against TOKEN",
				"the token whose logit is subtracted; default: the mean of all logits")
			f.Add(&c.At, "--at POINT [resid_pre]",
				`what is taken from one text into the other: resid_pre (the stream before a layer),
				attn_out, mlp_out (what attention and MLP add to it), z (a head's values, at all
				positions); also resid_mid, resid_post, mlp_pre, mlp_post, q, k and v`).
				OneOf("resid_pre", "attn_out", "mlp_out", "z", "resid_mid", "resid_post", "mlp_pre",
					"mlp_post", "q", "k", "v")
			f.Add(&c.Noising, "--noising", "take values of the corrupted text into the clean one")
			c.Output.flags(f)
			f.Add(&a.Edits.As, "--as VIEW [raw]", `raw or transformerlens: the numbers of patching
				are the same in both`).OneOf("raw", "transformerlens")
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *patchCommand) Run(a *app) error {
	prompts, err := c.prompts()
	if err == nil {
		err = c.Output.checkInside(a, "gpt patch")
	}
	if err != nil {
		return err
	}
	a.files.LeaveStdin()
	clean, corrupted := &prompts[0], &prompts[1]
	names, err := a.nameTokens(c.Special, clean, corrupted)
	if err != nil {
		return err
	}
	var metric inside.Metric
	metric.Target, err = names.find("--target", *c.Target)
	if err == nil && c.Against != nil {
		metric.Against = new(int)
		*metric.Against, err = names.find("--against", *c.Against)
	}
	if err != nil {
		return err
	}
	if len(clean.ids) != len(corrupted.ids) {
		return unequal(names, clean.ids, corrupted.ids)
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
	t, err := inside.Patch(ctx, m, clean.ids, corrupted.ids, metric, inside.PatchOptions{
		At: at.Kind, Noising: c.Noising,
		Progress: func(done, total int) { bar.Set(done, total, "") }})
	end()
	if err != nil {
		return err
	}
	return c.print(a, m, names, t)
}

// prompts returns the clean text and the corrupted one.
func (c *patchCommand) prompts() (both [2]prompt, err error) {
	switch {
	case c.Clean != nil && c.Tokens != nil:
		return both, errTokensAndText()
	case c.Tokens != nil && len(c.Tokens) != 2:
		return both, usagef("--tokens: want two lists of ids, found %d", len(c.Tokens))
	case c.Tokens == nil && c.Corrupted == nil:
		return both, fault.Hint(usagef("want two texts"),
			`each text is one argument: gpt patch "I have a dog" "I have a cat" --target TOKEN`)
	case c.Target == nil:
		return both, usagef("want --target TOKEN, the token whose logit is explained")
	}
	for i, text := range []*string{c.Clean, c.Corrupted} {
		if c.Tokens == nil {
			both[i] = prompt{text: *text, asText: true, bos: c.BOS}
		} else if both[i].ids, err = textio.ParseIDs(c.Tokens[i]); err != nil {
			return both, usagef("--tokens: %w", err)
		}
		both[i].bos = c.BOS
	}
	return both, nil
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
	metric := "logit of " + quoted(names.name(t.Target)) + " − "
	if t.Against == nil {
		metric += "mean of all"
	} else {
		metric += "of " + quoted(names.name(*t.Against))
	}
	into := "the corrupted text with the clean one's " + c.At
	if t.Noising {
		into = "the clean text with the corrupted one's " + c.At
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
			patchGrid(names, t).Text(terminal.Columns(a.stdout.File))))
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

// patchGrid is the table: layers down, tokens or heads across.
func patchGrid(names *tokenNames, t *inside.PatchTable) *show.Grid {
	g := &show.Grid{Down: "layer", Across: "token"}
	if t.At.PerHead() {
		g.Across = "head"
	}
	for layer, row := range t.Share {
		cells := make([]string, len(row))
		for i, share := range row {
			cells[i] = fmt.Sprintf("%.2f", math.Round(100*share)/100+0) // no −0
		}
		g.Rows, g.Cells = append(g.Rows, fmt.Sprint(layer)), append(g.Cells, cells)
	}
	for i := range t.Share[0] {
		name := fmt.Sprintf("%*d", len(fmt.Sprint(len(t.Share[0])-1)), i)
		if !t.At.PerHead() {
			clean, corrupted := t.IDs[0][i], t.IDs[1][i]
			if name += " " + quoteShort(names.name(clean)); clean != corrupted {
				name += " or " + quoteShort(names.name(corrupted))
			}
		}
		g.Columns = append(g.Columns, name)
	}
	return g
}
