package grammar

// The pieces of a sequence in GBNF: literals, classes, tokens, groups, other forms and repetitions.

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"

	"picogpt/constrain/internal/automaton"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

func (p *gbnf) literal() (gbnfPiece, error) {
	var text []rune
	for p.at++; p.next() != '"'; {
		r, err := p.char()
		if err != nil {
			return nil, err
		}
		text = append(text, r)
	}
	p.at++
	return func(to int32) int32 {
		for i := len(text) - 1; i >= 0 && !p.n.Full(); i-- {
			to = p.n.Read(automaton.SetOf(text[i]), to)
		}
		return to
	}, nil
}

func (p *gbnf) class() (gbnfPiece, error) {
	p.at++
	not := p.next() == '^'
	if not {
		p.at++
	}
	var ranges []automaton.Range
	for p.next() != ']' {
		lo, err := p.char()
		if err != nil {
			return nil, err
		}
		hi := lo
		if p.next() == '-' && p.at+1 < len(p.text) && p.text[p.at+1] != ']' {
			p.at++
			if hi, err = p.char(); err != nil {
				return nil, err
			}
		}
		ranges = append(ranges, automaton.Range{Lo: lo, Hi: hi})
	}
	p.at++
	set := automaton.NormalSet(ranges)
	if not {
		set = set.Not()
	}
	return p.set(set), nil
}

// char reads a character of a literal or a class.
func (p *gbnf) char() (rune, error) {
	if p.at >= len(p.text) {
		return 0, fmt.Errorf("want a character, found the end")
	}
	if p.text[p.at] != '\\' {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += size
		return r, nil
	}
	from := p.at
	p.at++
	c := p.next()
	p.at++
	switch c {
	case 't':
		return '\t', nil
	case 'r':
		return '\r', nil
	case 'n':
		return '\n', nil
	case '\\', '"', '[', ']':
		return rune(c), nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits > 0 && p.at+digits <= len(p.text) {
		v, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
		if err == nil && v <= unicode.MaxRune {
			p.at += digits
			return rune(v), nil
		}
	}
	p.at = min(from, len(p.text))
	return 0, fmt.Errorf("want an escape (\\n \\r \\t \\\\ \\\" \\[ \\] \\xXX \\uXXXX \\UXXXXXXXX), "+
		"found %s", p.found())
}

// token reads <[id]> or <text>, with an optional ! before it.
func (p *gbnf) token() (gbnfPiece, error) {
	not := p.next() == '!'
	if not {
		p.at++
	}
	from := p.at
	if p.next() != '<' {
		return nil, fmt.Errorf("want < after !, found %s", p.found())
	}
	for p.next() != '>' {
		if p.at >= len(p.text) || p.next() == '\n' {
			p.at = from
			return nil, fmt.Errorf("want > after %s", p.found())
		}
		p.at++
	}
	p.at++
	name := p.text[from:p.at]
	if len(name) > 4 && name[1] == '[' && name[len(name)-2] == ']' {
		id, err := strconv.ParseUint(name[2:len(name)-2], 10, 31)
		if err != nil || int(id) >= p.vocab.Size {
			return nil, fmt.Errorf("token %s: want ids below %d", quote.Short(name, 40), p.vocab.Size)
		}
		return func(to int32) int32 { return p.n.Token(int(id), not, to) }, nil
	}
	id, ok := p.vocab.Find(name)
	if !ok {
		return nil, fmt.Errorf("%s is not one token of the vocabulary", quote.Short(name, 40))
	}
	return func(to int32) int32 { return p.n.Token(id, not, to) }, nil
}

func (p *gbnf) group() (gbnfPiece, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, fmt.Errorf("more than %d groups in groups", maxNesting)
	}
	p.at++
	p.space(true)
	choice, err := p.choice(true)
	if err != nil {
		return nil, err
	}
	if p.next() != ')' {
		return nil, fmt.Errorf("want ), found %s", p.found())
	}
	p.at++
	p.depth--
	return func(to int32) int32 { return p.n.Split(ways(choice, to)...) }, nil
}

