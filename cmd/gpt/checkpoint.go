package main

// The checkpoint that a command works on, the embedded demo or what -m names: model and tokenizer.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
)

const demoName = "the embedded demo"

// modelName names the checkpoint for people.
func (g *globals) modelName() string {
	name := demoName
	if g.Model != nil {
		name = *g.Model
	}
	for _, adapter := range g.Adapters {
		name += " + " + adapter
	}
	for _, change := range g.Edits.list() {
		name += " + " + change
	}
	return name
}

// settleModel offers to pull the model that a flag names. It finds the adapters, and takes their
// base as the model if a flag could have named another and has not.
func (a *app) settleModel(line *cli.Line) error {
	if line.Help || line.Version || line.Flags.PrintsConfig() {
		return nil
	}
	named := line.Flags.Find("model") != nil
	if named {
		if err := a.offerPull(a.Model); err != nil {
			return err
		}
	}
	for i := range a.others {
		if err := a.offerPull(&a.others[i].path); err != nil {
			return err
		}
	}
	values := slices.Concat(a.Adapters, a.variantPaths())
	for _, value := range values {
		name := checkpoints.AdapterName(value)
		if err := a.offerPull(&name); err != nil {
			return err
		}
	}
	if len(values) == 0 {
		return nil
	}
	all, err := a.finder.Adapters(values)
	if err == nil {
		a.adapters, a.choices = all[:len(a.Adapters)], all[len(a.Adapters):]
	}
	if err != nil || a.Model != nil || a.isDemo || !named {
		return err
	}
	base, err := checkpoints.AdaptersBase(all)
	if err != nil {
		return err
	}
	if err := a.fromArgument("base_model_name_or_path", base); err != nil {
		return err
	}
	if a.Model != nil {
		a.baseOf = values[0]
	}
	return nil
}

// open opens the checkpoint, once in a process; close closes it.
func (a *app) open() (*checkpoint.Checkpoint, error) {
	if a.opened != nil {
		return a.opened, nil
	}
	var c *checkpoint.Checkpoint
	var err error
	o := checkpoint.Options{GELU: a.GELU, Heads: a.Heads, Adapters: a.adapters, Combine: a.Combine}
	if a.Model == nil {
		c, err = checkpoint.OpenFS(demo.FS(), "", o)
	} else {
		c, err = a.finder.Open(*a.Model, "", o)
	}
	if err != nil && a.baseOf != "" {
		if _, lost := a.modelPath(); lost != nil { // it is the base that is not there
			hint := fault.HintOf(err) + "; -m says which model takes its place"
			err = fault.Hint(fmt.Errorf("the base model of %s: %w", a.baseOf, err),
				strings.TrimPrefix(hint, "; "))
		}
	}
	if err != nil {
		return nil, err
	}
	a.opened = c
	a.logf("checkpoint: %s (%s)", c.Tensors.Name(), c.Format())
	for _, note := range c.Notes {
		switch {
		case slices.Contains(c.Unread, note): // noteUnused tells it
		case note == c.NotTaken && a.chooses: // openModel tells it
		default:
			a.logf("%s", note)
		}
	}
	return c, nil
}

// closeModels closes the models, and frees what they have taken.
func (a *app) closeModels() {
	for _, m := range a.models {
		m.Close()
	}
	a.models = nil
}

// close closes the models and the checkpoint, if they are open.
func (a *app) close() {
	a.closeModels()
	if a.garbage != 0 {
		debug.SetGCPercent(a.garbage)
	}
	if a.opened != nil {
		a.opened.Close()
		a.opened = nil
	}
}

