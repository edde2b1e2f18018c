// The steps of GPT2 for one text, with its numbers: a lesson.
package reference

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
)

// MostExplained is how many tokens a lesson has room for.
const MostExplained = 64

//go:embed gpt2.go
var forwardSource string

//go:embed encoder.go
var encoderSource string

// quoted returns a function of gpt2.go, or the constant of encoder.go, as it is written there with
// its comment, or "".
func quoted(name string) string {
	for _, file := range []string{forwardSource, encoderSource} {
		for _, begins := range []string{"\nfunc " + name + "(", "\nconst " + name + " ="} {
			at := strings.Index(file, begins)
			if at < 0 {
				continue
			}
			from := strings.LastIndex(file[:at+1], "\n\n") + len("\n\n")
			end := "\n}\n"
			if strings.HasPrefix(begins, "\nconst") {
				end = "\n"
			}
			at++
			return strings.TrimSpace(file[from : at+strings.Index(file[at:], end)+len(end)])
		}
	}
	return ""
}

// A Step is a screen of a lesson.
type Step struct {
	Title  string
	Text   string // lines of at most 79 columns
	Source string // the lines of this package that do the step
}

// ExplainOptions say what a lesson shows.
type ExplainOptions struct {
	Block, Head int // whose attention is shown, from 0; -1 is the one that looks back the most
}

// Explain computes the token that follows ids as GPT2 does, step by step, and returns the steps for
// reading, with this text's shapes and some of its numbers. It takes at most 64 tokens.
func (m *Model) Explain(ctx context.Context, ids []int, o ExplainOptions) ([]Step, error) {
	if err := o.Check(ids, m.HParams); err != nil {
		return nil, err
	}
	l := &lesson{Model: m, ids: ids, x: embed(ids, m.Params)}
	if err := l.compute(ctx); err != nil {
		return nil, err
	}
	l.choose(o)
	return []Step{l.tokens(), l.embedding(), l.norm(), l.heads(), l.attention(), l.mlp(),
		l.residual(), l.head(), l.pick()}, nil
}

// Check returns an error if ids, or the options, are not for a lesson about a model with hp's
// vocabulary, positions, blocks and heads.
func (o ExplainOptions) Check(ids []int, hp HParams) error {
	switch {
	case len(ids) > min(MostExplained, hp.Positions):
		return fmt.Errorf("text of %d tokens: want at most %d, which can still be looked at",
			len(ids), min(MostExplained, hp.Positions))
	case o.Block >= hp.Layer:
		return fmt.Errorf("block %d: want 0 to %d", o.Block, hp.Layer-1)
	case o.Head >= hp.Head:
		return fmt.Errorf("head %d: want 0 to %d", o.Head, hp.Head-1)
	}
	return checkIDs(ids, hp)
}

// A lesson is the forward pass with everything on the way.
type lesson struct {
	*Model
	ids    []int
	x      *Matrix // [n_seq, n_embd]: the embedding
	blocks []explained
	logits *Matrix // [n_seq, n_vocab]

	block, at int // the block and the head that are shown
	best      int // the token with the largest logit
}

// explained is one block of it.
type explained struct {
	in, normed, attended, middle, added, out *Matrix   // [n_seq, n_embd]
	weights                                  []*Matrix // [n_head, n_seq, n_seq]
	hidden                                   *Matrix   // [n_seq, n_inner]
}

// compute is GPT2 with transformerBlock and mha taken apart.
func (l *lesson) compute(ctx context.Context) error {
	hp, n := l.HParams, len(l.ids)
	x := l.x
	for layer, b := range l.Params.Blocks {
		if err := l.Params.watch(layer, x); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		e := explained{in: x, normed: layerNorm(x, b.LN1, hp.Epsilon)}
		qkv := split(linear(e.normed, b.Attn.CAttn), 3)
		q, k := split(qkv[0], hp.Head), split(qkv[1], hp.Head)
		for h := range hp.Head {
			scores := add(times(attnScale(hp, layer), matmulT(q[h], k[h])), causalMask(n))
			e.weights = append(e.weights, softmax(scores))
		}
		e.attended = mha(e.normed, b.Attn, hp, layer)
		e.middle = add(x, e.attended)
		normed := layerNorm(e.middle, b.LN2, hp.Epsilon)
		e.hidden = each(linear(normed, b.MLP.CFC), activation(hp.Activation))
		e.added = ffn(normed, b.MLP, hp)
		e.out = add(e.middle, e.added)
		x = e.out
		l.blocks = append(l.blocks, e)
	}
	l.logits = l.read(x)
	for _, v := range l.logits.Row(n - 1) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("logits: want finite numbers, found one that is not")
		}
	}
	l.best = floats.MaxIdx(l.logits.Row(n - 1))
	return nil
}

// read is the end of GPT2: logits from a residual stream.
func (l *lesson) read(x *Matrix) *Matrix { // [n_seq, n_embd] -> [n_seq, n_vocab]
	return matmulT(layerNorm(x, l.Params.LNF, l.HParams.Epsilon), l.Params.Head)
}

// choose takes the head whose last token looks most at those before it, the first one left out
// where there are others, for many heads rest on it.
func (l *lesson) choose(o ExplainOptions) {
	last := len(l.ids) - 1
	best := -1.0
	for i, b := range l.blocks {
		for h, w := range b.weights {
			if o.Block >= 0 && i != o.Block || o.Head >= 0 && h != o.Head {
				continue
			}
			row := w.Row(last)
			back := floats.Sum(row[:last])
			if last > 1 {
				back -= row[0]
			}
			if back > best {
				best, l.block, l.at = back, i, h
			}
		}
	}
}

// text returns a token for people, quoted and cut.
func (l *lesson) text(id int) string {
	if l.Encoder == nil {
		return fmt.Sprint(id)
	}
	text, err := l.Encoder.Decode([]int{id})
	if err != nil {
		return fmt.Sprint(id)
	}
	const most = 12
	if quoted := fmt.Sprintf("%q", text); len([]rune(quoted)) <= most {
		return quoted
	}
	return string([]rune(fmt.Sprintf("%q", text))[:most-2]) + `…"`
}

// few shows the first numbers of a row.
func few(row []float64) string {
	var b strings.Builder
	for _, v := range row[:min(5, len(row))] {
		fmt.Fprintf(&b, " %7.3f", v)
	}
	if len(row) > 5 {
		b.WriteString("  …")
	}
	return b.String()
}

// likeliest returns the ids with the largest logits, the largest first, and the probabilities of
// all.
func likeliest(logits []float64, n int) (ids []int, probs []float64) {
	probs = softmax(NewMatrix(1, len(logits), slices.Clone(logits))).Row(0)
	left := slices.Clone(logits)
	for range min(n, len(left)) {
		id := floats.MaxIdx(left)
		ids, left[id] = append(ids, id), math.Inf(-1)
	}
	return ids, probs
}
