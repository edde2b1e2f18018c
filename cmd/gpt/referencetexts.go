package main

// gpt generate --engine reference: decode's streams over the logits of package reference.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"picogpt/check/reference"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/internal/option"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/tokenizer"
)

// referenceDoes are the flags that go with --engine reference: those of sampling whose texts need
// no tokenizer of the engine's, and those of the prompt, the end and the output.
func (c *generateCommand) referenceDoes() []string {
	does := []string{"file", "prompt", "tokens", "special", "model", "adapter", "gelu", "verbose",
		"output", "json", "out", "force", "no-display-prompt", "samples", "max-tokens", "overflow",
		"stop", "keep-stop", "eos", "min-tokens", "length-decay", "logprobs", "raw-control-chars"}
	for _, o := range option.Of(&c.Params) {
		name := o.Flag.Name
		if name != "guidance" && name != "negative" && name != "logit-bias" &&
			name != "sequence-bias" && !strings.HasPrefix(name, "dry-") {
			does = append(does, name)
		}
	}
	return does
}

// runReference writes the texts of a prompt.
func (c *generateCommand) runReference(a *app, o decode.Options) error {
	ck, err := a.open()
	if err != nil {
		return err
	}
	p, closePrompt, err := c.Prompt.open(a)
	if err != nil {
		return err
	}
	defer closePrompt()
	text, err := c.encodeReference(a, &p, &o)
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
	a.chooses = true
	w := &referenceWork{bar: terminal.NewShareBar("reading")}
	most := c.newTokens(ck.Config.Positions, first)
	for i := range most {
		w.total += max(1, c.Samples) * (len(first.Context()) + i)
	}
	if c.MaxTokens == 0 { // which takes hours for a large model
		long := fmt.Sprintf("have %s, whose passes read %d in all", quote.Count(most, "token"), w.total)
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
	_, err = c.write(a, text, p, o, c.Search.newScores(), w.bar,
		func(ctx context.Context) iter.Seq2[decode.Token, error] {
			return referenceTexts(ctx, m, ck.Config, p.ids, max(1, c.Samples), o, w)
		})
	return err
}

// newTokens is how many tokens a text has at most, those of one context where there is no end.
func (c *generateCommand) newTokens(positions int, first *decode.Stream) int {
	if c.MaxTokens > 0 {
		return c.MaxTokens
	}
	return positions - len(first.Context()) + 1
}

// encodeReference reads the prompt, and gives o its vocabulary. The decoder is nil where there are
// only ids.
func (c *generateCommand) encodeReference(
	a *app, p *prompt, o *decode.Options,
) (decoder, error) {
	e, err := a.referenceEncoder()
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
			return nil, errors.New("prompt: more than 1 MiB, want at most that with --engine reference")
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
