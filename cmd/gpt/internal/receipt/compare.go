package receipt

// Compares texts that are generated again with their receipt.

import (
	"fmt"
	"iter"
	"sync/atomic"

	"picogpt/decode"
	"picogpt/internal/quote"
)

// Follow compares the ids of the texts with the receipt's as they arrive, and counts the equal ones
// in same. It returns an error at the first difference.
func (r *Receipt) Follow(tokens iter.Seq2[decode.Token, error], same *atomic.Int64) error {
	texts := r.All()
	came, ended := make([]int, len(texts)), 0
	for t, err := range tokens {
		switch {
		case err != nil:
			return err
		case t.Sample >= len(texts):
			return fmt.Errorf("texts differ: there is a text %d, want %d", t.Sample, len(texts))
		}
		is, err := texts[t.Sample].follow(came[t.Sample], t)
		if err != nil {
			return r.of(t.Sample, err)
		}
		if is {
			came[t.Sample]++
			same.Add(1)
		}
		if t.Finish != "" {
			ended++
		}
	}
	if ended < len(texts) {
		return fmt.Errorf("texts differ: %d, want %d", ended, len(texts))
	}
	return nil
}

// of is an error of the i-th text.
func (r *Receipt) of(i int, err error) error {
	if r.Text != nil {
		return err
	}
	return fmt.Errorf("text %d: %w", i, err)
}

// follow compares the n-th token of a text. is: it is one of the ids.
func (r *Text) follow(n int, t decode.Token) (is bool, err error) {
	switch {
	case t.Finish == decode.FinishEndOfText && n < len(r.IDs):
		return false, fmt.Errorf("token %d of %d differs: the text ends, want id %d", n, len(r.IDs),
			r.IDs[n])
	case t.Finish == decode.FinishEndOfText:
		return false, r.compareEnd(n, t.Finish)
	case n >= len(r.IDs):
		return false, fmt.Errorf("token %d of %d differs: id %d, want the end of the text", n,
			len(r.IDs), t.ID)
	case t.ID != r.IDs[n]:
		return false, fmt.Errorf("token %d of %d differs: id %d, want %d", n, len(r.IDs), t.ID,
			r.IDs[n])
	case t.Finish != "":
		return true, r.compareEnd(n+1, t.Finish)
	}
	return true, nil
}

func (r *Text) compareEnd(n int, reason string) error {
	switch {
	case n < len(r.IDs):
		return fmt.Errorf("token %d of %d differs: the text ends (%s), want id %d", n, len(r.IDs),
			reason, r.IDs[n])
	case reason != r.FinishReason:
		return fmt.Errorf("finish_reason differs: %s, want %s", reason, quote.Short(r.FinishReason, 40))
	}
	return nil
}

// Compare returns an error if the logits of texts of the same ids differ.
func (r *Receipt) Compare(want *Receipt) error {
	for i, wanted := range want.All() {
		if err := r.All()[i].compare(&wanted); err != nil {
			return want.of(i, err)
		}
	}
	return nil
}

func (r *Text) compare(want *Text) error {
	for i, row := range r.TokenLogits {
		if i >= len(want.TokenLogits) || row != want.TokenLogits[i] {
			return fmt.Errorf("logits before token %d of %d differ, its id does not", i, len(r.IDs))
		}
	}
	if len(r.TokenLogits) != len(want.TokenLogits) || r.Logits != want.Logits {
		return fmt.Errorf("logits differ: digest %s, want %s", r.Logits, quote.Short(want.Logits, 40))
	}
	return nil
}
