// Package picogpt is the front door: it opens a checkpoint, and writes, scores and chooses text.
//
//	gpt, err := picogpt.Open(ctx, "models/gpt2", picogpt.Config{})
//	defer gpt.Close()
//	text, err := gpt.Complete(ctx, "Once upon a time", picogpt.Sampling())
//	for t, err := range gpt.Generate(ctx, "Once upon a time", picogpt.Options{MaxTokens: 40}) {
//		fmt.Print(t.Text)
//	}
//	scored, err := gpt.Score(ctx, "The cat sat on the mat.")
//	answer, err := gpt.Choose(ctx, "I loved it. It was", " good", " bad")
//	person, err := picogpt.Ask[Person](ctx, gpt, "Lily, as JSON: ", picogpt.Options{})
//
// A GPT may be used from many goroutines. Texts that are generated at the same time share one
// batch, so that many cost little more than one, and each text is the same as if it were alone.
// [GPT.Scores] and [GPT.Answers] process many texts at once.
//
// Its types, in the order to read them:
//
//   - [GPT] is an open checkpoint; [Config] opens one with other number formats, threads or adapters.
//   - [Options] say how a text is written, and [Sampling] has some that are usual, [GPT.Sampling]
//     those of a checkpoint; a [Token] is what comes of it, piece after piece.
//   - [Chat] is a conversation, and [Turn] a line of it with its answer.
//   - [CutError] is the error of [Ask] where a text ended before its value.
//
// The packages that it uses can be used by themselves: package checkpoint opens the files, model
// computes logits, decode chooses tokens, eval scores, tokenizer turns text into ids and back. The
// folder docs has recipes, in embedding.md, and the folder examples has programs.
package picogpt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"runtime"
	"strings"
	"sync"

	"picogpt/batch"
	"picogpt/checkpoint"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/tokenizer"
)

// A GPT is an open checkpoint, ready to use. It is safe for concurrent use.
type GPT struct {
	checkpoint *checkpoint.Checkpoint
	tokenizer  *tokenizer.Tokenizer
	model      *model.Model
	batcher    *batch.Batcher
	head       func() (*checkpoint.Head, error)

	vocabulary func() (*constrain.Vocabulary, error) // for Ask
	forms      sync.Map                              // of types, by reflect.Type
}

// A Config says how a checkpoint is opened. The zero value uses every processor, the weights as
// they are stored, and no limit of memory.
type Config struct {
	Checkpoint checkpoint.Options // settings that some formats leave open

	Model   model.Options // threads, number format, memory for the caches
	Batcher batch.Options // how many texts run at a time, and how long one waits for another
}

// Open opens the checkpoint at path: a file of weights in any format that package checkpoint reads,
// with config.json and the tokenizer's files beside it where the format needs them, or a directory
// that holds one. See [checkpoint.Open].
func Open(ctx context.Context, path string, c Config) (*GPT, error) {
	opened, err := checkpoint.Open(path, c.Checkpoint)
	if err != nil {
		return nil, err
	}
	return c.make(ctx, opened)
}

// OpenFS opens the checkpoint whose files are in fsys. That of demo.FS(), in package weights/demo, is
// a small model that needs no files.
func OpenFS(ctx context.Context, fsys fs.FS, c Config) (*GPT, error) {
	opened, err := checkpoint.OpenFS(fsys, "", c.Checkpoint)
	if err != nil {
		return nil, err
	}
	return c.make(ctx, opened)
}

