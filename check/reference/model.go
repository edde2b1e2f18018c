// A whole picoGPT: text in, text out.
package reference

import (
	"context"
	"fmt"
	"iter"
	"math"

	"gonum.org/v1/gonum/floats"
)

// A Model is what picoGPT's main has: hyperparameters, weights and an encoder. Open makes one.
type Model struct {
	HParams HParams
	Params  *Params

	Encoder   *Encoder // nil if the tokenizer is of a kind that it does not do
	NoEncoder error    // why there is none
}

// Logits is GPT2 with the model's weights. It ends with ctx, between two blocks.
func (m *Model) Logits(ctx context.Context, ids []int) (*Matrix, error) {
	p := *m.Params
	p.Watch = func(layer int, x *Matrix) error {
		if m.Params.Watch != nil {
			if err := m.Params.Watch(layer, x); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	return GPT2(ids, &p, m.HParams)
}

// Generate yields the n tokens that follow ids. Each is the one that choose returns, given the
// logits [n_vocab] after all tokens before it; nil takes the largest logit, the lowest id among
// equals. The loop ends with the first error, one of GPT2, choose or ctx. That all n fit into the
// context is checked before the first.
func (m *Model) Generate(
	ctx context.Context, ids []int, n int, choose func(logits []float64) (int, error),
) iter.Seq2[int, error] {
	if choose == nil {
		choose = func(logits []float64) (int, error) { return floats.MaxIdx(logits), nil }
	}
	return func(yield func(int, error) bool) {
		if len(ids)+n-1 > m.HParams.Positions {
			yield(0, fmt.Errorf("%d tokens and %d new ones (the last takes no position), want at "+
				"most n_positions, %d", len(ids), n, m.HParams.Positions))
			return
		}
		ids := append([]int(nil), ids...)
		for range n {
			logits, err := m.Logits(ctx, ids) // [n_seq, n_vocab]
			if err != nil {
				yield(0, err)
				return
			}
			next, err := choose(logits.Row(len(ids) - 1))
			if !yield(next, err) || err != nil {
				return
			}
			ids = append(ids, next)
		}
	}
}

// A Score is how well a text is predicted.
type Score struct {
	NLL    float64 // the mean negative log-likelihood of the scored tokens, in nats
	Scored int     // how many there are, as the protocol counts them
}

// Perplexity returns e to the power of the mean.
func (s Score) Perplexity() float64 { return math.Exp(s.NLL) }

// Perplexity scores a text by Hugging Face's strided windows
// (huggingface.co/docs/transformers/perplexity): windows of at most window tokens advance by
// stride, and each token is scored once, with the tokens before it in its window; the first has
// none and is not scored. The zero of window is the model's n_positions, that of stride the window.
// A window's mean is weighted as there: by one less than its new tokens. done, if it is not nil, is
// called after each window with the tokens behind it and the score so far.
func (m *Model) Perplexity(
	ctx context.Context, ids []int, window, stride int, done func(tokens int, so Score),
) (Score, error) {
	if window == 0 {
		window = m.HParams.Positions
	}
	if stride == 0 {
		stride = window
	}
	switch {
	case window < 2 || window > m.HParams.Positions:
		return Score{}, fmt.Errorf("window: %d, want 2 to n_positions, %d", window, m.HParams.Positions)
	case stride < 1 || stride > window:
		return Score{}, fmt.Errorf("stride: %d, want 1 to %d, the window", stride, window)
	case len(ids) < 2:
		return Score{}, fmt.Errorf("text: %d tokens, want at least 2", len(ids))
	}
	var s Score
	total := 0.0
	for begin, scored := 0, 0; scored < len(ids); begin += stride {
		end := min(begin+window, len(ids))
		fresh := end - scored
		scored = end
		targets := min(fresh, end-begin-1)
		if targets < 1 {
			continue
		}
		logits, err := m.Logits(ctx, ids[begin:end]) // [end-begin, n_vocab]
		if err != nil {
			return s, err
		}
		sum := 0.0
		for i := end - targets; i < end; i++ {
			row := logits.Row(i - begin - 1)
			sum += floats.LogSumExp(row) - row[ids[i]]
		}
		total += sum / float64(targets) * float64(fresh-1)
		s.Scored += fresh - 1
		s.NLL = total / float64(s.Scored)
		if done != nil {
			done(end, s)
		}
	}
	return s, nil
}
