package search

// A text of beam search, and the ids that may follow it.

import (
	"cmp"
	"slices"
	"strings"

	"picogpt/decode"
	"picogpt/sample"
)

// A Beam is a text of a search. The beams that [Beams] returns have ended.
type Beam struct {
	Tokens []decode.Token // the last one has a Finish; Sample is the rank of the text, from 0
	Score  float64        // set when it has ended

	// While it runs:
	stream *decode.Stream
	place  int     // rank among the running beams
	sum    float64 // of the log-probabilities that the search uses

	// In a step:
	row        sample.Row   // the logits after its last token, all of them
	logProbs   []float32    // log-softmax of the logits, [vocabulary], which processors change
	candidates []candidate  // the ids after it that the step may consider
	after      sample.State // of the sampler, the same after each of them
	err        error
}

// Text returns the text of the tokens, "" without an Options.Vocabulary.
func (b Beam) Text() string {
	var text strings.Builder
	for _, t := range b.Tokens {
		text.WriteString(t.Text)
	}
	return text.String()
}

// last returns the newest token.
func (b *Beam) last() decode.Token { return b.Tokens[len(b.Tokens)-1] }

// follow returns a beam with one more id, with the top likeliest ids beside it.
func (b *Beam) follow(c candidate, top int) (*Beam, error) {
	f := &Beam{stream: b.stream.Fork(), sum: c.sum}
	t, err := f.stream.Take(b.row.Candidate(c.id, top, b.after))
	if err != nil {
		f.stream.Release()
		return nil, err
	}
	f.Tokens = append(slices.Clone(b.Tokens), t)
	return f, nil
}

// reuse takes the memory of a beam that no longer runs.
func (b *Beam) reuse(old *Beam) {
	b.row, b.logProbs, b.candidates = old.row, old.logProbs, old.candidates
}

// A candidate is an id that may follow a beam.
type candidate struct {
	beam *Beam
	id   int
	sum  float64 // of the beam and the id
}

// better orders candidates: the greater sum first, then the better beam, then the lower id.
func better(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.beam.place, b.beam.place),
		cmp.Compare(a.id, b.id))
}
