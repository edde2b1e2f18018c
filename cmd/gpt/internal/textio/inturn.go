package textio

// Samples that are made side by side, printed one after another.

import "picogpt/decode"

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
