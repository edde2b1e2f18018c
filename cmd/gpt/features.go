package main

// gpt features, and --sae and --feature of all commands: features of sparse dictionaries.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/records"
	"picogpt/eval"
	"picogpt/inside"
	"picogpt/inside/sae"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/folder"
	"picogpt/internal/lines"
	"picogpt/internal/quote"
	"picogpt/model"
)

type featuresCommand struct {
	Text         promptSource
	Top          int
	Of           []string
	Logits       *int
	Strongest    *int
	Texts        textsCommand
	Explanations *string
	JSON         bool

	of    []int
	words sae.Explanations
}

func newFeatures(a *app) *cli.Command {
	c := &featuresCommand{Texts: textsCommand{From: textSource{verb: "features", Input: "auto"}}}
	return &cli.Command{
		Name: "features", Group: "look",
		Short: "show the features of a sparse autoencoder",
		Args:  []cli.Arg{wordsArg(&c.Text.Text)},
		Flags: func(f *cli.Flags) {
			c.Text.flags(f)
			c.Text.addBOS(f)
			f.Add(&c.Top, "--top K [5]", "show the K strongest features of each token; 0 is all")
			f.Add(&c.Explanations, "--explanations FILE", `words for features: JSON objects on lines,
				with index and description, as Neuronpedia exports them`)
			f.Add(cli.Commas(&c.Of), "--of LIST", "with --logits or --strongest: numbers of features")
			f.Add(&c.Logits, "--logits N", `show the N tokens whose logits each feature of --of raises
				most, and lowers most, directly`)
			f.Add(&c.Strongest, "--strongest N", `show the N tokens of the texts at which each feature
				of --of is strongest; with --out what each text has, too`)
			f.Add(&c.Texts.From.File, "--texts FILE",
				"with --strongest: the texts, as gpt score takes them; - is stdin")
			targetFlags(f, &c.Texts.Target)
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *featuresCommand) Run(a *app) (err error) {
	if err := c.check(a); err != nil {
		return err
	}
	d, err := a.dictionary(*a.Edits.SAE)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, i := range c.of {
		if i >= d.Features {
			return usagef("--of %d: want 0 to %d", i, d.Features-1)
		}
	}
	if c.Explanations != nil {
		text, err := a.files.Limited(*c.Explanations, "--explanations", 1<<30)
		if err == nil {
			c.words, err = sae.ReadExplanations(strings.NewReader(text), d.Features)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", *c.Explanations, err)
		}
	}
	switch {
	case c.Strongest != nil:
		return c.strongest(a, d)
	case c.Logits != nil:
		return c.logits(a, d)
	}
	return c.text(a, d)
}

// mostPlaces bounds what the journal of --resume has of all features together.
const mostPlaces = 1024

// check refuses what can be refused before a file is opened.
func (c *featuresCommand) check(a *app) error {
	for _, value := range c.Of {
		i, err := strconv.Atoi(value)
		if err != nil || i < 0 {
			return usagef("--of %s: want numbers of features, as 3,14", quoteShort(value))
		}
		c.of = append(c.of, i)
	}
	t := &c.Texts.Target
	switch n := cmp.Or(c.Strongest, c.Logits); {
	case a.Edits.SAE == nil:
		return fault.Hint(usagef("want --sae DIR"), "gpt features --help says what it takes")
	case c.Strongest != nil && c.Logits != nil:
		return usagef("--logits and --strongest: want one of them")
	case (n != nil) != (c.of != nil):
		return usagef("want --of LIST with --logits or --strongest")
	case n != nil && (*n < 1 || *n*len(c.of) > mostPlaces):
		return usagef("%d of each feature: want 1 or more, and %d in all at most", *n, mostPlaces)
	case (c.Strongest != nil) != (c.Texts.From.File != nil):
		return usagef("--strongest N and --texts FILE: want both")
	case c.Strongest == nil && (t.Out != nil || t.Resume || t.Force):
		return usagef("--out, --resume and --force: want --strongest with them")
	}
	return fault.First(fault.NotNegative("--top", c.Top), a.onProcessor("gpt features"))
}

// reader opens the model that the dictionary is for.
func (c *featuresCommand) reader(a *app, d *sae.Dictionary) (*sae.Reader, error) {
	m, err := a.openModel()
	if err != nil {
		return nil, err
	}
	return a.readerOf(d, m)
}

// text shows the features of a text.
func (c *featuresCommand) text(a *app, d *sae.Dictionary) error {
	if *d.PrependBOS && !c.Text.BOS {
		c.Text.BOS = true
		a.Notef("--sae: a text begins with the token before texts (prepend_bos)")
	}
	f, err := a.focus(&c.Text, nil, nil)
	if err != nil {
		return err
	}
	r, err := c.reader(a, d)
	if err != nil {
		return err
	}
	end := a.ShowProgress(func() string { return "reading" })
	ctx := context.Background() // Ctrl-C ends the process
	text, err := r.Read(ctx, f.ids)
	var losses *sae.Losses
	if err == nil && len(f.ids) > 1 && r.Out.Kind.TakesEdits() {
		losses, err = r.Losses(ctx, text)
	}
	if end(); err != nil {
		return err
	}
	var b strings.Builder
	seen := map[int]string{}
	fmt.Fprintf(&b, " at  token           error  active  strongest features\n")
	for i, t := range text.Tokens {
		order := make([]int, len(t.Features))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(t.Values[y], t.Values[x]) })
		fmt.Fprintf(&b, "%3d  %-14s  %.3f  %6d ", i, quoteShort(f.names.name(f.ids[i])),
			t.Error/max(t.Square, math.SmallestNonzeroFloat64), len(order))
		for n, k := range order {
			if n == c.Top && c.Top > 0 {
				break
			}
			fmt.Fprintf(&b, " %d:%.2f", t.Features[k], t.Values[k])
			if words, ok := c.words[t.Features[k]]; ok {
				seen[t.Features[k]] = words
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\n%.1f active in the mean; explained variance %.4f, squared error %.4g\n",
		text.Active, text.Explained, text.MSE)
	if losses != nil {
		fmt.Fprintf(&b, "loss %.4f; with the features alone %.4f, with zeros %.4f", losses.Clean,
			losses.Features, losses.Ablated)
		if losses.Recovered != nil {
			fmt.Fprintf(&b, ": %.4f recovered", *losses.Recovered)
		}
		b.WriteByte('\n')
	}
	c.explain(&b, seen)
	return a.print(c.JSON, struct {
		Dictionary *sae.Config `json:"dictionary"`
		*sae.Text
		*sae.Losses
		Explanations map[int]string `json:"explanations,omitempty"`
	}{&d.Config, text, losses, seen}, b.String())
}

// explain adds words for features.
func (c *featuresCommand) explain(b *strings.Builder, words map[int]string) {
	for _, i := range slices.Sorted(maps.Keys(words)) {
		fmt.Fprintf(b, "%6d  %s\n", i, quote.Short(words[i], 100))
	}
}

// An effect is what a feature does to the logits of some tokens.
type effect struct {
	Feature     int          `json:"feature"`
	Explanation string       `json:"explanation,omitempty"`
	Raised      []tokenLogit `json:"raised"`
	Lowered     []tokenLogit `json:"lowered"`
}

type tokenLogit struct {
	ID    int     `json:"id"`
	Text  string  `json:"text"`
	Logit float32 `json:"logit"`
}

// logits shows what features do to logits.
func (c *featuresCommand) logits(a *app, d *sae.Dictionary) error {
	names, err := a.nameTokens(false, &prompt{ids: []int{0}})
	if err != nil {
		return err
	}
	r, err := c.reader(a, d)
	if err != nil {
		return err
	}
	var all []effect
	var b strings.Builder
	for _, i := range c.of {
		logits, err := r.Effect(context.Background(), i)
		if err != nil {
			return err
		}
		e := effect{Feature: i, Explanation: c.words[i]}
		fmt.Fprintf(&b, "feature %d  %s\n", i, c.words[i])
		for _, part := range []struct {
			name string
			to   *[]tokenLogit
		}{{"raises", &e.Raised}, {"lowers", &e.Lowered}} {
			fmt.Fprintf(&b, "  %s", part.name)
			for _, id := range inside.Greatest(logits, *c.Logits) {
				one := tokenLogit{id, names.name(id), logits[id]}
				if part.name == "lowers" {
					one.Logit = -one.Logit
				}
				*part.to = append(*part.to, one)
				fmt.Fprintf(&b, "  %s %+.3f", quoteShort(one.Text), one.Logit)
			}
			b.WriteByte('\n')
			for id := range logits {
				logits[id] = -logits[id]
			}
		}
		all = append(all, e)
	}
	return a.print(c.JSON, all, b.String())
}

// A strengthRecord is what one text has of some features.
type strengthRecord struct {
	Line     int             `json:"line"`
	ID       json.RawMessage `json:"id,omitempty"`
	Features []sae.Strengths `json:"features"`

	row    *lines.Row
	tokens int
}

// strongest reads texts, and shows where features are strongest.
func (c *featuresCommand) strongest(a *app, d *sae.Dictionary) error {
	t := &c.Texts
	t.Special = c.Text.Special
	run, err := t.open(a, func() error { return a.checkTarget(&t.Target) })
	if err != nil {
		return err
	}
	defer run.Close()
	r, err := a.readerOf(d, run.model)
	if err != nil {
		return err
	}
	total := struct {
		records.Counts
		sae.Strongest
	}{Strongest: c.none(*c.Strongest)}
	l := &records.Lines{Total: &total, Silent: t.Target.Out == nil}
	read := func(ctx context.Context, q iter.Seq[eval.Request]) iter.Seq2[strengthRecord, error] {
		return func(yield func(strengthRecord, error) bool) {
			index := -1
			for request := range q {
				index++
				one, err := c.read(ctx, a, r, prompts(run.tokenizer), &request, &total.Strongest)
				if err != nil && ctx.Err() == nil {
					err = &eval.RequestError{Index: index, Tag: request.Tag, Err: err}
				}
				if !yield(one, err) {
					return
				}
			}
		}
	}
	settings := []records.Setting{setting("--sae", *a.Edits.SAE), setting("--of", c.of),
		setting("--strongest", *c.Strongest), setting("--bos", c.Text.BOS)}
	err = writeRecords(a, t, run, l, settings, read,
		func(one *strengthRecord) (*lines.Row, any, int, error) {
			total.Lines++
			return one.row, one, one.tokens, nil
		})
	err = fault.First(err, total.Failed("read"))
	if err != nil && !errors.Is(err, context.Canceled) && total.Lines == 0 {
		return err
	}
	names := &tokenNames{}
	names.tokenizer, _ = a.openTokenizer()
	var b strings.Builder
	for _, f := range total.Features {
		fmt.Fprintf(&b, "feature %d  active at %d of %d tokens  %s\n", f.Feature, f.Active, f.Tokens,
			c.words[f.Feature])
		for _, p := range f.Places {
			fmt.Fprintf(&b, "%9.3f  line %d, token %d:  ", p.Value, p.Line, p.At)
			for i, id := range p.Context {
				text := quote.Plain(names.name(id), 40)
				if i == p.Token {
					text = "«" + text + "»"
				}
				b.WriteString(text)
			}
			b.WriteByte('\n')
		}
	}
	return fault.First(a.print(c.JSON, total.Strongest, b.String()), err)
}

// none are the features of --of, of which no text is read.
func (c *featuresCommand) none(most int) sae.Strongest {
	s := sae.Strongest{Most: most}
	for _, i := range c.of {
		s.Features = append(s.Features, sae.Strengths{Feature: i})
	}
	return s
}

// read reads a text, in parts that fit into the context.
func (c *featuresCommand) read(ctx context.Context, a *app, r *sae.Reader, t eval.Tokenizer,
	q *eval.Request, total *sae.Strongest) (one strengthRecord, err error) {
	ids := q.Tokens
	if err = q.Err; err == nil && ids == nil {
		ids, err = t.Encode(q.Text)
	}
	ck, wrong := a.open()
	if err = fault.First(err, wrong); err != nil {
		return one, err
	}
	begin, skip := []int(nil), 0
	if c.Text.BOS || *r.PrependBOS {
		if id, ok := ck.Config.StartToken(); ok {
			begin, skip = []int{id}, 1
		}
	}
	one.row = q.Tag.(*lines.Row)
	own := c.none(1)
	from := 0
	for part := range slices.Chunk(ids, ck.Config.Positions-skip) {
		text, err := r.Read(ctx, slices.Concat(begin, part))
		if err != nil {
			return one, err
		}
		own.Add(one.row.First, from, skip, text)
		total.Add(one.row.First, from, skip, text)
		from += len(part)
	}
	one.Line, one.ID, one.Features, one.tokens = one.row.First, one.row.ID, own.Features, len(ids)
	return one, nil
}

// --sae and --feature.

// releases are some of the hub's dictionaries by SAELens's names: the repository, and the folder of a
// layer where it has not a hook's name. Those without were made for processed models.
var releases = map[string][2]string{
	"gpt2-small-res-jb": {"jbloom/GPT2-Small-SAEs-Reformatted"},
	"gpt2-small-res-jb-feature-splitting": {
		"jbloom/GPT2-Small-Feature-Splitting-Experiment-Layer-8"},
	"gpt2-small-resid-post-v5-32k": {"jbloom/GPT2-Small-OAI-v5-32k-resid-post-SAEs",
		"v5_32k_layer_%d"},
	"gpt2-small-resid-mid-v5-32k": {"jbloom/GPT2-Small-OAI-v5-32k-resid-mid-SAEs",
		"v5_32k_layer_%d"},
	"gpt2-small-mlp-out-v5-32k":  {"jbloom/GPT2-Small-OAI-v5-32k-mlp-out-SAEs", "v5_32k_layer_%d"},
	"gpt2-small-attn-out-v5-32k": {"jbloom/GPT2-Small-OAI-v5-32k-attn-out-SAEs", "v5_32k_layer_%d"},
}

// dictionary opens a folder, or RELEASE/HOOK of the hub's cache.
func (a *app) dictionary(dir string) (d *sae.Dictionary, err error) {
	name, hook, _ := strings.Cut(dir, "/")
	_, absent := os.Stat(dir)
	r, known := releases[name]
	if absent != nil {
		point, wrong := model.ParsePoint(hook)
		if !known || wrong != nil && r[1] != "" {
			return nil, fault.Hint(fmt.Errorf("--sae %s: no such folder", quoteShort(dir)),
				"RELEASE/HOOK is one of "+strings.Join(slices.Sorted(maps.Keys(releases)), ", ")+
					", and a point such as blocks.8.hook_resid_pre")
		}
		if r[1] != "" {
			hook = fmt.Sprintf(r[1], point.Layer)
		}
		found, err := hub.Find(hub.Name{Repo: r[0]}, a.finder.CacheOptions())
		files := hook + "/" + sae.ConfigFile + " " + hook + "/" + sae.WeightsFile
		if err != nil || slices.ContainsFunc(strings.Fields(files),
			func(name string) bool { return !found.Has(name) }) {
			return nil, fault.Hint(fmt.Errorf("--sae %s: %w", quoteShort(dir), hub.ErrAbsent),
				"gpt pull "+r[0]+" "+files+" downloads it")
		}
		dir = filepath.Join(found.Dir, filepath.FromSlash(hook))
	}
	for _, name := range []string{sae.ConfigFile, sae.WeightsFile} {
		a.files.WillRead(filepath.Join(dir, name), "--sae")
	}
	if d, err = sae.Open(folder.Dir(dir), absent != nil && r[1] == ""); err != nil {
		err = fmt.Errorf("--sae: %w", err)
	}
	return d, err
}

// readerOf returns a reader of the dictionary, and tells what is to know of it.
func (a *app) readerOf(d *sae.Dictionary, m *model.Model) (*sae.Reader, error) {
	notes := d.Notes
	if f := m.Format(); f == "q8" || f == "q4" {
		notes = append(notes, "the model's weights are rounded to "+f+", those of features are not")
	}
	for _, note := range notes {
		a.Notef("--sae: %s", note)
	}
	r, err := d.For(context.Background(), m)
	if err != nil {
		err = fmt.Errorf("--sae: %w", err)
	}
	return r, err
}

var featureForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,9})(=|\+|-)(.+)$`)
})

// changes reads the values of --feature.
func (e *editFlags) changes() (all []sae.Change, err error) {
	if len(e.Feature) > 0 && e.SAE == nil {
		return nil, usagef("--feature %s: want --sae DIR with it", quoteShort(e.Feature[0]))
	}
	for _, value := range e.Feature {
		m := featureForm().FindStringSubmatch(value)
		if m == nil {
			return nil, usagef("--feature %s: want N=X, N+X or N-X, such as 123=0",
				quoteShort(value))
		}
		x, err := strconv.ParseFloat(m[3], 32)
		if err != nil || x-x != 0 {
			return nil, usagef("--feature %s: %s, want a number", quoteShort(value),
				quoteShort(m[3]))
		}
		if m[2] == "-" {
			x = -x
		}
		all = append(all, sae.Change{Feature: number(m[1]), Add: m[2] != "=", To: float32(x)})
	}
	return all, nil
}

// featureEdits returns the edits of --feature.
func (a *app) featureEdits(m *model.Model) ([]model.Edit, error) {
	changes, err := a.Edits.changes()
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	d, err := a.dictionary(*a.Edits.SAE)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	r, err := a.readerOf(d, m)
	if err != nil {
		return nil, err
	}
	edits, err := r.Edits(changes...)
	if err != nil {
		err = fmt.Errorf("--sae: %w", err)
	}
	return edits, err
}
