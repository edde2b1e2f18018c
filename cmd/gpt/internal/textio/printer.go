// Package textio reads prompts and prints texts on a terminal or in a pipe: it encodes prompts
// while it reads them, and prints texts as their tokens arrive.
package textio

import (
	"bytes"
	"io"

	"picogpt/decode"
	"picogpt/internal/strictjson"
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
