package eval

// Score: log-likelihoods of many texts, token by token, in batches.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"picogpt/model"
)

// ScoreOptions say how to score. The zero value scores every token of a text except the first.
type ScoreOptions struct {
	BOS   bool // put the BOS before a text, so that its first token is scored too
	Top   int  // number of alternatives to return for each token
	Batch int  // texts in one Eval; 0 is 64. It changes no digit.
}

// A Scored is the result for one request. Its JSON is that of its Record.
type Scored struct {
	Index  int // of the request, from 0
	Tag    any // the request's
	Text   string
	Tokens []Token

	// Count is the number of tokens that have a score: all Tokens, except the first of a text
	// without BOS.
	Count  int
	Sum    float64 // of the log-probabilities, in nats; 0 if nothing is scored
	Mean   float64 // Sum/Count; NaN if nothing is scored
	Greedy bool    // every token is the greedy choice

	// Dropped is the number of tokens at the beginning of the context that the model did not see,
	// because it has too few positions.
	Dropped int
}

// A Token is one token of the scored text.
type Token struct {
	Stat           // for a token with nothing before it, LogProb and Entropy are NaN and Rank is −1
	Start, End int // its bytes: Text[Start:End], which may begin or end within a rune
}

// A RequestError says that one request cannot be scored. It does not affect the others.
type RequestError struct {
	Index int // of the request, from 0
	Tag   any // the request's
	Err   error
}

func (e *RequestError) Error() string { return fmt.Sprintf("request %d: %v", e.Index, e.Err) }

func (e *RequestError) Unwrap() error { return e.Err }

// scoreBatch is the number of texts that share an Eval. scoreRows bounds the number of their
// tokens, and so the memory of their caches.
const (
	scoreBatch = 64
	scoreRows  = 2048
)

// Score yields one Scored for each request, in order. A request that cannot be scored, because of
// its tokens or because its logits are not finite, yields a *RequestError beside a Scored that has
// only Index and Tag, and the iteration continues. Any other error, such as the context's, ends it.
//
// Requests may come at any time, from a channel for example:
//
//	requests := func(yield func(eval.Request) bool) {
//		for r := range channel {
//			if !yield(r) {
//				return
//			}
//		}
//	}
//
// Score runs the requests' function in a goroutine of its own. It fills a batch with the requests
// that are ready, and does not wait for more if it has at least one. When the loop ends early, the
// function ends at its next yield: one that waits on a channel should also watch a context.
//
// Tokens that several texts of a batch have in common at their beginning are computed once. The
// model's context bounds how far back a prediction looks: a context that is too long loses its
// beginning (Scored.Dropped), and a long text is scored in windows that advance by half the model's
// context.
func Score(
	ctx context.Context, m *model.Model, tok Tokenizer, requests iter.Seq[Request], o ScoreOptions,
) iter.Seq2[Scored, error] {
	return func(yield func(Scored, error) bool) {
		if o.Top < 0 || o.Batch < 0 {
			yield(Scored{}, fmt.Errorf("top and batch: %d and %d, want 0 or more", o.Top, o.Batch))
			return
		}
		if o.Batch == 0 {
			o.Batch = scoreBatch
		}
		p := packer{most: o.Batch, limit: scoreRows}
		p.runner = runner{model: m, share: true, measure: measure{decay: newDecay(), top: o.Top}}
		respond(ctx, p, requests, func(r Request, index int) task[Scored] {
			return o.prepare(m.Config(), tok, r, index)
		}, yield)
	}
}

// ScoreOne is Score for one request.
func ScoreOne(
	ctx context.Context, m *model.Model, tok Tokenizer, r Request, o ScoreOptions,
) (Scored, error) {
	return only(ctx, Score(ctx, m, tok, slices.Values([]Request{r}), o))
}

// only returns the one answer to one request.
func only[A any](ctx context.Context, answers iter.Seq2[A, error]) (A, error) {
	for a, err := range answers {
		var bad *RequestError
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return a, err
	}
	var none A
	return none, ctx.Err()
}

// answer returns the result of a finished job.
func (j *job) answer() (Scored, error) {
	r := Scored{Index: j.index, Tag: j.tag}
	if j.err != nil {
		return r, &RequestError{j.index, j.tag, j.err}
	}
	r.Text, r.Dropped, r.Mean, r.Greedy = j.text, j.drop, math.NaN(), true
	for _, id := range j.tokens[j.hidden:min(j.first, len(j.tokens))] {
		t := Token{Stat: Stat{ID: id, LogProb: math.NaN(), Entropy: math.NaN(), Rank: -1}}
		if j.top > 0 {
			t.Top = []Alternative{}
		}
		r.Tokens = append(r.Tokens, t)
	}
	for _, p := range j.parts {
		for _, stat := range p.stats {
			stat.Top = texts(stat.Top, j.tokenizer)
			r.Tokens = append(r.Tokens, Token{Stat: stat})
			r.Count++
			r.Sum += stat.LogProb
			r.Greedy = r.Greedy && stat.Greedy
		}
	}
	if r.Count > 0 {
		r.Mean = r.Sum / float64(r.Count)
	}
	for i, span := range j.spans {
		r.Tokens[i].Start, r.Tokens[i].End = span.Start, span.End
	}
	return r, nil
}

// texts returns alternatives with their texts. It copies them: the stats of several jobs share
// those without texts.
func texts(top []Alternative, tok Tokenizer) []Alternative {
	if len(top) == 0 {
		return nil
	}
	with := make([]Alternative, len(top))
	for i, a := range top {
		a.Text, _ = tok.Text(a.ID) // a row beyond the vocabulary has no text
		with[i] = a
	}
	return with
}
