package main

// --engine: the fast one, or reference, which is picoGPT in float64 (package reference).

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"picogpt/check"
	"picogpt/check/reference"
	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// A backend makes ids of texts, and logits of ids: each command that has --engine asks it for what
// the command shows.
type backend interface {
	tokenize(c *tokenizeCommand, text io.Reader) error
	generate(c *generateCommand, f *cli.Flags, o decode.Options) error
	logits(c *logitsCommand, p *prompt) error
	measure(c *perplexityCommand, files []string, o eval.Options) (eval.Result, error)
}

// fastEngine and referenceEngine are the engines of an app.
type (
	fastEngine      struct{ *app }
	referenceEngine struct{ *app }
)

// backend returns what --engine names.
func (a *app) backend() backend {
	if a.Engine == "reference" {
		return referenceEngine{a}
	}
	return fastEngine{a}
}

// referenceDoes are the flags of commands that go with --engine reference: of gpt generate those of
// sampling whose texts need no tokenizer of the engine's, and those of the prompt, the end and the
// output.
func referenceDoes(command string) []string {
	does := strings.Fields(map[string]string{
		"tokenize": "file decode special json raw-control-chars model verbose",
		"logits":   "file tokens special positions top json model adapter gelu verbose",
		"perplexity": `protocol window stride wikitext tokens special json expect tolerance model
			adapter gelu verbose`,
		"generate": `file prompt tokens special model adapter gelu verbose output json out force
			no-display-prompt samples max-tokens overflow stop keep-stop eos min-tokens length-decay
			logprobs raw-control-chars generation-config`,
	}[command])
	const not = " guidance negative logit-bias sequence-bias "
	for _, o := range option.Of(new(sample.Params)) {
		if name := o.Flag.Name; command == "generate" && !strings.HasPrefix(name, "dry-") &&
			!strings.Contains(not, " "+name+" ") {
			does = append(does, name)
		}
	}
	return does
}

// checkEngine refuses flags of a command that the engine does not do.
func (a *app) checkEngine(command string, given map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if a.Engine == "reference" && name != "engine" &&
			!slices.Contains(referenceDoes(command), name) {
			return usagef("--%s: want none with --engine reference, which does not do it", name)
		}
	}
	return nil
}

func (a referenceEngine) tokenize(c *tokenizeCommand, text io.Reader) error {
	e, err := a.referenceEncoder(c.Special)
	switch {
	case err != nil:
		return err
	case c.Decode:
		return c.decode(a.app, e, text)
	}
	whole, err := textio.Whole(text)
	if err != nil {
		return err
	}
	ids, err := e.Encode(whole)
	if err == nil {
		_, err = a.stdout.Write(append(strictjson.AppendIDs(nil, ids), '\n'))
	}
	return err
}

// referenceEncoder is the checkpoint's tokenizer as package reference reads it, with special tokens
// in texts or without.
func (a *app) referenceEncoder(special bool) (e *reference.Encoder, err error) {
	if a.Model == nil {
		e, err = reference.OpenEncoderFS(demo.FS())
	} else {
		var path string
		if path, err = a.modelPath(); err != nil {
			return nil, err
		}
		e, err = reference.OpenEncoder(weights.Dir(path))
	}
	if err != nil {
		t, other := a.openOnlyTokenizer()
		if other != nil || t != tokenizer.GPT2() {
			return nil, fault.Hint(fmt.Errorf("--engine reference: %w", err),
				"it does byte-level BPE only; --tokens takes ids in place of a text")
		}
		e, err = reference.GPT2Encoder() // of a file that has no config.json beside it
	}
	if err == nil && special {
		e = e.WithSpecial()
	}
	return e, err
}

// referenceIDs returns the reference's tokenizer, and encodes the prompt if it is a text: at most n
// tokens. A prompt of ids needs no tokenizer, and the Encoder is nil if there is none.
func (a *app) referenceIDs(p *prompt, special bool, n int) (*reference.Encoder, error) {
	e, err := a.referenceEncoder(special && p.asText)
	switch {
	case err != nil && !p.asText:
		return nil, nil
	case err == nil && p.asText:
		p.ids, err = encodeAtMost(e, p.text, n)
	}
	return e, err
}

