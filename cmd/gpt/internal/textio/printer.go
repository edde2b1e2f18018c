// Package textio reads prompts and prints texts on a terminal or in a pipe: it encodes prompts
// while it reads them, and prints texts as their tokens arrive.
package textio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"picogpt/decode"
	"picogpt/internal/lines"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/sample"
)

// A Printer prints the tokens of some samples.
type Printer interface {
	Token(t decode.Token) error
	Interrupt() error // ends the samples in progress
	Streams() bool    // tokens are printed as they arrive
}

// Text returns a Printer of the prompt, the text as it arrives and a newline, with a line ---
// between samples. The first printed bytes of the first text are printed already.
func Text(out io.Writer, prompt string, printed int) Printer {
	return inTurn(&textPrinter{out: out, prompt: prompt, printed: printed})
}

type textPrinter struct {
	out     io.Writer
	prompt  string
	printed int  // bytes of the first text that are printed already
	inside  bool // a sample
}

func (p *textPrinter) Streams() bool { return true }

func (p *textPrinter) Token(t decode.Token) error {
	var b []byte
	if !p.inside {
		if p.inside = true; t.Sample > 0 {
			b = append(b, "---\n"...)
		}
		b = append(b, p.prompt...)
	}
	n := min(p.printed, len(t.Text))
	p.printed -= n
	b = append(b, t.Text[n:]...)
	if t.Finish != "" {
		p.inside = false
		b = append(b, '\n')
	}
	_, err := p.out.Write(b)
	return err
}

func (p *textPrinter) Interrupt() error {
	if !p.inside {
		return nil
	}
	_, err := io.WriteString(p.out, "\n")
	return err
}

// IDs returns a Printer of an array of ids for each sample: the prompt's, then each id as it
// arrives.
func IDs(out io.Writer, prompt []int) Printer {
	return inTurn(&idsPrinter{out: out, prompt: prompt})
}

type idsPrinter struct {
	out    io.Writer
	prompt []int
	inside bool
	comma  bool
}

func (p *idsPrinter) Streams() bool { return true }

func (p *idsPrinter) Token(t decode.Token) error {
	var b []byte
	if !p.inside {
		b = bytes.TrimSuffix(strictjson.AppendIDs(b, p.prompt), []byte("]"))
		p.inside, p.comma = true, len(p.prompt) > 0
	}
	if t.Finish != decode.FinishEndOfText {
		one := strictjson.AppendIDs(nil, []int{t.ID})
		if p.comma {
			b = append(b, ',')
		}
		b = append(b, one[1:len(one)-1]...)
		p.comma = true
	}
	if t.Finish != "" {
		p.inside = false
		b = append(b, "]\n"...)
	}
	_, err := p.out.Write(b)
	return err
}

func (p *idsPrinter) Interrupt() error {
	if !p.inside {
		return nil
	}
	_, err := io.WriteString(p.out, "]\n")
	return err
}

// Output in JSON: an object for each text, or for each token.

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

// Samples that are made side by side, printed one after another.

// inTurn makes a printer that is given the samples one after another.
func inTurn(p Printer) Printer { return &ordered{p, inOrder{print: p.Token}} }

type ordered struct {
	Printer
	order inOrder
}

func (o *ordered) Token(t decode.Token) error { return o.order.push(t) }
func (o *ordered) Interrupt() error           { return o.order.interrupt(o.Printer) }

// inOrder hands on the tokens of several samples that are made side by side, one sample after
// another.
type inOrder struct {
	print   func(decode.Token) error
	now     int
	waiting map[int][]decode.Token // of later samples
}

func (o *inOrder) push(t decode.Token) error {
	if t.Sample != o.now {
		if o.waiting == nil {
			o.waiting = map[int][]decode.Token{}
		}
		o.waiting[t.Sample] = append(o.waiting[t.Sample], t)
		return nil
	}
	if err := o.print(t); err != nil || t.Finish == "" {
		return err
	}
	o.now++
	early := o.waiting[o.now]
	delete(o.waiting, o.now)
	for _, t := range early {
		if err := o.push(t); err != nil {
			return err
		}
	}
	return nil
}

// interrupt ends the sample that is being printed and, where samples are printed whole, the ones
// after it.
func (o *inOrder) interrupt(p Printer) error {
	err := p.Interrupt()
	for o.now++; err == nil && !p.Streams() && len(o.waiting[o.now]) > 0; o.now++ {
		for _, t := range o.waiting[o.now] {
			if err = p.Token(t); err != nil {
				return err
			}
		}
		err = p.Interrupt()
	}
	return err
}

// Where no token is left to choose: the error names the flags that took them.

// ByFlags is an error that names flags where no token is left to choose. forms are the flags that
// constrain.
func ByFlags(err error, forms []string) error {
	if short, ok := errors.AsType[*decode.BudgetError](err); ok && len(forms) > 0 {
		found := "the context has room for"
		if short.Sent {
			found = "--max-tokens allows"
		}
		return fmt.Errorf("%s needs more than the %s that %s: %d are enough", forms[0],
			quote.Count(short.Tokens, "token"), found, short.Least)
	}
	var none *sample.NoIDError
	if !errors.As(err, &none) {
		return err
	}
	after := fmt.Sprintf("after %s no token is left to choose", quote.Count(none.Position+1, "token"))
	var flags []string
	for _, step := range none.Took {
		switch step {
		case "vocabulary": // which leaves some
		case "constraint":
			flags = append(flags, forms...)
		default:
			flags = append(flags, "--"+step)
		}
	}
	switch last := len(flags) - 1; last {
	case -1:
		return errors.New(after)
	case 0:
		return fmt.Errorf("%s: %s allows none", after, flags[0])
	default:
		return fmt.Errorf("%s: %s and %s together allow none", after,
			strings.Join(flags[:last], ", "), flags[last])
	}
}
