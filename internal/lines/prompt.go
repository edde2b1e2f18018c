// Package lines is what a row of a file asks for, and what is answered as a line of JSON: prompts
// that texts continue ([PromptReader], [Sample], [TextRecord]), and texts that are scored
// ([RequestReader], [ScoreRecord]). The command and module picogpt/x/corpus share it.
package lines

// Prompts from objects and texts, and the texts that continue them as objects of JSON.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"picogpt/decode"
	"picogpt/internal/option"
	"picogpt/internal/rows"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// A PromptReader says how objects and texts become prompts.
type PromptReader struct {
	TextField string               // the field of the prompt; "": prompt, or tokens
	Tokenizer *tokenizer.Tokenizer // nil if there is none
	Missing   error                // the error where a text needs one
	Special   bool                 // reads special tokens in a text as such
	Table     bool                 // rows are of a table, whose fields are texts
}

// A Prompt is the prompt of a row.
type Prompt struct {
	Text *string // nil if ids were given
	IDs  []int
	Seed *uint64 // nil if the row has none
}

// Row returns the prompt of a row in a form of rows.Reader. There is none where a line that should
// have an object is empty.
func (in *PromptReader) Row(form string, w rows.Row) (p Prompt, is bool, err error) {
	switch {
	case w.Err != nil:
		return p, true, w.Err
	case form == "lines":
		p, err = in.Of(w.Text)
	case w.Object == nil:
		return p, false, nil
	default:
		p, err = in.Object(w.Object)
	}
	return p, true, err
}

// Object returns the prompt of an object: its field prompt, or tokens, and its seed if it has one.
func (in *PromptReader) Object(o rows.Object) (Prompt, error) {
	text, errText := o.Text(cmp.Or(in.TextField, "prompt"))
	var tokens []int
	var errTokens error
	if in.TextField == "" && !in.Table {
		tokens, errTokens = rows.List[int](o, "tokens", "whole numbers")
	}
	seed, errSeed := in.seedOf(o)
	if err := cmp.Or(errText, errTokens, errSeed); err != nil {
		return Prompt{}, err
	}
	var p Prompt
	var err error
	switch {
	case text == nil && in.TextField != "":
		return p, fmt.Errorf("want %s", in.TextField)
	case text == nil && in.Table:
		return p, errors.New("want a column prompt")
	case text != nil && tokens != nil, text == nil && tokens == nil:
		return p, errors.New("want prompt, or tokens")
	case tokens != nil:
		p.IDs = tokens
	default:
		p, err = in.Of(*text)
	}
	p.Seed = seed
	return p, err
}

// Of returns a text as a prompt. An empty text has no ids, and needs no tokenizer.
func (in *PromptReader) Of(text string) (Prompt, error) {
	p := Prompt{Text: &text}
	switch {
	case text == "":
		return p, nil
	case in.Tokenizer == nil:
		return p, in.Missing
	}
	t := in.Tokenizer.ForPrompts()
	if in.Special {
		t = t.WithSpecial()
	}
	var err error
	p.IDs, err = t.Encode(text)
	return p, err
}

// seedOf returns an object's own seed, nil if it has none.
func (in *PromptReader) seedOf(o rows.Object) (*uint64, error) {
	v := string(o.Get("seed"))
	if in.Table {
		v = strings.Trim(v, `"`)
	}
	if v == "" || v == "null" {
		return nil, nil
	}
	seed, err := option.ParseSeed(v, 10)
	if err != nil {
		return nil, errors.New("seed: want " + option.WantSeed)
	}
	return &seed, nil
}

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