// openModel loads the checkpoint on the device that --device names, or on the kernels that
// $GPT_KERNEL names, or the fastest. close closes the model, if nobody did before.
func (a *app) openModel() (*model.Model, error) {
	if err := a.chooseDevice(); err != nil {
		return nil, err
	}
	edits, err := a.modelEdits()
	if err != nil {
		return nil, err
	}
	bar := terminal.NewByteBar("loading " + a.modelName())
	defer a.ShowBar(bar)()
	start := time.Now()
	o := a.modelOptions()
	o.Progress, o.Edits = bar.SetBytes, edits
	if as := inside.View(a.Edits.As); as == inside.TransformerLens || len(a.Edits.Feature) > 0 {
		o.Edits, o.EditsOf = nil, func(m *model.Model) ([]model.Edit, error) {
			all, err := as.Edits(context.Background(), m, edits)
			if err != nil {
				return nil, err
			}
			features, err := a.featureEdits(m)
			return slices.Concat(all, features), err
		}
	}
	m, err := a.loadModel(o)
	if err != nil {
		return nil, err
	}
	for _, note := range m.Notes() {
		a.NoteDuring(bar, "%s", note)
	}
	if f := m.Format(); len(a.adapters) > 0 && (f == "q8" || f == "q4") {
		a.NoteDuring(bar, "adapters are merged in float32, and then the weights are rounded to %s", f)
	}
	a.noteUnused(bar)
	a.noteNotTaken(bar)
	c := m.Config()
	a.logf("model: %s, %d layers of width %d, context %d, vocabulary %d", a.modelName(), c.Layer,
		c.Embd, c.Positions, c.VocabSize)
	a.logf("format %s, kernels %s, %d threads", show.Formats(m.Format(), m.CacheFormat()),
		m.Kernel(), m.Threads())
	a.logf("load: %s", quote.Duration(time.Since(start)))
	return m, nil
}

// noteUnused tells which parts of the files have no effect, and in one line which tensors of the
// checkpoint are trained and used by nothing.
// bar is what shows the progress now, or nil.
func (a *app) noteUnused(bar *terminal.Bar) {
	for _, note := range a.opened.Unread {
		a.NoteDuring(bar, "%s", note)
	}
	names := a.opened.Unused()
	if a.uses != nil {
		names = slices.DeleteFunc(names, a.uses)
	}
	if len(names) > 0 {
		a.NoteDuring(bar, "%s: not used, because only the decoder runs", quote.Some(names))
	}
}

// noteNotTaken tells a command that chooses tokens how the checkpoint's author would.
func (a *app) noteNotTaken(bar *terminal.Bar) {
	if a.chooses && a.opened.NotTaken != "" {
		a.NoteDuring(bar, "%s; flags say what is wanted", a.opened.NotTaken)
	}
}

// modelOptions are what the flags say of a model, when the device is chosen.
func (a *app) modelOptions() model.Options {
	return model.Options{
		Threads: a.Threads, Format: a.Dtype, Kernel: os.Getenv("GPT_KERNEL"),
		CacheFormat: a.CacheDtype, CacheBytes: int64(a.CacheBytes), Device: a.chosen.device,
		Headless: a.headless,
	}
}

func (a *app) loadModel(o model.Options) (*model.Model, error) {
	if o.Kernel != "" && !slices.Contains(kernels.Variants(), o.Kernel) {
		return nil, fmt.Errorf("GPT_KERNEL: %q, want one that this machine has: %s", o.Kernel,
			strings.Join(kernels.Variants(), ", "))
	}
	c, err := a.open()
	if err != nil {
		return nil, err
	}
	o.Digest = c.Digest
	m, err := model.New(context.Background(), a.byRules(c.Config), c.Tensors, o)
	if err == nil {
		a.models = append(a.models, m)
	}
	if errors.Is(err, model.ErrNoLogits) {
		err = fault.Hint(err, "gpt classify, gpt embed and gpt trace need none")
	}
	return m, err
}

// byRules returns a config by the rules of what is read, and by --generation-config: by the rules of
// before, config.json alone says which tokens begin and end a text.
func (a *app) byRules(c model.Config) model.Config {
	if a.rules < 1 {
		c.Generation = model.Generation{}
	}
	if a.Generation == "none" {
		c.Generation.Sampling = nil
	}
	return c
}

