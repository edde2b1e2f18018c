package textio

// Output in JSON: an object for each text, or for each token.

import (
	"io"

	"picogpt/decode"
	"picogpt/internal/lines"
	"picogpt/internal/strictjson"
	"picogpt/sample"
)

// A Form says which fields the objects of a run have.
type Form struct {
	lines.Form
	Begin func(*lines.Sample) // completes the object of a text that begins; may be nil
}

// Interrupted is the finish_reason of a text that Ctrl-C or an error ended.
const Interrupted = "interrupted"

// JSON returns a Printer of an object for each sample, once the sample is complete.
func JSON(out io.Writer, form Form, seed uint64, prompt []int) Printer {
	return inTurn(&jsonPrinter{out: out, form: form, seed: seed, prompt: prompt})
}

type jsonPrinter struct {
	out    io.Writer
	form   Form
	seed   uint64
	prompt []int
	now    *lines.Sample // nil between samples
}

func (p *jsonPrinter) Streams() bool { return false }

func (p *jsonPrinter) Token(t decode.Token) error {
	if p.now == nil {
		p.now = p.form.New(t.Sample, p.seed, p.prompt)
		if p.form.Begin != nil {
			p.form.Begin(p.now)
		}
	}
	if p.now.Add(t); t.Finish == "" {
		return nil
	}
	s := p.now
	p.now = nil
	return strictjson.Print(p.out, s)
}

func (p *jsonPrinter) Interrupt() error {
	if p.now == nil {
		return nil
	}
	s := p.now
	p.now = nil
	s.FinishReason = Interrupted
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
	Open         *float64              `json:"open,omitempty"`
	Dropped      int                   `json:"dropped"`
	FinishReason string                `json:"finish_reason,omitempty"`
}

// An interruption is the object that ends a sample in place of a token.
type interruption struct {
	Sample       int    `json:"sample"`
	Index        int    `json:"index"`
	FinishReason string `json:"finish_reason"`
}

// Events returns a Printer of an object for each token as it arrives. Samples that are generated
// together take turns.
func Events(out io.Writer, form Form) Printer { return &eventPrinter{out: out, form: form} }

type eventPrinter struct {
	out  io.Writer
	form Form
	open []interruption // of the samples in progress
}

func (p *eventPrinter) Streams() bool { return true }

func (p *eventPrinter) Token(t decode.Token) error {
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
	if p.form.Open {
		e.Open = &t.Open
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
		p.open = append(p.open, interruption{t.Sample, 0, Interrupted})
	}
	n := p.open[at].Index
	p.open[at].Index++
	if t.Finish != "" {
		p.open = append(p.open[:at], p.open[at+1:]...)
	}
	return n
}

func (p *eventPrinter) Interrupt() error {
	for _, sample := range p.open {
		if err := strictjson.Print(p.out, sample); err != nil {
			return err
		}
	}
	return nil
}
