package receipt

// Compares a text that is generated again with its receipt.

import (
	"fmt"
	"iter"
	"sync/atomic"

	"picogpt/decode"
	"picogpt/internal/quote"
)

// Follow compares the ids of a text with the receipt's as they arrive, and counts the equal ones in
// same. It returns an error at the first difference.
func (r *Receipt) Follow(tokens iter.Seq2[decode.Token, error], same *atomic.Int64) error {
	for t, err := range tokens {
		n := int(same.Load())
		switch {
		case err != nil:
			return err
		case t.Finish == decode.FinishEndOfText && n < len(r.IDs):
			return fmt.Errorf("token %d of %d differs: the text ends, want id %d", n, len(r.IDs),
				r.IDs[n])
		case t.Finish == decode.FinishEndOfText:
			return r.compareEnd(n, t.Finish)
		case n >= len(r.IDs):
			return fmt.Errorf("token %d of %d differs: id %d, want the end of the text", n,
				len(r.IDs), t.ID)
		case t.ID != r.IDs[n]:
			return fmt.Errorf("token %d of %d differs: id %d, want %d", n, len(r.IDs), t.ID,
				r.IDs[n])
		}
		same.Add(1)
		if t.Finish != "" {
			return r.compareEnd(n+1, t.Finish)
		}
	}
	return nil
}

func (r *Receipt) compareEnd(n int, reason string) error {
	switch {
	case n < len(r.IDs):
		return fmt.Errorf("token %d of %d differs: the text ends (%s), want id %d", n, len(r.IDs),
			reason, r.IDs[n])
	case reason != r.FinishReason:
		return fmt.Errorf("finish_reason differs: %s, want %s", reason, quote.Short(r.FinishReason, 40))
	}
	return nil
}

// Compare returns an error if the logits of a text of the same ids differ.
func (r *Receipt) Compare(want *Receipt) error {
	for i, row := range r.TokenLogits {
		if i >= len(want.TokenLogits) || row != want.TokenLogits[i] {
			return fmt.Errorf("logits before token %d of %d differ, its id does not", i,
				len(r.IDs))
		}
	}
	if len(r.TokenLogits) != len(want.TokenLogits) || r.Logits != want.Logits {
		return fmt.Errorf("logits differ: digest %s, want %s", r.Logits, quote.Short(want.Logits, 40))
	}
	return nil
}