// make returns a GPT of a checkpoint, and closes the checkpoint.
func (c Config) make(ctx context.Context, opened *checkpoint.Checkpoint) (*GPT, error) {
	tok, err := opened.Tokenizer()
	var m *model.Model
	if err == nil {
		if c.Model.Digest == nil {
			c.Model.Digest = opened.Digest
		}
		if _, none := opened.Head(); none == nil { // to classify needs no output head
			c.Model.Headless = true
		}
		m, err = model.New(ctx, opened.Config, opened.Tensors, c.Model)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	runtime.AddCleanup(m, func(c *checkpoint.Checkpoint) { c.Close() }, opened)
	return &GPT{checkpoint: opened, tokenizer: tok, model: m, batcher: batch.New(m, c.Batcher),
		head: sync.OnceValues(opened.Head),
		vocabulary: sync.OnceValues(func() (*constrain.Vocabulary, error) {
			return constrain.VocabularyOf(tok, opened.Config.EndTokens())
		})}, nil
}

// Close ends all texts in progress, and releases all memory. A second Close does nothing. The
// garbage collector releases the memory of a GPT that is unreachable, as is its Model.
func (g *GPT) Close() error {
	return errors.Join(g.batcher.Close(), g.model.Close(), g.checkpoint.Close())
}

// Model returns the model, for use with packages model, decode and eval.
func (g *GPT) Model() *model.Model { return g.model }

// Tokenizer returns the checkpoint's tokenizer.
func (g *GPT) Tokenizer() *tokenizer.Tokenizer { return g.tokenizer }

// A Token is one new token. Its Text is whole characters; its Finish is not "" in the last one,
// which also has the Seed of the text, 0 if it was greedy.
type Token = decode.Token

// Complete returns the text that Generate streams. With an error it returns the text before it. A
// text that ends before it is of the form of Options.Constraint is an error too.
func (g *GPT) Complete(ctx context.Context, prompt string, o Options) (string, error) {
	var text strings.Builder
	tokens := 0
	for t, err := range g.Generate(ctx, prompt, o) {
		if err != nil {
			return text.String(), err
		}
		text.WriteString(t.Text)
		if !t.Prompt {
			tokens++
		}
		if t.Incomplete {
			return text.String(), fmt.Errorf("constraint: want a text of its form, found the "+
				"beginning of one: it ended after %d tokens (%s)", tokens, t.Finish)
		}
	}
	return text.String(), nil
}

// Generate streams the text that follows prompt, token by token. It ends with the text's end, with
// Options.MaxTokens, with the end of the model's context, or with an error. A break ends it too.
//
// Mistakes of the caller are a *sample.OptionError, a *model.ContextError for a prompt that is too
// long, and the tokenizer's error for a byte for which it has no token. Other errors are ctx's,
// model.ErrCacheFull, a *model.NonFiniteError and batch.ErrClosed.
//
// An empty prompt stands for the beginning of a text. With Options.Healing, the prompt's tokens are
// Healing.Prompt.
func (g *GPT) Generate(ctx context.Context, prompt string, o Options) iter.Seq2[Token, error] {
	return g.generate(ctx, prompt, o, func(ids []int, o Options) iter.Seq2[Token, error] {
		return g.batcher.Generate(ctx, ids, o)
	})
}

// Samples streams n texts that follow prompt, which is evaluated once. Token.Sample is the index of
// a token's text. Sample i is the text that Generate gives with the Seed of its last token, which
// is Options.Seed+i. The tokens of different samples come in the order in which they are chosen.
func (g *GPT) Samples(
	ctx context.Context, prompt string, n int, o Options,
) iter.Seq2[Token, error] {
	return g.generate(ctx, prompt, o, func(ids []int, o Options) iter.Seq2[Token, error] {
		return g.batcher.Samples(ctx, ids, n, o)
	})
}

// generate encodes the prompt, and draws a seed if none is given, when the loop over the result
// begins.
func (g *GPT) generate(
	ctx context.Context, prompt string, o Options,
	tokens func(ids []int, o Options) iter.Seq2[Token, error],
) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		ids, err := g.tokenizer.ForPrompts().Encode(prompt)
		o := o // each loop draws its own seed
		if err == nil {
			o, err = g.opened(ctx, o)
		}
		if err != nil {
			yield(Token{}, err)
			return
		}
		if o.Healing != nil {
			ids = o.Healing.Prompt
		}
		for t, err := range tokens(ids, o) {
			if t.Finish != "" && o.Temperature != 0 {
				t.Seed = o.Seed + uint64(t.Sample)
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// Score returns how likely each token of a text is after those before it.
func (g *GPT) Score(ctx context.Context, text string) (eval.Scored, error) {
	return eval.ScoreOne(ctx, g.model, g.tokenizer, eval.Request{Text: text}, eval.ScoreOptions{})
}

// Scores scores many texts in batches, in their order. A text that cannot be scored is an
// *eval.RequestError, and does not end the loop. See [eval.Score].
//
// Texts that are generated at the same time wait for each batch: ScoreOptions.Batch makes the
// batches smaller.
func (g *GPT) Scores(
	ctx context.Context, requests iter.Seq[eval.Request], o eval.ScoreOptions,
) iter.Seq2[eval.Scored, error] {
	return eval.Score(ctx, g.model, g.tokenizer, requests, o)
}

// Embed returns the vector [n_embd] of a text: by default the mean of its tokens' last hidden states.
// GPT-2 was not trained for that: of cosines between such vectors only the order means something.
// See [eval.EmbedOptions].
func (g *GPT) Embed(ctx context.Context, text string, o eval.EmbedOptions) ([]float32, error) {
	e, err := eval.EmbedOne(ctx, g.model, g.tokenizer.ForPrompts(), eval.Request{Text: text}, o)
	return e.Vector, err
}

// Embeddings returns the vectors of many texts, in batches and in their order. See [eval.Embed].
func (g *GPT) Embeddings(
	ctx context.Context, requests iter.Seq[eval.Request], o eval.EmbedOptions,
) iter.Seq2[eval.Embedded, error] {
	return eval.Embed(ctx, g.model, g.tokenizer.ForPrompts(), requests, o)
}

// Head returns the head of a checkpoint that classifies, or an error that wraps
// [checkpoint.ErrNoHead].
func (g *GPT) Head() (*checkpoint.Head, error) { return g.head() }

// Classify returns the class of a text, or with a head that is PerToken the classes of its tokens, as
// the checkpoint's head has it. A checkpoint without one chooses among labels with Choose.
func (g *GPT) Classify(ctx context.Context, text string) (eval.Classified, error) {
	h, err := g.head()
	if err != nil {
		return eval.Classified{}, err
	}
	return eval.ClassifyOne(ctx, g.model, g.tokenizer.ForPrompts(), h, eval.Request{Text: text},
		eval.ClassifyOptions{})
}

// Choose returns which of some texts follows a context best, and the probability of each if it must
// be one of them. The space between the context and a choice belongs to the choice: " good". Each
// choice counts with the tokenizer's own spelling alone, as benchmarks define it: see [eval.Choose].
// The sum over all spellings, within a bound, is [search.Choose], for choices of which none begins
// another.
func (g *GPT) Choose(ctx context.Context, context string, choices ...string) (eval.Answer, error) {
	return eval.Choose(ctx, g.model, g.tokenizer, context, choices...)
}

// Answers is Choose for many questions, in batches. See [eval.Answers].
func (g *GPT) Answers(
	ctx context.Context, questions iter.Seq[eval.Question],
) iter.Seq2[eval.Answer, error] {
	return eval.Answers(ctx, g.model, g.tokenizer, questions, eval.ScoreOptions{})
}
