package eval

// Sums over the records of many texts.

import (
	"encoding/json"
	"math"

	"picogpt/kernels"
)

// A Summary adds up the records of many texts.
type Summary struct {
	Lines  int     // texts, with those that could not be scored
	Errors int     // those that could not be scored
	Tokens int     // with a log-probability
	Sum    float64 // of the log-probabilities, in nats
	Digest Digest
}

// summaryJSON is a Summary as JSON.
type summaryJSON struct {
	Lines      int      `json:"lines"`
	Errors     int      `json:"errors"`
	Tokens     int      `json:"tokens"`
	Sum        float64  `json:"sum_logprob"`
	Perplexity *float64 `json:"perplexity"`
	Digest     Digest   `json:"digest"`
}

// MarshalJSON writes one object, with the perplexity.
func (s Summary) MarshalJSON() ([]byte, error) {
	return json.Marshal(summaryJSON{s.Lines, s.Errors, s.Tokens, s.Sum, finite(s.Perplexity()),
		s.Digest})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Summary) UnmarshalJSON(b []byte) error {
	var j summaryJSON
	err := json.Unmarshal(b, &j)
	*s = Summary{j.Lines, j.Errors, j.Tokens, j.Sum, j.Digest}
	return err
}

// Add adds a text that was scored; Err counts one that was not. Sums are in the order of the calls.
func (s *Summary) Add(r *Record) error {
	s.Lines++
	for _, x := range r.LogProbs {
		if x != nil {
			s.Tokens++
		}
	}
	s.Sum += r.Sum
	return s.Digest.Add(r)
}

// Err counts a text that could not be scored.
func (s *Summary) Err() {
	s.Lines++
	s.Errors++
}

// Perplexity returns exp(−Sum/Tokens), or NaN if nothing is scored.
func (s *Summary) Perplexity() float64 {
	if s.Tokens == 0 {
		return math.NaN()
	}
	return kernels.Exp64(-s.Sum / float64(s.Tokens))
}
