package lines

// Texts as objects of JSON.

import (
	"encoding/json"
	"iter"

	"picogpt/decode"
	"picogpt/sample"
)

// A TextRecord is the JSON object of a text that continues a row's prompt.
type TextRecord struct {
	Source string          `json:"source,omitempty"`
	Line   int             `json:"line"`
	ID     json.RawMessage `json:"id,omitempty"`
	*Sample
}

// A Sample is the JSON object of one text. It has no seed where nothing is random: the options
// alone give the same text again.
type Sample struct {
	Sample       int                     `json:"sample"`
	Seed         uint64                  `json:"seed"`
	PromptIDs    []int                   `json:"prompt_ids"`
	IDs          []int                   `json:"ids"`
	Text         *string                 `json:"text"`
	LogProbs     []float64               `json:"logprobs"`
	Top          *[][]sample.Alternative `json:"top,omitempty"`
	Open         *[]float64              `json:"open,omitempty"` // under a form
	Score        *float64                `json:"score,omitempty"`
	Scores       *[]float64              `json:"scores,omitempty"` // of contrastive search
	Dropped      int                     `json:"dropped"`
	FinishReason string                  `json:"finish_reason"`
}

// A Form says which fields the objects of a run have.
type Form struct {
	Text bool // the texts of tokens
	Top  bool // alternatives of tokens
	Open bool // the mass that a form leaves open
}

// New returns the object of a sample, given the seed of the first sample. It keeps the prompt.
func (f Form) New(index int, seed uint64, prompt []int) *Sample {
	s := &Sample{
		Sample: index, Seed: seed + uint64(index), PromptIDs: prompt,
		IDs: []int{}, LogProbs: []float64{},
	}
	if prompt == nil {
		s.PromptIDs = []int{}
	}
	if f.Text {
		s.Text = new(string)
	}
	if f.Top {
		s.Top = &[][]sample.Alternative{}
	}
	if f.Open {
		s.Open = &[]float64{}
	}
	return s
}

// Add adds a token. The token that ends the text as <|endoftext|> is not among the ids.
func (s *Sample) Add(t decode.Token) {
	if t.Finish != decode.FinishEndOfText {
		s.IDs = append(s.IDs, t.ID)
		s.LogProbs = append(s.LogProbs, t.LogProb)
		if s.Top != nil {
			*s.Top = append(*s.Top, t.Top)
		}
		if s.Open != nil {
			*s.Open = append(*s.Open, t.Open)
		}
		if s.Scores != nil {
			*s.Scores = append(*s.Scores, t.Score)
		}
	}
	if s.Scores != nil {
		*s.Score += t.Score
	}
	if s.Text != nil {
		*s.Text += t.Text
	}
	s.Dropped += t.Dropped
	s.FinishReason = t.Finish
}

// Collect returns the objects of n samples from their tokens, which may come in any order.
func (f Form) Collect(
	tokens iter.Seq2[decode.Token, error], n int, seed uint64, prompt []int,
) ([]*Sample, error) {
	samples := make([]*Sample, n)
	for i := range samples {
		samples[i] = f.New(i, seed, prompt)
	}
	for t, err := range tokens {
		if err != nil {
			return nil, err
		}
		samples[t.Sample].Add(t)
	}
	return samples, nil
}
