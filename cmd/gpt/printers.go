package main

// The forms of output of gpt generate. JSON is in printjson.go.

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"picogpt/decode"
	"picogpt/internal/process"
	"picogpt/internal/strictjson"
	"picogpt/tokenizer"
)

// A printer prints the tokens of some samples.
type printer interface {
	token(t decode.Token) error
	interrupt() error // the samples that were begun go no further
	streams() bool    // tokens show as they come
}

// printer makes the printer for --output. tok may be nil, if the ids are there.
func (c *generateCommand) printer(
	a *app, tok *tokenizer.Tokenizer, p prompt, seed uint64, scores *searchScores,
) (printer, error) {
	form := c.Output
	if form == "auto" && tok == nil {
		form = "ids"
	}
	switch form {
	case "json":
		return inTurn(&jsonPrinter{
			out: a.stdout, form: c.jsonForm(tok, scores), seed: seed, prompt: p.ids,
		}), nil
	case "events":
		return &eventPrinter{out: a.stdout, form: c.jsonForm(tok, scores)}, nil
	case "ids":
		if c.NoDisplayPrompt {
			p.ids = nil
		}
		return inTurn(&idsPrinter{out: a.stdout, prompt: p.ids}), nil
	}
	text := p.text
	if !p.asText {
		var err error
		if text, err = tok.Decode(p.ids); err != nil {
			return nil, err
		}
	}
	if c.NoDisplayPrompt {
		text, p.printed = "", 0
	}
	return inTurn(&textPrinter{out: a.stdout, prompt: text, printed: p.printed}), nil
}

// A textPrinter prints the prompt, the text as it comes and a newline; a line --- between samples.
type textPrinter struct {
	out     *process.Output
	prompt  string
	printed int  // bytes of the first text that are printed already
	inside  bool // a sample
}

func (p *textPrinter) streams() bool { return true }

func (p *textPrinter) token(t decode.Token) error {
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

func (p *textPrinter) interrupt() error {
	if !p.inside {
		return nil
	}
	_, err := p.out.WriteString("\n")
	return err
}

// An idsPrinter prints an array of ids for each sample, an id as it comes.
type idsPrinter struct {
	out    *process.Output
	prompt []int
	inside bool
	comma  bool
}

func (p *idsPrinter) streams() bool { return true }

func (p *idsPrinter) token(t decode.Token) error {
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

func (p *idsPrinter) interrupt() error {
	if !p.inside {
		return nil
	}
	_, err := p.out.WriteString("]\n")
	return err
}

// inTurn makes a printer that is given the samples one after another.
func inTurn(p printer) printer { return &ordered{p, inOrder{print: p.token}} }

type ordered struct {
	printer
	order inOrder
}

func (o *ordered) token(t decode.Token) error { return o.order.push(t) }
func (o *ordered) interrupt() error           { return o.order.interrupt(o.printer) }

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
func (o *inOrder) interrupt(p printer) error {
	err := p.interrupt()
	for o.now++; err == nil && !p.streams() && len(o.waiting[o.now]) > 0; o.now++ {
		for _, t := range o.waiting[o.now] {
			if err = p.token(t); err != nil {
				return err
			}
		}
		err = p.interrupt()
	}
	return err
}

// stream prints texts as they come, in the order of the samples, then what was dropped and how long
// it took. Ctrl-C cancels once there is something to print; before, it just ends the process.
func (a *app) stream(
	tokens iter.Seq2[decode.Token, error], cancel context.CancelFunc, t *timing, p printer,
) (err error) {
	defer a.ShowProgress(t.label)()
	for token, failed := range tokens {
		if err = failed; err != nil {
			a.EndProgress()
			err = errors.Join(p.interrupt(), overflowHint(err))
			break
		}
		if t.count(token) == 1 {
			a.SetCancel(cancel)
			defer a.SetCancel(nil)
			if p.streams() && a.stdout.Terminal {
				a.EndProgress()
			}
		}
		if err = p.token(token); err != nil {
			break
		}
	}
	a.EndProgress()
	if !errors.Is(err, process.ErrClosedPipe) {
		t.log(a)
	}
	return err
}
