package main

// --engine reference: picoGPT in float64 (package reference) in place of the engine.

import (
	"fmt"
	"io/fs"
	"maps"
	"runtime/debug"
	"slices"

	"picogpt/check"
	"picogpt/check/reference"
	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// asReference reports whether --engine asks for the reference.
func (g *globals) asReference() bool { return g.Engine == "reference" }

// onlyReference refuses flags that the reference does not do.
func onlyReference(given map[string]bool, does ...string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name != "engine" && !slices.Contains(does, name) {
			return usagef("--%s: want none with --engine reference, which does not do it", name)
		}
	}
	return nil
}

// referenceEncoder is the checkpoint's tokenizer as package reference reads it.
func (a *app) referenceEncoder() (e *reference.Encoder, err error) {
	if a.Model == nil {
		e, err = reference.OpenEncoderFS(demo.FS())
	} else {
		var path string
		if path, err = a.modelPath(); err != nil {
			return nil, err
		}
		e, err = reference.OpenEncoder(weights.Dir(path))
	}
	if err == nil {
		return e, nil
	}
	if t, other := a.openOnlyTokenizer(); other == nil && t == tokenizer.GPT2() {
		return reference.GPT2Encoder() // of a file that has no config.json beside it
	}
	return nil, fault.Hint(fmt.Errorf("--engine reference: %w", err),
		"it does byte-level BPE only; --tokens takes ids in place of a text")
}

// referenceIDs returns the reference's tokenizer, and encodes the prompt if it is a text: at most n
// tokens. A prompt of ids needs no tokenizer, and the Encoder is nil if there is none.
func (a *app) referenceIDs(p *prompt, special bool, n int) (*reference.Encoder, error) {
	e, err := a.referenceEncoder()
	if err != nil {
		if p.asText {
			return nil, err
		}
		return nil, nil
	}
	if p.asText {
		if special {
			e = e.WithSpecial()
		}
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
	// Matrices are garbage as soon as they are used. They must not take as much again as the weights.
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
