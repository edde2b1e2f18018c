package grammar

// The rules of a GBNF grammar as a network.

import (
	"fmt"

	"picogpt/constrain/internal/automaton"
	"picogpt/internal/quote"
)

// A gbnfBuilder makes the nodes of a grammar. It builds each rule from its end to its beginning.
type gbnfBuilder struct {
	n      *automaton.Network
	meter  *automaton.Meter
	rules  map[string]gbnfChoice
	starts map[string]int32
}

// network returns the network of all rules, root first.
func (p *gbnf) network() (*automaton.Network, error) {
	n := automaton.NewNetwork(automaton.MaxNodes, p.meter)
	b := &gbnfBuilder{n: n, meter: p.meter, rules: p.rules, starts: map[string]int32{}}
	names := []string{"root"}
	for _, name := range p.order {
		if name != "root" {
			names = append(names, name)
		}
	}
	for _, name := range names {
		b.starts[name] = n.Split()
		n.Rule(name, b.starts[name])
	}
	for i, inner := range p.inners {
		name := fmt.Sprint("%", i)
		b.starts[name] = n.Split()
		n.Rule(name, b.starts[name])
		first, err := n.Add("regex", inner, n.End())
		if err != nil {
			return nil, err
		}
		n.Lead(b.starts[name], first)
	}
	for _, name := range names {
		more := b.choice(p.rules[name], n.End())
		if err := n.Check("rule " + quote.Plain(name, 40)); err != nil {
			return nil, err
		}
		n.Lead(b.starts[name], more...)
	}
	return n, nil
}

// choice returns the first nodes of the alternatives. Each alternative continues at to.
func (b *gbnfBuilder) choice(choice gbnfChoice, to int32) (more []int32) {
	for _, s := range choice {
		more = append(more, b.sequence(s, to))
	}
	return more
}

func (b *gbnfBuilder) sequence(s gbnfSequence, to int32) int32 {
	for i := len(s) - 1; i >= 0 && !b.n.Full(); i-- {
		to = b.repeat(&s[i], to)
	}
	return to
}

// repeat returns the first node of an item that comes from min to max times.
func (b *gbnfBuilder) repeat(item *gbnfItem, to int32) int32 {
	b.meter.Charge(8) // an item may have no nodes
	if item.max < 0 {
		loop := b.n.Split()
		body := b.item(item, loop)
		b.n.Lead(loop, body, to)
		to = loop
	}
	after := to
	for i := item.min; i < item.max && !b.n.Full(); i++ { // each of these is optional
		to = b.n.Split(b.item(item, to), after)
	}
	for i := 0; i < item.min && !b.n.Full(); i++ {
		to = b.item(item, to)
	}
	return to
}

// item returns the first node of an item that comes once.
func (b *gbnfBuilder) item(item *gbnfItem, to int32) int32 {
	switch item.kind {
	case gbnfText:
		for i := len(item.text) - 1; i >= 0; i-- {
			to = b.n.Read(automaton.SetOf(item.text[i]), to)
		}
		return to
	case gbnfSet:
		return b.n.Read(item.set, to)
	case gbnfRule:
		return b.n.Call(b.starts[item.rule], to)
	case gbnfToken:
		return b.n.Token(item.id, item.not, to)
	case gbnfSchema:
		return b.n.Form(item.form, to)
	}
	return b.n.Split(b.choice(item.group, to)...)
}
