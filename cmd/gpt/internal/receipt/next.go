package receipt

// The receipt of what may come next.

import (
	"encoding/hex"
	"fmt"

	"picogpt/internal/chat"
	"picogpt/internal/engine"
	"picogpt/internal/quote"
	"picogpt/model"
)

// Next is what may come next, as gpt next shows it.
type Next struct {
	Candidates []Candidate `json:"candidates"`
	Logits     string      `json:"logits"` // the digest of the row
}

// A Candidate is a token that may come next.
type Candidate struct {
	ID      int     `json:"id"`
	LogProb float64 `json:"logprob"` // the model's own
	Prob    float64 `json:"prob"`    // after everything that was asked for
}

// FillNext completes the receipt of what may come next after logits [vocabulary], which has the
// model's digest, the prompt, the options, the files and the seed.
func (r *Receipt) FillNext(m *model.Model, logits []float32, all []Candidate) error {
	r.Formats, r.Arithmetic, r.Edits = chat.FormatsOf(m), engine.Arithmetic, m.Edits()
	sum := rowDigest(logits)
	r.Next = &Next{Candidates: all, Logits: hex.EncodeToString(sum[:])}
	return r.checkFiles()
}

// CompareNext returns an error if what may come next differs.
func (r *Receipt) CompareNext(want *Receipt) error {
	found, wanted := r.Next.Candidates, want.Next.Candidates
	for i, c := range found {
		if i >= len(wanted) {
			break
		}
		if c != wanted[i] {
			return fmt.Errorf("candidate %d of %d differs: id %d with probability %v, want id %d with %v",
				i, len(wanted), c.ID, c.Prob, wanted[i].ID, wanted[i].Prob)
		}
	}
	switch {
	case len(found) != len(wanted):
		return fmt.Errorf("candidates differ: %d, want %d", len(found), len(wanted))
	case r.Next.Logits != want.Next.Logits:
		return fmt.Errorf("logits differ: digest %s, want %s", r.Next.Logits,
			quote.Short(want.Next.Logits, 40))
	}
	return nil
}
