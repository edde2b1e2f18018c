package eval

// From a request to the tokens that are evaluated and the tokens that are scored.

import (
	"errors"
	"fmt"
	"iter"
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

// A job is a request that is being scored: its tokens, and the sequences that measure them.
type job struct {
	index  int
	tag    any
	tokens []int            // all, with the BOS and the context
	first  int              // index of the first token that is scored
	hidden int              // tokens that are not part of the scored text: the BOS, the context
	text   string           // the scored text
	spans  []tokenizer.Span // [len(tokens)-hidden] where in text
	drop   int              // tokens of the context that are left out, because the model has too few positions
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
