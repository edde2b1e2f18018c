package main

// gpt features, and --sae and --feature of all commands: features of sparse dictionaries.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	Logits       []string
	Strongest    []string
	Texts        textsCommand
	Explanations *string
	JSON         bool

	of    []int // features
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
			f.Add(&c.Top, "--top K [5]", "K features of each token, or K tokens of each feature")
			f.Add(cli.Commas(&c.Logits), "--logits LIST",
				"show which logits the features of LIST, such as 3,14, raise and lower most")
			f.Add(cli.Commas(&c.Strongest), "--strongest LIST",
				"show the tokens of --texts at which the features of LIST are strongest")
			f.Add(&c.Texts.From.File, "--texts FILE", "texts, as gpt score takes them; - is stdin")
			targetFlags(f, &c.Texts.Target)
			f.Add(&c.Explanations, "--explanations FILE",
				"words for features: JSON objects with index and description")
			f.Add(&c.JSON, "--json", "print JSON")
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

// mostPlaces bounds what the journal of --resume has of all features together.
const mostPlaces = 1024

func (c *featuresCommand) Run(a *app) (err error) {
	for _, value := range slices.Concat(c.Logits, c.Strongest) {
		i, err := strconv.Atoi(value)
		if err != nil {
			return usagef("feature %s: want numbers with commas between them", quoteShort(value))
		}
		c.of = append(c.of, i)
	}
	texts, t := c.Texts.From.File != nil, &c.Texts.Target
	switch {
	case a.Edits.SAE == nil:
		return fault.Hint(usagef("want --sae DIR"), "gpt features --help says what it takes")
	case c.Logits != nil && c.Strongest != nil, texts != (c.Strongest != nil):
		return usagef("want a text, --logits LIST, or --strongest LIST with --texts FILE")
	case !texts && (t.Out != nil || t.Resume || t.Force):
		return usagef("--out, --resume and --force: want --strongest with them")
	case c.Top < 1 || len(c.of) > 0 && c.Top > mostPlaces/len(c.of):
		return usagef("--top %d: want 1 or more, and at most %d of all features", c.Top, mostPlaces)
	}
	if err := a.onProcessor("gpt features"); err != nil {
		return err
	}
	d, err := a.dictionary(*a.Edits.SAE)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, i := range c.of {
		if i < 0 || i >= d.Features {
			return usagef("feature %d: want 0 to %d", i, d.Features-1)
		}
	}
	if c.Explanations != nil {
		text, err := a.files.Limited(*c.Explanations, "--explanations", 1<<30)
		if err == nil {
			c.words, err = sae.ReadExplanations(strings.NewReader(text))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", *c.Explanations, err)
		}
	}
	switch {
	case texts:
		return c.strongest(a, d)
	case c.Logits != nil:
		return c.logits(a, d)
	}
	return c.text(a, d)
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
	r, err := a.readerOf(d, nil)
	if err != nil {
		return err
	}
	found := struct {
		Dictionary *sae.Config `json:"dictionary"`
		*sae.Text
		*sae.Losses
		Explanations sae.Explanations `json:"explanations,omitempty"`
	}{Dictionary: &d.Config, Explanations: sae.Explanations{}}
	end := a.ShowProgress(func() string { return "reading" })
	ctx := context.Background() // Ctrl-C ends the process
	found.Text, err = r.Read(ctx, f.ids)
	if err == nil && len(f.ids) > 1 && r.Out.Kind.TakesEdits() {
		found.Losses, err = r.Losses(ctx, found.Text)
	}
	if end(); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(" at  token           error  active  strongest features\n")
	for i, t := range found.Tokens {
		fmt.Fprintf(&b, "%3d  %-14s  %.3f  %6d ", i, quoteShort(f.names.name(f.ids[i])),
			t.Error/max(t.Square, math.SmallestNonzeroFloat64), len(t.Features))
		for _, k := range inside.Greatest(t.Values, min(c.Top, len(t.Values))) {
			i := t.Features[k]
			fmt.Fprintf(&b, " %d:%.2f%s", i, t.Values[k], c.said(i))
			if words, ok := c.words[i]; ok {
				found.Explanations[i] = words
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\n%.1f active in the mean; explained variance %.4f, squared error %.4g\n",
		found.Active, found.Explained, found.MSE)
	if l := found.Losses; l != nil {
		fmt.Fprintf(&b, "loss %.4f; with the features alone %.4f, with zeros %.4f", l.Clean,
			l.Features, l.Ablated)
		if l.Recovered != nil {
			fmt.Fprintf(&b, ": %.4f recovered", *l.Recovered)
		}
		b.WriteByte('\n')
	}
	return a.print(c.JSON, found, b.String())
}

// said returns the words for a feature in brackets, "" if there are none.
func (c *featuresCommand) said(feature int) string {
	if words, ok := c.words[feature]; ok {
		return " (" + quote.Short(words, 60) + ")"
	}
	return ""
}

// logits shows what features do to logits.
func (c *featuresCommand) logits(a *app, d *sae.Dictionary) error {
	names, err := a.nameTokens(false, &prompt{ids: []int{0}})
	if err != nil {
		return err
	}
	r, err := a.readerOf(d, nil)
	if err != nil {
		return err
	}
	var all []map[string]any
	var b strings.Builder
	for _, i := range c.of {
		logits, err := r.Effect(context.Background(), i)
		if err != nil {
			return err
		}
		one := map[string]any{"feature": i, "explanation": c.words[i]}
		fmt.Fprintf(&b, "feature %d%s\n", i, c.said(i))
		for _, does := range []string{"raises", "lowers"} {
			var list []map[string]any
			b.WriteString("  " + does)
			for _, id := range inside.Greatest(logits, c.Top) {
				list = append(list, map[string]any{"id": id, "text": names.name(id),
					"logit": logits[id]})
				fmt.Fprintf(&b, "  %s %.3f", quoteShort(names.name(id)), logits[id])
			}
			b.WriteByte('\n')
			for id := range logits { // what it lowers is that much below 0
				logits[id] = -logits[id]
			}
			one[does] = list
		}
		all = append(all, one)
	}
	return a.print(c.JSON, all, b.String())
}

// A strengthRecord is what one text has of some features.
type strengthRecord struct {
	Line     int             `json:"line"`
	ID       json.RawMessage `json:"id,omitempty"`
	Features []sae.Strengths `json:"features"`

	row *lines.Row
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
	}{Strongest: sae.NewStrongest(c.Top, c.of...)}
	read := func(ctx context.Context, q iter.Seq[eval.Request]) iter.Seq2[strengthRecord, error] {
		return func(yield func(strengthRecord, error) bool) {
			for request := range q {
				row := request.Tag.(*lines.Row)
				one := sae.NewStrongest(1, c.of...)
				err := c.read(ctx, a, r, prompts(run.tokenizer), &request, &one, &total.Strongest)
				if err != nil && ctx.Err() == nil {
					err = &eval.RequestError{Tag: row, Err: err}
				}
				if !yield(strengthRecord{row.First, row.ID, one.Features, row}, err) {
					return
				}
			}
		}
	}
	settings := []records.Setting{setting("--sae", d.Digest()), setting("--strongest", c.of),
		setting("--top", c.Top), setting("--bos", c.Text.BOS)}
	err = writeRecords(a, t, run, &records.Lines{Total: &total, Silent: t.Target.Out == nil},
		settings, read, func(one *strengthRecord) (*lines.Row, any, int, error) {
			total.Lines++
			return one.row, one, one.Features[0].Tokens, nil
		})
	if err != nil {
		return err
	}
	names, err := a.nameTokens(false, &prompt{ids: []int{0}})
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range total.Features {
		fmt.Fprintf(&b, "feature %d%s: active at %d of %d tokens\n", f.Feature, c.said(f.Feature),
			f.Active, f.Tokens)
		for _, p := range f.Places {
			fmt.Fprintf(&b, "%9.3f  line %d, token %d: ", p.Value, p.Line, p.At)
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
	return fault.First(a.print(c.JSON, total.Strongest, b.String()), total.Failed("read"))
}

// read adds the features of a text, in parts that fit into the context.
func (c *featuresCommand) read(ctx context.Context, a *app, r *sae.Reader, t eval.Tokenizer,
	q *eval.Request, to ...*sae.Strongest) error {
	ids, err := q.Tokens, q.Err
	if err == nil && q.Pair {
		err = errors.New("context and continuation: want a text, or tokens")
	} else if err == nil && ids == nil {
		ids, err = t.Encode(q.Text)
	}
	ck, wrong := a.open()
	if err = fault.First(err, wrong); err != nil {
		return err
	}
	var begin []int
	if id, ok := ck.Config.StartToken(); ok && (c.Text.BOS || *r.PrependBOS) {
		begin = []int{id}
	}
	from := 0
	for part := range slices.Chunk(ids, max(1, ck.Config.Positions-len(begin))) {
		text, err := r.Read(ctx, slices.Concat(begin, part))
		if err != nil {
			return err
		}
		for _, s := range to {
			s.Add(q.Tag.(*lines.Row).First, from, len(begin), text)
		}
		from += len(part)
	}
	return nil
}

// --sae and --feature.

// releases are some of the hub's dictionaries by SAELens's names: the repository, and the folder of
// a layer where it has not a hook's name. Those without were made for processed models.
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
	r, processed := releases[name], false
	if _, absent := os.Stat(dir); absent != nil {
		if strings.Contains(r[1], "%") {
			point, wrong := model.ParsePoint(hook)
			hook, err = fmt.Sprintf(r[1], point.Layer), wrong
		}
		if r[0] == "" || err != nil || !fs.ValidPath(hook) {
			return nil, fault.Hint(fmt.Errorf("--sae %s: no such folder", quoteShort(dir)),
				"RELEASE/HOOK is one of "+strings.Join(slices.Sorted(maps.Keys(releases)), ", ")+
					", and a point such as blocks.8.hook_resid_pre")
		}
		config, weights := hook+"/"+sae.ConfigFile, hook+"/"+sae.WeightsFile
		found, err := hub.Find(hub.Name{Repo: r[0]}, a.finder.CacheOptions())
		if err != nil || !found.Has(config) || !found.Has(weights) {
			return nil, fault.Hint(fmt.Errorf("--sae %s: %w", quoteShort(dir), hub.ErrAbsent),
				"gpt pull "+r[0]+" "+config+" "+weights+" downloads it")
		}
		dir, processed = filepath.Join(found.Dir, filepath.FromSlash(hook)), r[1] == ""
	}
	for _, name := range []string{sae.ConfigFile, sae.WeightsFile} {
		a.files.WillRead(filepath.Join(dir, name), "--sae")
	}
	if d, err = sae.Open(folder.Dir(dir), processed); err != nil {
		err = fmt.Errorf("--sae: %w", err)
	}
	return d, err
}

// readerOf returns a reader of the dictionary in a model, nil for the command's, and tells what is
// to know of it.
func (a *app) readerOf(d *sae.Dictionary, m *model.Model) (*sae.Reader, error) {
	var err error
	if m == nil {
		if m, err = a.openModel(); err != nil {
			return nil, err
		}
	}
	for _, note := range d.Notes {
		a.Notef("--sae: %s", note)
	}
	if f := m.Format(); f == "q8" || f == "q4" {
		a.Notef("--sae: the model's weights are rounded to %s, those of features are not", f)
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
func (a *app) featureEdits(m *model.Model) (edits []model.Edit, err error) {
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
	if err == nil {
		edits, err = r.Edits(changes...)
	}
	return edits, err
}
