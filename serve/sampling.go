package serve

// From fields to package decode's options.

import (
	"context"
	"slices"

	"picogpt/decode"
)

// complete gives the options of a request what the server knows: ids, and what texts are in them.
func (s *Server) complete(ctx context.Context, q *completion) error {
	o := &q.Options
	o.Vocabulary = s.vocabulary.Tokenizer
	if q.logprobs != nil {
		o.Top = *q.logprobs
	}
	if q.logprobs != nil && q.echo {
		o.Echo = decode.EchoPrompt
		if o.MaxTokens == 0 {
			o.Echo = decode.EchoOnly
		}
	}
	switch {
	case q.ignoreEOS:
		o.EndOfText = append([]int{}, q.stopIDs...)
		o.Vocabulary = silent{s.vocabulary.Tokenizer, s.ends} // an end of text is never in a text
	case len(q.stopIDs) > 0:
		o.EndOfText = slices.Concat(s.ends, q.stopIDs)
	}
	return o.Open(ctx, s.vocabulary.Tokenizer)
}
