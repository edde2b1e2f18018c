package main

// The forms of output of gpt generate that are JSON: an object for each text, or for each token.

import (
	"picogpt/decode"
	"picogpt/internal/process"
	"picogpt/internal/promptlines"
	"picogpt/internal/strictjson"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// A jsonForm says what the objects of a run have.
type jsonForm struct {
	promptlines.Form
	scores *searchScores // nil without a search
}

func (c *generateCommand) jsonForm(tok *tokenizer.Tokenizer, scores *searchScores) jsonForm {
	return jsonForm{promptlines.Form{Text: tok != nil, Top: c.LogProbs > 0}, scores}
}

// finishInterrupted is the finish_reason of a text that Ctrl-C or an error ended.
const finishInterrupted = "interrupted"

// A jsonPrinter prints an object for each sample when it is complete.
type jsonPrinter struct {
	out    *process.Output
	form   jsonForm
	seed   uint64
	prompt []int
	now    *promptlines.Sample // nil between samples
}

func (p *jsonPrinter) streams() bool { return false }

func (p *jsonPrinter) token(t decode.Token) error {
	if p.now == nil {
		p.now = p.form.New(t.Sample, p.seed, p.prompt)
		p.form.scores.begin(p.now, p.seed)
	}
	if p.now.Add(t); t.Finish == "" {
		return nil
	}
	s := p.now
	p.now = nil
	return strictjson.Print(p.out, s)
}

func (p *jsonPrinter) interrupt() error {
	if p.now == nil {
		return nil
	}
	s := p.now
	p.now = nil
	s.FinishReason = finishInterrupted
	return strictjson.Print(p.out, s)
}

// A jsonEvent is the object of one token.
type jsonEvent struct {
	Sample       int                   `json:"sample"`
	Index        int                   `json:"index"`
	ID           int                   `json:"id"`
	Text         *string               `json:"text"`
	LogProb      float64               `json:"logprob"`
	Top          *[]sample.Alternative `json:"top,omitempty"`
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
	out  *process.Output
	form jsonForm
	open []interruption // of the samples that have begun and go on
}

func (p *eventPrinter) streams() bool { return true }

func (p *eventPrinter) token(t decode.Token) error {
	e := jsonEvent{
		Sample: t.Sample, Index: p.index(t), ID: t.ID, LogProb: t.LogProb, Dropped: t.Dropped,
		FinishReason: t.Finish,
	}
	if p.form.Text {
		e.Text = &t.Text
	}
	if p.form.Top {
		e.Top = &t.Top
	}
	return strictjson.Print(p.out, e)
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
		if err := strictjson.Print(p.out, sample); err != nil {
			return err
		}
	}
	return nil
}