// encodeAtMost returns the ids of a text of at most n tokens. One that is too long for that by its
// bytes is refused first: tiktoken-go's time is quadratic in a long word.
func encodeAtMost(e *reference.Encoder, text string, n int) ([]int, error) {
	longest := 0
	for _, id := range e.IDs() {
		token, err := e.Decode([]int{id})
		if err != nil {
			return nil, err
		}
		longest = max(longest, len(token))
	}
	if len(text)/max(1, longest) > n {
		return nil, fmt.Errorf("text of %d bytes: want at most %s, of at most %d bytes each",
			len(text), quote.Count(n, "token"), longest)
	}
	return e.Encode(text)
}

// openReference loads the checkpoint as float64, and says before what that costs.
func (a *app) openReference(c *checkpoint.Checkpoint) (*reference.Model, error) {
	if c.Format() != "safetensors" || c.Rearranged() {
		a.Notef("--engine reference: config and weights come from the engine's own reader of %s",
			c.Format())
	}
	a.noteUnused(nil)
	a.noteNotTaken(nil)
	m, _, err := a.readReference(c, 0, "--engine reference: picoGPT in float64, slow; its weights "+
		"take %s of memory, 8 bytes each")
	return m, err
}

// readReference reads the checkpoint for the reference. If it takes that many bytes, the note, in
// which %s is their number, comes before.
func (a *app) readReference(
	ck *checkpoint.Checkpoint, least int64, note string,
) (*reference.Model, string, error) {
	// Matrices are garbage as soon as they are used. They must not take as much again as the
	// weights.
	a.garbage = debug.SetGCPercent(10)
	bar := terminal.NewByteBar("loading " + a.modelName() + " as float64")
	defer a.ShowBar(bar)()
	o := reference.Options{Memory: process.FreeMemory(), Progress: bar.SetBytes,
		Before: func(bytes int64) error {
			if bytes >= least {
				a.NoteDuring(bar, note, quote.Size(bytes))
			}
			return nil
		}}
	var files fs.FS
	if a.Model == nil {
		files = demo.FS()
	}
	return check.Read(ck, files, o)
}

// A referenceWork shows how far the reference is: passes over tokens, block after block.
type referenceWork struct {
	bar         *terminal.Bar
	what        string
	done, total int // tokens of the passes
	pass        int // tokens of this pass
}

// newWork is of so many tokens in all, and of the first pass.
func newWork(what string, total, pass int) *referenceWork {
	return &referenceWork{bar: terminal.NewShareBar(what), what: what, total: total, pass: pass}
}

// watch makes the model report its blocks.
func (w *referenceWork) watch(m *reference.Model) {
	layers := m.HParams.Layer
	m.Params.Watch = func(layer int, _ *reference.Matrix) error {
		w.bar.SetShare(fmt.Sprintf("%s, block %d of %d", w.what, layer+1, layers),
			(float64(w.done)+float64(w.pass)*m.Params.Share(layer))/float64(max(w.total, 1)))
		return nil
	}
}

// begin says what the next pass is.
func (w *referenceWork) begin(what string, tokens int) {
	w.what, w.done, w.pass = what, w.done+w.pass, tokens
}

// gpt generate --engine reference: decode's streams over the logits of package reference.

func (a referenceEngine) generate(c *generateCommand, _ *cli.Flags, o decode.Options) error {
	ck, err := a.open()
	if err != nil {
		return err
	}
	p, closePrompt, err := c.Prompt.open(a.app)
	if err != nil {
		return err
	}
	defer closePrompt()
	text, err := a.encodePrompt(c, &p, &o)
	if err != nil {
		return err
	}
	if err := show.CheckIDs(ck.Config, p.ids); err != nil {
		return err
	}
	first, err := decode.NewDetached(ck.Config, p.ids, o) // its errors come before the weights
	if err != nil {
		return overflowHint(err)
	}
	w := newWork("reading", 0, 0)
	most := c.MaxTokens // of a text; those of one context where there is no end
	if most <= 0 {
		most = ck.Config.Positions - len(first.Context()) + 1
	}
	for i := range most {
		w.total += max(1, c.Samples) * (len(first.Context()) + i)
	}
	if c.MaxTokens == 0 { // which takes hours for a large model
		long := fmt.Sprintf("have %s, whose passes read %d in all", quote.Count(most, "token"),
			w.total)
		if o.Overflow == decode.OverflowSlide {
			long = "have no end"
		}
		a.Notef("--engine reference: without -n N the text may %s", long)
	}
	m, err := a.openReference(ck)
	if err != nil {
		return err
	}
	w.watch(m)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err = c.write(a.app, text, p, o, c.Search.newScores(), w.bar, cancel,
		referenceTexts(ctx, m, ck.Config, p.ids, max(1, c.Samples), o, w))
	return err
}

