package serve

// From fields to package decode's options.

import (
	"context"
	"math"
	"slices"

	"picogpt/decode"
	"picogpt/sample"
)

// decodeOptions are decode's words for a request.
func (s *Server) decodeOptions(ctx context.Context, q *completion) (decode.Options, error) {
	o := decode.Options{MaxTokens: q.maxTokens, Stop: q.stop, Ban: q.badWords,
		Vocabulary: s.vocabulary.Tokenizer, Params: sample.Params{MinTokens: q.minTokens,
			Temperature: q.temperature, TopK: max(0, q.topK), TopP: q.topP, MinP: q.minP,
			PresencePenalty: q.presence, FrequencyPenalty: q.frequency, RepeatPenalty: q.repetition,
			Seed: q.seedOrAny()}}
	if o.TopP == 0 {
		o.TopP = math.SmallestNonzeroFloat64 // one token; decode's 0 is off
	}
	if q.logprobs != nil {
		o.Top = *q.logprobs
	}
	if q.logprobs != nil && q.echo {
		o.Echo = decode.EchoPrompt
		if q.maxTokens == 0 {
			o.Echo = decode.EchoOnly
		}
	}
	slab := make([]int, len(q.bias))
	for i, b := range q.bias {
		slab[i] = b.id
		o.Bias = append(o.Bias, sample.Bias{IDs: slab[i : i+1 : i+1], Value: b.value})
	}
	switch {
	case q.ignoreEOS:
		o.EndOfText = append([]int{}, q.stopIDs...)
		o.Vocabulary = silent{s.vocabulary.Tokenizer, s.ends} // an end of text is never in a text
	case len(q.stopIDs) > 0:
		o.EndOfText = slices.Concat(s.ends, q.stopIDs)
	}
	err := s.setFilters(ctx, &o, &q.filters)
	return o, err
}