// openTokenizer returns the checkpoint's tokenizer.
func (a *app) openTokenizer() (*tokenizer.Tokenizer, error) {
	c, err := a.open()
	if err != nil {
		return nil, err
	}
	t, err := c.Tokenizer()
	if a.Model != nil && err == nil && t == tokenizer.GPT2() &&
		slices.Contains([]string{"safetensors", "pytorch"}, c.Format()) {
		a.finder.NoteTokenizer(*a.Model)
	}
	if err == nil && (a.CJKSpaces == nil || !*a.CJKSpaces) {
		t = t.JoinCJK()
	}
	if err == nil {
		t = a.noteMissing(t)
	}
	return t, a.hintTokenizer(err)
}

// noteMissing tells once that texts lose bytes that the vocabulary has no token for. The tokenizer
// that it returns tells once that a text is wholly unknown.
func (a *app) noteMissing(t *tokenizer.Tokenizer) *tokenizer.Tokenizer {
	const most = 8 // ranges of bytes
	if missing := show.Missing(t, most); missing != "" && !a.noted {
		a.noted = true
		a.Notef("%s: its vocabulary has %s; gpt inspect lists them", a.modelName(), missing)
	}
	id, ok := t.Unknown()
	if !ok {
		return t
	}
	return t.OnUnknown(func(text string) {
		a.strange.Do(func() {
			name, _ := t.Text(id)
			a.Notef("%s: its vocabulary knows no part of the text %s: all its ids are %d, %s",
				a.modelName(), quoteShort(text), id, quote.Plain(strings.TrimSpace(name), 40))
		})
	})
}

// openOnlyTokenizer is openTokenizer for a command that needs nothing else: there need be no
// weights.
func (a *app) openOnlyTokenizer() (*tokenizer.Tokenizer, error) {
	if len(a.adapters) > 0 { // which may have a tokenizer of their own
		c, err := a.open()
		if err != nil {
			return nil, err
		}
		t, err := c.Tokenizer()
		return t, a.hintTokenizer(err)
	}
	if a.Model == nil {
		return tokenizer.GPT2(), nil // the demo's, whose weights would be made
	}
	path, err := a.modelPath()
	if err != nil {
		return nil, err
	}
	t, err := a.finder.OpenTokenizerAt(path)
	if err == nil && t == tokenizer.GPT2() {
		a.finder.NoteTokenizer(*a.Model)
	}
	return t, a.hintTokenizer(err)
}

// hintTokenizer tells what to do where there is no tokenizer.
func (a *app) hintTokenizer(err error) error {
	if !errors.Is(err, checkpoint.ErrNoTokenizer) || a.Model == nil {
		return err
	}
	path, lost := a.modelPath()
	if lost != nil {
		return err
	}
	return fault.Hint(err, "give ids with --tokens or in rows with tokens, or put the model's "+
		"tokenizer.json (or vocab.json and merges.txt, or meta.pkl of nanoGPT's data/DATASET) "+
		"into "+filepath.Clean(weights.Dir(path)))
}

// modelPath returns where the checkpoint of -m is.
func (a *app) modelPath() (string, error) {
	where, err := a.finder.Locate(*a.Model)
	return where.Path, err
}

// useDemo takes the embedded checkpoint where the model is called so.
func (g *globals) useDemo() {
	if g.Model != nil && checkpoints.IsDemo(*g.Model) {
		g.Model, g.isDemo = nil, true
	}
}

// fromArgument makes an argument the current checkpoint.
func (a *app) fromArgument(name, path string) error {
	if path == "" {
		return usagef("%s: want a directory or a file, found nothing", name)
	}
	a.globals.Model = &path
	a.useDemo()
	return a.offerPull(a.globals.Model)
}

// writing returns the rules for an output file of this command. What it reads is never written
// over: the checkpoint, and the files of a.files. kind is what the file will hold.
func (a *app) writing(force bool, kind outfile.Kind) outfile.Options {
	if a.Model != nil {
		if path, err := a.modelPath(); err == nil { // else opening it reports the error
			a.finder.WillRead(path, "")
		}
	}
	return outfile.Options{Kind: kind, Force: force, Raw: a.stdout.Raw, Inputs: &a.files.Inputs,
		Temps: &a.temps}
}

// writingLines returns the rules for records, whose own flags say what is forced.
func (a *app) writingLines() outfile.Options { return a.writing(false, outfile.JSONLines) }