// encodePrompt reads the prompt, and gives o its vocabulary. The decoder is nil where there are
// only ids.
func (a *app) encodePrompt(c *generateCommand, p *prompt, o *decode.Options) (decoder, error) {
	e, err := a.referenceEncoder(false)
	switch {
	case err == nil:
		o.Vocabulary = newReferenceVocabulary(e)
	case p.asText || c.Output == "text" || len(o.Stop) > 0:
		return nil, err
	default: // the ids that may be drawn are the engine's
		ck, err := a.open()
		if err != nil {
			return nil, err
		}
		if size, gaps, err := ck.Vocabulary(); err == nil {
			o.Vocabulary = decode.OnlyIDs(size, gaps)
		}
		return nil, nil
	}
	if p.asText {
		const most = 1 << 20 // its time is quadratic in places
		if p.text, err = textio.Whole(io.LimitReader(p.source, most+1)); err != nil {
			return nil, err
		}
		if len(p.text) > most {
			return nil, errors.New(
				"prompt: more than 1 MiB, want at most that with --engine reference")
		}
		if c.Prompt.Special {
			e = e.WithSpecial()
		}
		if p.ids, err = e.Encode(p.text); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// referenceTexts are the tokens of n texts that follow a prompt, text after text.
func referenceTexts(
	ctx context.Context, m *reference.Model, config model.Config, prompt []int, n int,
	o decode.Options, w *referenceWork,
) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		logits := make([]float32, m.HParams.Vocab)
		for i := range n {
			own := o
			own.Seed += uint64(i)
			st, err := decode.NewDetached(config, prompt, own)
			if err != nil {
				yield(decode.Token{}, err)
				return
			}
			for k := 1; !st.Done(); k++ {
				context := st.Context()
				w.begin(fmt.Sprintf("token %d", k), len(context))
				all, err := m.Logits(ctx, context) // [n_seq, n_vocab]
				if err != nil {
					yield(decode.Token{}, err)
					return
				}
				for id, v := range all.Row(len(context) - 1) {
					logits[id] = float32(v)
				}
				t, err := st.Push(logits)
				t.Sample = i
				if !yield(t, err) || err != nil {
					return
				}
			}
		}
	}
}

// A referenceVocabulary gives streams the reference's bytes.
type referenceVocabulary struct {
	*reference.Encoder
	size int
	gaps []int
}

func newReferenceVocabulary(e *reference.Encoder) referenceVocabulary {
	ids := e.IDs()
	v := referenceVocabulary{Encoder: e, size: ids[len(ids)-1] + 1}
	for id := range v.size {
		if _, has := slices.BinarySearch(ids, id); !has {
			v.gaps = append(v.gaps, id)
		}
	}
	return v
}

// Size and Gaps are decode.Vocabulary's.
func (v referenceVocabulary) Size() int   { return v.size }
func (v referenceVocabulary) Gaps() []int { return v.gaps }

// Text returns the bytes of one id.
func (v referenceVocabulary) Text(id int) (string, error) { return v.Decode([]int{id}) }

// NewDecoder returns a decoder, for which the bytes of each id are certain at once.
func (v referenceVocabulary) NewDecoder([]int) tokenizer.Decoder { return referenceDecoder{v} }

type referenceDecoder struct{ referenceVocabulary }

func (d referenceDecoder) Push(id int) (string, error) { return d.Text(id) }
func (d referenceDecoder) Flush() string               { return "" }
func (d referenceDecoder) Fork() tokenizer.Decoder     { return d }

