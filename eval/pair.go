package eval

// From a request to the tokens that are evaluated and those that are scored.

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"picogpt/model"
	"picogpt/tokenizer"
)

// A Tokenizer turns text into ids and back, and tells where each id is in the text.
// *tokenizer.Tokenizer is one.
type Tokenizer interface {
	Encoder
	EncodeSpans(text string) (ids []int, spans []tokenizer.Span, err error)
	DecodeSpans(ids []int) (text string, spans []tokenizer.Span, err error)
	Text(id int) (string, error) // of one token by itself, to show it
}

// A Request is one text to score.
type Request struct {
	// Text is scored. Alone, all of its tokens are, but for the first where there is no BOS.
	Text string

	// Context, in a Pair, is what Text continues; only Text is scored. The two are cut as
	// lm-evaluation-harness cuts them: white space at the end of Context moves to the beginning of
	// Text, and Text's tokens are encode(Context+Text)[len(encode(Context)):]. After an empty
	// Context, the BOS comes first.
	Context string
	Pair    bool

	// Tokens, if not nil, are the ids of Text, which is ignored, in a request that is no Pair.
	Tokens []int

	// Tag is the caller's: it comes back as Scored.Tag. A string or a number is the id of the
	// Record.
	Tag any

	// Err, if not nil, says why there is nothing to score, a line that is broken for example. It
	// comes back in its turn, as a RequestError.
	Err error
}

// A job is a request on its way: its tokens, and the sequences that will measure them.
type job struct {
	index  int
	tag    any
	tokens []int            // all of them, the BOS and the context included
	first  int              // token that is scored first
	hidden int              // tokens that are not part of the scored text: the BOS, the context
	text   string           // what is scored
	spans  []tokenizer.Span // [len(tokens)-hidden] where in text
	drop   int              // tokens of the context that are too far away to be seen
	parts  []*sequence
	err    error

	tokenizer Tokenizer
	top       int // how many alternatives to keep for each token
}

// prepare encodes a request and cuts it into sequences.
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

// alone makes the tokens of a text without a context.
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

// pair makes the tokens of a context and its continuation, which is what is scored.
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
// lm-evaluation-harness: the model sees the last positions tokens before the last. A text that is
// too long is cut into windows that advance by half of that, so that every token is scored once,
// with at least half a window before it.
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
