package eval

// LAMBADA: predicting the last word of a text.

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"

	"picogpt/kernels"
	"picogpt/model"
)

// TaskOptions say how to run a benchmark.
type TaskOptions struct {
	Batch    int            // texts in one Eval, as in ScoreOptions
	Progress func(done int) // if not nil, called after each example

	// Skip, if not nil, is called for each example that cannot be scored, with its index and the
	// error; the benchmark continues without the example. If Skip is nil, such an example ends the
	// benchmark.
	Skip func(example int, err error)
}

// An Accuracy is a share of right answers, and its standard error √(p·(1−p)/(n−1)), which is NaN if
// n is 1.
type Accuracy struct{ Value, StdErr float64 }

func accuracy(right, n int) Accuracy {
	p := float64(right) / float64(n)
	return Accuracy{p, math.Sqrt(float64(p*(1-p)) / float64(n-1))}
}

// A LambadaResult is the result of Lambada. Its numbers are NaN if there are no examples.
type LambadaResult struct {
	Examples   int
	Perplexity float64  // exp(−mean log-likelihood of the last word)
	Accuracy   Accuracy // of the greedy choice, all tokens of the word
	Partial    bool     // an error ended the measurement before the last example
}

// Lambada measures how well the last word of each text is predicted from the rest, as defined by
// lm-evaluation-harness's lambada_openai: the text is cut at its last space, and the space belongs
// to the word. On an error, such as the context's, it also returns the result for the texts before
// it.
func Lambada(ctx context.Context, m *model.Model, tok Tokenizer, texts iter.Seq[string],
	o TaskOptions) (LambadaResult, error) {
	requests := func(yield func(Request) bool) {
		for text := range texts {
			at := strings.LastIndexByte(text, ' ')
			if !yield(Request{Context: text[:max(at, 0)], Text: " " + text[at+1:], Pair: true}) {
				return
			}
		}
	}
	var r LambadaResult
	var sum float64
	right := 0
	var err error
	for s, e := range Score(ctx, m, tok, requests, ScoreOptions{Batch: o.Batch}) {
		if bad := (*RequestError)(nil); errors.As(e, &bad) && o.Skip != nil {
			o.Skip(bad.Index, bad.Err)
			continue
		}
		if err = e; err != nil {
			break
		}
		r.Examples++
		sum += s.Sum
		if s.Greedy {
			right++
		}
		if o.Progress != nil {
			o.Progress(r.Examples)
		}
	}
	r.Partial = err != nil
	r.Perplexity = kernels.Exp64(-sum / float64(r.Examples))
	r.Accuracy = accuracy(right, r.Examples)
	return r, err
}