// gpt logits and gpt perplexity with --engine reference.

// logits prints the reference's logits, in float64.
func (a referenceEngine) logits(c *logitsCommand, p *prompt) error {
	ck, err := a.open()
	if err != nil {
		return err
	}
	w := show.Logits{Top: c.Top, Tokenizer: noTexts{}}
	if p.asText || c.Top > 0 {
		e, err := a.referenceIDs(p, c.Prompt.Special, ck.Config.Positions)
		if err != nil {
			return err
		}
		if e != nil {
			w.Tokenizer = newReferenceVocabulary(e)
		}
	}
	if err := show.CheckTokens(ck.Config, p.ids); err != nil {
		return err
	}
	m, err := a.openReference(ck)
	if err != nil {
		return err
	}
	work := newWork("reading", len(p.ids), len(p.ids))
	work.watch(m)
	end := a.ShowBar(work.bar)
	logits, err := m.Logits(context.Background(), p.ids) // Ctrl-C ends the process
	end()
	if err != nil {
		return err
	}
	rows := func(yield func([]float64, error) bool) {
		for i := range p.ids {
			if (c.Positions == "all" || i == len(p.ids)-1) && !yield(logits.Row(i), nil) {
				return
			}
		}
	}
	return w.WriteReference(a.stdout, p.ids, rows, c.Positions == "all")
}

// noTexts is the vocabulary of a model that has only ids.
type noTexts struct{}

func (noTexts) Text(int) (string, error) { return "", nil }

// measure measures the files by Hugging Face's protocol.
func (a referenceEngine) measure(
	c *perplexityCommand, files []string, o eval.Options,
) (r eval.Result, err error) {
	if o.Protocol != eval.HF {
		return r, usagef("--protocol %s: want hf with --engine reference", o.Protocol)
	}
	ck, err := a.open()
	if err != nil {
		return r, err
	}
	text, err := a.textOf(c, files)
	if err != nil {
		return r, err
	}
	total, err := eval.NewTotal(o, ck.Config)
	if err != nil {
		return r, err
	}
	d := text.Documents[0]
	if err := show.CheckIDs(ck.Config, d.Tokens); err != nil {
		return r, err
	}
	measured := eval.Measured{Tokens: len(d.Tokens), Words: d.Words, Bytes: d.Bytes}
	enough := *total
	enough.Add(&measured)
	if _, err := enough.Result(); err != nil { // before anything is loaded
		return r, err
	}
	m, err := a.openReference(ck)
	if err != nil {
		return r, err
	}
	score, interrupted := a.scoreReference(m, d.Tokens, o)
	measured.Windows, measured.Scored = []float64{score.NLL * float64(score.Scored)}, score.Scored
	total.Add(&measured)
	r, err = total.Result()
	r.SHA256, r.DType, r.Partial = text.SHA256, "f64 by --engine reference", interrupted != nil
	return r, fault.First(interrupted, err)
}

// textOf encodes the files, or reads them as ids.
func (a *app) textOf(c *perplexityCommand, files []string) (eval.Text, error) {
	defer a.ShowProgress(func() string { return "tokenizing" })()
	if c.Tokens != nil {
		ids, err := c.ids(files)
		return eval.NewTokens(ids, nil), err
	}
	e, err := a.referenceEncoder(c.Special)
	if err != nil {
		return eval.Text{}, err
	}
	return c.encode(e, files)
}

// scoreReference scores tokens with a progress bar. Ctrl-C ends it early.
func (a *app) scoreReference(
	m *reference.Model, ids []int, o eval.Options,
) (reference.Score, error) {
	ctx, release := a.Graceful()
	defer release()
	stride := cmp.Or(o.Stride, o.Window, m.HParams.Positions)
	w := newWork("scoring", len(ids), min(len(ids), stride))
	w.watch(m)
	defer a.ShowBar(w.bar)()
	s, err := m.Perplexity(ctx, ids, o.Window, o.Stride, func(tokens int, so reference.Score) {
		w.begin(fmt.Sprintf("perplexity %.4f", so.Perplexity()), min(stride, len(ids)-tokens))
	})
	return s, err
}
