package serve

// From the fields of a request to package decode's options.

import (
	"context"
	"slices"

	"picogpt/decode"
)

// complete adds to a request's options what only the server knows: ids, and the tokens of texts.
func (s *Server) complete(ctx context.Context, q *completion) error {
	if err := s.steer(q); err != nil {
		return err
	}
	o := &q.Options
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
