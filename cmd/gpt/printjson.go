package main

// The forms of output of gpt generate that are JSON: an object for each text, or for each token.

import (
	"picogpt/decode"
	"picogpt/tokenizer"
)

// A jsonForm says what the objects of a run have.
type jsonForm struct {
	text bool // the texts of tokens are known
	top  bool // --logprobs was given

	scores *searchScores // nil without a search
}

func (c *generateCommand) jsonForm(tok *tokenizer.Tokenizer, scores *searchScores) jsonForm {
	return jsonForm{text: tok != nil, top: c.LogProbs > 0, scores: scores}
}

// A jsonSample is the object of one text.
type jsonSample struct {
	Sample       int                     `json:"sample"`
	Seed         uint64                  `json:"seed"`
	PromptIDs    []int                   `json:"prompt_ids"`
	IDs          []int                   `json:"ids"`
	Text         *string                 `json:"text"`
	LogProbs     []float64               `json:"logprobs"`
	Top          *[][]decode.Alternative `json:"top,omitempty"`
	Score        *float64                `json:"score,omitempty"`
	Scores       *[]float64              `json:"scores,omitempty"` // of contrastive search
	Dropped      int                     `json:"dropped"`
	FinishReason string                  `json:"finish_reason"`
}

// newSample begins the object of a sample.
func (f jsonForm) newSample(sample int, seed uint64, prompt []int) *jsonSample {
	s := &jsonSample{
		Sample: sample, Seed: seed + uint64(sample), PromptIDs: append([]int{}, prompt...),
		IDs: []int{}, LogProbs: []float64{},
	}
	if f.text {
		s.Text = new(string)
	}
	if f.top {
		s.Top = &[][]decode.Alternative{}
	}
	f.scores.begin(s, seed)
	return s
}

// add adds a token. The one that ends the text with <|endoftext|> is not among the ids.
func (s *jsonSample) add(t decode.Token) {
	if t.Finish != decode.FinishEndOfText {
		s.IDs = append(s.IDs, t.ID)
		s.LogProbs = append(s.LogProbs, t.LogProb)
		if s.Top != nil {
			*s.Top = append(*s.Top, t.Top)
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

// finishInterrupted is the finish_reason of a text that Ctrl-C or an error ended.
const finishInterrupted = "interrupted"

// A jsonPrinter prints an object for each sample when it is complete.
type jsonPrinter struct {
	out    *output
	form   jsonForm
	seed   uint64
	prompt []int
	now    *jsonSample // nil between samples
}

func (p *jsonPrinter) streams() bool { return false }

func (p *jsonPrinter) token(t decode.Token) error {
	if p.now == nil {
		p.now = p.form.newSample(t.Sample, p.seed, p.prompt)
	}
	if p.now.add(t); t.Finish == "" {
		return nil
	}
	s := p.now
	p.now = nil
	return printJSON(p.out, s)
}

func (p *jsonPrinter) interrupt() error {
	if p.now == nil {
		return nil
	}
	s := p.now
	p.now = nil
	s.FinishReason = finishInterrupted
	return printJSON(p.out, s)
}

// A jsonEvent is the object of one token.
type jsonEvent struct {
	Sample       int                   `json:"sample"`
	Index        int                   `json:"index"`
	ID           int                   `json:"id"`
	Text         *string               `json:"text"`
	LogProb      float64               `json:"logprob"`
	Top          *[]decode.Alternative `json:"top,omitempty"`
	Dropped      int                   `json:"dropped"`
	FinishReason string                `json:"finish_reason,omitempty"`
}

// An interruption is the object that ends a sample in place of a token.
type interruption struct {
	Sample       int    `json:"sample"`
	Index        int    `json:"index"`
	FinishReason string `json:"finish_reason"`
}

// An eventPrinter prints an object for each token as it comes. Samples that are made side by side
// take turns.
type eventPrinter struct {
	out  *output
	form jsonForm
	open []interruption // of the samples that have begun and go on
}

func (p *eventPrinter) streams() bool { return true }

func (p *eventPrinter) token(t decode.Token) error {
	e := jsonEvent{
		Sample: t.Sample, Index: p.index(t), ID: t.ID, LogProb: t.LogProb, Dropped: t.Dropped,
		FinishReason: t.Finish,
	}
	if p.form.text {
		e.Text = &t.Text
	}
	if p.form.top {
		e.Top = &t.Top
	}
	return printJSON(p.out, e)
}

// index returns the number of a token in its sample, from 0.
func (p *eventPrinter) index(t decode.Token) int {
	at := 0
	for at < len(p.open) && p.open[at].Sample != t.Sample {
		at++
	}
	if at == len(p.open) {
		p.open = append(p.open, interruption{t.Sample, 0, finishInterrupted})
	}
	n := p.open[at].Index
	p.open[at].Index++
	if t.Finish != "" {
		p.open = append(p.open[:at], p.open[at+1:]...)
	}
	return n
}

func (p *eventPrinter) interrupt() error {
	for _, sample := range p.open {
		if err := printJSON(p.out, sample); err != nil {
			return err
		}
	}
	return nil
}
