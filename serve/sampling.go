package serve

// From the fields of a request to package decode's options.

import (
	"context"
	"slices"

	"picogpt/batch"
	"picogpt/decode"
)

// complete adds to a request's options what only the server knows: ids, and the tokens of texts.
func (s *Server) complete(ctx context.Context, q *completion) error {
	o := &q.Options
	var err error
	if o.Edits, err = q.changes.all(s); err != nil {
		return err
	}
	if len(o.Edits) > 0 { // once for all texts of the request
		q.editsKey = batch.KeyOf(o.Edits)
	}
	o.Vocabulary = s.vocabulary.Tokenizer
	for _, top := range []*int{q.logprobs, q.promptLogprobs} {
		if top != nil {
			o.Top = max(o.Top, *top)
		}
	}
	if q.scored() {
		o.Echo = decode.EchoPrompt
		if o.MaxTokens == 0 {
			o.Echo = decode.EchoOnly
		}
	}
	switch {
	case q.ignoreEOS:
		o.EndOfText = append([]int{}, q.stopIDs...)
		if q.skipSpecial {
			o.Vocabulary = silent{s.vocabulary.Tokenizer, s.ends} // the end of text adds no text
		}
	case len(q.stopIDs) > 0:
		o.EndOfText = slices.Concat(s.ends, q.stopIDs)
	}
	return o.Open(ctx, s.vocabulary.Tokenizer)
}