// repetition reads * + ? {m} {m,} or {m,n}, and returns a piece so many times.
func (p *gbnf) repetition(one gbnfPiece, nested bool) (gbnfPiece, error) {
	least, most := 0, -1
	c := p.next()
	p.at++
	switch c {
	case '+':
		least = 1
	case '?':
		most = 1
	case '{':
		var err error
		if least, most, err = p.counts(nested); err != nil {
			return nil, err
		}
	}
	return func(to int32) int32 {
		if most < 0 {
			loop := p.n.Split()
			p.n.Lead(loop, one(loop), to)
			to = loop
		}
		after := to
		for i := least; i < most && !p.n.Full(); i++ { // each of these is optional
			to = p.n.Split(one(to), after)
		}
		for i := 0; i < least && !p.n.Full(); i++ {
			to = one(to)
		}
		return to
	}, nil
}

func (p *gbnf) counts(nested bool) (least, most int, err error) {
	p.space(nested)
	if least, err = p.number(); err != nil {
		return 0, 0, err
	}
	p.space(nested)
	most = least
	if p.next() == ',' {
		p.at++
		p.space(nested)
		most = -1
		if c := p.next(); c >= '0' && c <= '9' {
			if most, err = p.number(); err != nil {
				return 0, 0, err
			}
		}
		p.space(nested)
	}
	if p.next() != '}' {
		return 0, 0, fmt.Errorf("want }, found %s", p.found())
	}
	p.at++
	if most >= 0 && most < least {
		return 0, 0, fmt.Errorf("repetition {%d,%d}: want the smaller number first", least, most)
	}
	return least, most, nil
}

func (p *gbnf) number() (int, error) {
	from := p.at
	for c := p.next(); c >= '0' && c <= '9'; c = p.next() {
		p.at++
	}
	n, err := strconv.Atoi(p.text[from:p.at])
	if err != nil || n > MostRepeats {
		p.at = from
		return 0, fmt.Errorf("want a number of repetitions from 0 to %d, found %s", MostRepeats,
			p.found())
	}
	return n, nil
}

// inner reads %json with a schema, or %regex with a regex between slashes.
func (p *gbnf) inner() (gbnfPiece, error) {
	p.at++
	from := p.at
	name := p.name()
	p.space(false)
	switch {
	case name == "json":
		rest := strictjson.NewReader(p.text[p.at:])
		if err := p.meter.Charge(rest.Left() / 128); err != nil { // which are copied
			return nil, err
		}
		value, err := rest.Raw()
		if err != nil {
			return nil, fmt.Errorf("want a JSON Schema after %%json: %w", err)
		}
		form, err := p.schema(value.Text())
		if err != nil {
			return nil, err
		}
		p.at = len(p.text) - rest.Left()
		return func(to int32) int32 { return p.n.Form(form, to) }, nil
	case name == "regex" && p.next() == '/':
		from = p.at + 1
		for p.at = from; p.next() != '/'; p.at++ {
			if p.next() == '\\' {
				p.at++
			}
			if c := p.next(); c == '\n' || c == 0 {
				return nil, fmt.Errorf("want a / at the end of the regex, found the end of the line")
			}
		}
		n, err := automaton.Regex("regex", p.text[from:p.at], p.meter)
		if err != nil {
			return nil, err
		}
		p.at++
		start := p.n.Split()
		p.inners = append(p.inners, start)
		first, err := p.n.Add("regex", n, p.n.End())
		if err != nil {
			return nil, err
		}
		p.n.Lead(start, first)
		return func(to int32) int32 { return p.n.Call(start, to) }, nil
	}
	p.at = from
	return nil, fmt.Errorf("want json and a schema, or regex and /, after %%; found %s", p.found())
}
