package main

// The checkpoint that a command works on: the embedded demo, or what -m names.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"picogpt/eval"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
)

const demoName = "the embedded demo"

// modelName names the checkpoint for people.
func (g *globals) modelName() string {
	if g.Model == nil {
		return demoName
	}
	return *g.Model
}

// openFile opens the checkpoint without making a model of it.
func (g *globals) openFile() (model.Config, *weights.File, error) {
	var config model.Config
	if g.Model == nil {
		config, err := model.ParseConfig(demo.Config())
		if err != nil {
			return config, nil, err
		}
		file, err := weights.FromBytes(demoName, demo.Weights())
		return config, file, err
	}
	config, err := model.ReadConfig(*g.Model)
	if err != nil {
		return config, nil, err
	}
	file, err := weights.Open(*g.Model)
	return config, file, err
}

// openModel loads the checkpoint on the kernels that $GPT_KERNEL names, or the fastest.
func (a *app) openModel() (*model.Model, error) {
	defer a.showProgress(func() string { return "loading " + a.modelName() })()
	start := time.Now()
	m, err := a.loadModel(model.Options{Threads: a.Threads, Format: a.Dtype, Kernel: os.Getenv("GPT_KERNEL")})
	if err != nil {
		return nil, err
	}
	c := m.Config()
	a.logf("model: %s, %d layers of width %d, context %d, vocabulary %d", a.modelName(), c.Layer, c.Embd, c.Positions, c.VocabSize)
	a.logf("format %s, kernels %s, %d threads", m.Format(), m.Kernel(), m.Threads())
	a.logf("load: %s", duration(time.Since(start)))
	return m, nil
}

func (a *app) loadModel(o model.Options) (*model.Model, error) {
	if o.Kernel != "" && !slices.Contains(kernels.Variants(), o.Kernel) {
		return nil, fmt.Errorf("GPT_KERNEL: %q, want one that this machine has: %s", o.Kernel, strings.Join(kernels.Variants(), ", "))
	}
	if a.Model != nil {
		return model.Load(context.Background(), *a.Model, o)
	}
	config, file, err := a.openFile()
	if err != nil {
		return nil, err
	}
	return model.New(context.Background(), config, file, o)
}

// gpt2Size is the size of GPT-2's vocabulary, and of the smallest model that its ids fit.
const gpt2Size = 50257

// errNoTokenizer says that a checkpoint has no tokenizer and cannot have been made with GPT-2's.
var errNoTokenizer = errors.New("no tokenizer files")

// openTokenizer returns the checkpoint's own tokenizer, else GPT-2's if its ids fit the model. It needs no weights.
func (g *globals) openTokenizer() (*tokenizer.Tokenizer, error) {
	own, err := g.ownTokenizer()
	if own != nil || err != nil {
		return own, err
	}
	return tokenizer.GPT2(), nil
}

// ownTokenizer returns the checkpoint's own tokenizer, nil where GPT-2's stands in for it.
func (g *globals) ownTokenizer() (*tokenizer.Tokenizer, error) {
	if g.Model == nil {
		return nil, nil
	}
	own, err := tokenizer.Load(weights.Dir(*g.Model))
	if !errors.Is(err, tokenizer.ErrNone) {
		return own, err
	}
	config, err := model.ReadConfig(*g.Model)
	if err != nil {
		return nil, err
	}
	if config.VocabSize < gpt2Size {
		return nil, noTokenizer(*g.Model, config.VocabSize)
	}
	return nil, nil
}

// A scoringTokenizer is what the commands that score need.
type scoringTokenizer interface {
	eval.Tokenizer
	Text(id int) (string, error) // of one token, to show it
}

// An idTokenizer stands in where a checkpoint has no tokenizer and ids are given. A token's text is
// before and its number; without before, nothing.
type idTokenizer struct {
	before  string
	missing error // why a text has no ids
}

func (t idTokenizer) Encode(string) ([]int, error) { return nil, t.missing }

func (t idTokenizer) EncodeSpans(string) ([]int, []tokenizer.Span, error) {
	return nil, nil, t.missing
}

func (t idTokenizer) DecodeSpans(ids []int) (string, []tokenizer.Span, error) {
	var text strings.Builder
	spans := make([]tokenizer.Span, len(ids))
	for i, id := range ids {
		token, _ := t.Text(id)
		spans[i] = tokenizer.Span{Start: text.Len(), End: text.Len() + len(token)}
		text.WriteString(token)
	}
	return text.String(), spans, nil
}

func (t idTokenizer) Text(id int) (string, error) {
	if t.before == "" {
		return "", nil
	}
	return t.before + strconv.Itoa(id), nil
}

func noTokenizer(path string, size int) error {
	dir := filepath.Clean(weights.Dir(path))
	return hinted{
		fmt.Errorf("%s: %w, and vocab_size %d is too small for GPT-2's %d ids", dir, errNoTokenizer, size, gpt2Size),
		"give ids with --tokens, or put the model's tokenizer.json (or vocab.json and merges.txt) into " + dir,
	}
}
