package eval

// Scores: log-likelihoods of many texts, token by token, in batches.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"picogpt/model"
	"picogpt/tokenizer"
)

// A Tokenizer turns text into ids and back, and says where each id is in the text.
// *tokenizer.Tokenizer implements it.
type Tokenizer interface {
	Encoder
	EncodeSpans(text string) (ids []int, spans []tokenizer.Span, err error)
	DecodeSpans(ids []int) (text string, spans []tokenizer.Span, err error)
	Text(id int) (string, error) // returns the text of one token by itself, to be shown
}

// A Request is one text to score.
type Request struct {
	// Text is scored: all of its tokens. Without a BOS and a context, the first token has no score.
	Text string

	// Context, in a Pair, is the text before Text; only Text is scored. The two are divided into
	// tokens as in lm-evaluation-harness: white space at the end of Context moves to the beginning
	// of Text, and Text's tokens are encode(Context+Text)[len(encode(Context)):]. If Context is
	// empty, the BOS comes first.
	Context string
	Pair    bool

	// Tokens, if not nil, are the ids to score in a request that is no Pair; Text is then ignored.
	Tokens []int

	// Tag is any value of the caller's; it is returned as Scored.Tag. A string or a number is the
	// id of the Record.
	Tag any

	// Err, if not nil, says why there is nothing to score, for example a malformed line. It is
	// returned in order, as a RequestError.
	Err error
}

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
		o.Batch = cmp.Or(o.Batch, scoreBatch)
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
		if bad, ok := errors.AsType[*RequestError](err); ok {
			err = bad.Err
		}
		return a, err
	}
	var none A
	return none, ctx.Err()
}

// A job is a request that is being scored: its tokens, and the sequences that measure them.
type job struct {
	index  int
	tag    any
	tokens []int            // all, with the BOS and the context
	first  int              // index of the first token that is scored
	hidden int              // tokens that are not part of the scored text: the BOS, the context
	text   string           // the scored text
	spans  []tokenizer.Span // [len(tokens)-hidden] where in text
	drop   int              // tokens of the context that are left out: it is too long
	parts  []*sequence
	err    error

	tokenizer Tokenizer
	top       int // number of alternatives to keep for each token
}

// prepare encodes a request and divides it into sequences.
func (o *ScoreOptions) prepare(c model.Config, tok Tokenizer, r Request, index int) *job {
	j := &job{index: index, tag: r.Tag, err: r.Err, tokenizer: tok, top: o.Top}
	switch {
	case j.err != nil:
	case r.Pair:
		j.err = j.pair(c, tok, r)
	default:
		j.err = j.alone(c, tok, r, o.BOS)
	}
	if j.err == nil {
		j.err = vocabulary(j.tokens[j.hidden:], c.VocabSize)
	}
	if j.err == nil {
		j.err = vocabulary(j.tokens[:j.hidden], c.VocabSize)
	}
	if j.err == nil && r.Tokens != nil {
		j.text, j.spans, j.err = tok.DecodeSpans(r.Tokens)
	}
	if j.err == nil && r.Pair && len(j.tokens)-j.first > c.Positions {
		j.err = fmt.Errorf("continuation: %d tokens, want at most %d (n_positions)",
			len(j.tokens)-j.first, c.Positions)
	}
	if j.err == nil {
		j.cut(c.Positions)
	}
	return j
}

// alone sets the tokens of a text without a context.
func (j *job) alone(c model.Config, tok Tokenizer, r Request, bos bool) (err error) {
	ids := r.Tokens
	if ids == nil {
		j.text = r.Text
		if ids, j.spans, err = tok.EncodeSpans(r.Text); err != nil {
			return err
		}
	}
	if !bos {
		j.tokens, j.first = ids, 1
		return nil
	}
	id, err := startID(c)
	if err != nil {
		return err
	}
	j.tokens, j.first, j.hidden = append([]int{id}, ids...), 1, 1
	return nil
}

// pair sets the tokens of a context and of its continuation, which is scored.
func (j *job) pair(c model.Config, tok Tokenizer, r Request) error {
	if r.Tokens != nil {
		return errors.New("tokens: want none beside a context")
	}
	context := strings.TrimRightFunc(r.Context, space)
	before, err := tok.Encode(context)
	if err != nil {
		return err
	}
	both := r.Context + r.Text
	after, spans, err := tok.EncodeSpans(both)
	if err != nil {
		return err
	}
	if len(after) <= len(before) {
		return fmt.Errorf("continuation: no token of its own "+
			"(context %d, context and continuation %d)", len(before), len(after))
	}
	after, j.spans = after[len(before):], spans[len(before):]
	start := j.spans[0].Start
	j.text = both[start:]
	for i := range j.spans {
		j.spans[i].Start -= start
		j.spans[i].End -= start
	}
	if len(before) == 0 {
		id, err := startID(c)
		if err != nil {
			return err
		}
		before = []int{id}
	}
	j.hidden, j.first = len(before), len(before)
	j.tokens = append(before[:len(before):len(before)], after...)
	return nil
}

// cut makes the sequences. A context that is too long loses its beginning, as in
// lm-evaluation-harness: the model sees the last positions tokens. A text that is too long is
// divided into windows that advance by half of positions, so that every token is scored once, with
// at least half a window before it.
func (j *job) cut(positions int) {
	n := len(j.tokens)
	if j.hidden > 1 || n <= positions+1 { // a context, or a text that fits
		j.drop = max(0, n-1-positions)
		if j.first < n {
			j.parts = []*sequence{{tokens: j.tokens[j.drop:], first: j.first - j.drop}}
		}
	} else {
		j.parts = []*sequence{{tokens: j.tokens[:positions+1], first: j.first}}
		for done := positions + 1; done < n; {
			end := min(done+max(1, positions/2), n)
			j.parts = append(j.parts, &sequence{tokens: j.tokens[end-positions-1 : end],
				first: done - (end - positions - 1)})
			done = end
		}
	}
}

func (j *job) sequences() iter.Seq[*sequence] { return slices.Values(j.parts) }

func (j *job) take(s *sequence) {
	if j.err == nil {
		j.err = s.err
	}
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
