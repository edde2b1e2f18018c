package grammar

// The pieces of a sequence in GBNF: literals, classes, tokens, groups, other forms and repetitions.

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"picogpt/constrain/internal/automaton"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

func (p *gbnf) literal() gbnfPiece {
	var text []rune
	for p.take(`"`); p.next() != '"' && p.err == nil; {
		text = append(text, p.char())
	}
	p.take(`"`)
	return func(to int32) int32 {
		for i := len(text) - 1; i >= 0 && !p.n.Full(); i-- {
			to = p.n.Read(automaton.SetOf(text[i]), to)
		}
		return to
	}
}

func (p *gbnf) class() gbnfPiece {
	p.take("[")
	not := p.take("^")
	var ranges []automaton.Range
	for p.next() != ']' && p.err == nil {
		lo := p.char()
		hi := lo
		if p.next() == '-' && !strings.HasPrefix(p.text[p.at:], "-]") && p.at+1 < len(p.text) {
			p.at++
			hi = p.char()
		}
		ranges = append(ranges, automaton.Range{Lo: lo, Hi: hi})
	}
	p.take("]")
	set := automaton.NormalSet(ranges)
	if not {
		set = set.Not()
	}
	return p.set(set)
}

// escapes are the characters that one letter after a backslash stands for.
var escapes = map[byte]rune{'t': '\t', 'r': '\r', 'n': '\n', '\\': '\\', '"': '"', '[': '[', ']': ']'}

// char reads a character of a literal or a class.
func (p *gbnf) char() rune {
	if p.at >= len(p.text) {
		p.want("want a character")
		return 0
	}
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	if r != '\\' {
		p.at += size
		return r
	}
	p.at++
	c := p.next()
	if r, ok := escapes[c]; ok {
		p.at++
		return r
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits > 0 && p.at+digits < len(p.text) {
		v, err := strconv.ParseUint(p.text[p.at+1:p.at+1+digits], 16, 32)
		if err == nil && v <= unicode.MaxRune {
			p.at += 1 + digits
			return rune(v)
		}
	}
	p.at--
	p.want(`want an escape (\n \r \t \\ \" \[ \] \xXX \uXXXX \UXXXXXXXX)`)
	return 0
}

// token reads <[id]> or <text>, with an optional ! before it.
func (p *gbnf) token() gbnfPiece {
	not := p.take("!")
	if p.next() != '<' {
		p.want("want < after !")
	}
	end := strings.IndexAny(p.text[p.at:], ">\n")
	if end < 0 || p.text[p.at+end] != '>' {
		p.fail(fmt.Errorf("want > after %s", p.found()))
		return nil
	}
	name := p.text[p.at : p.at+end+1]
	p.take(name)
	id, ok := p.vocab.Find(name)
	if len(name) > 4 && name[1] == '[' && name[len(name)-2] == ']' {
		n, err := strconv.ParseUint(name[2:len(name)-2], 10, 31)
		if id, ok = int(n), true; err != nil || id >= p.vocab.Size {
			p.fail(fmt.Errorf("token %s: want ids below %d", quote.Short(name, 40), p.vocab.Size))
		}
	}
	if !ok {
		p.fail(fmt.Errorf("%s is not one token of the vocabulary", quote.Short(name, 40)))
	}
	return func(to int32) int32 { return p.n.Token(id, not, to) }
}

func (p *gbnf) group() gbnfPiece {
	if p.depth++; p.depth > maxNesting {
		p.fail(fmt.Errorf("more than %d groups in groups", maxNesting))
	}
	p.take("(")
	p.space(true)
	choice := p.choice(true)
	if !p.take(")") {
		p.want("want )")
	}
	p.depth--
	return func(to int32) int32 { return p.n.Split(ways(choice, to)...) }
}

// repetition reads * + ? {m} {m,} or {m,n}, and returns a piece so many times.
func (p *gbnf) repetition(one gbnfPiece, nested bool) gbnfPiece {
	least, most := 0, -1
	switch {
	case p.take("*"):
	case p.take("+"):
		least = 1
	case p.take("?"):
		most = 1
	case p.take("{"):
		least, most = p.counts(nested)
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
	}
}

func (p *gbnf) counts(nested bool) (least, most int) {
	p.space(nested)
	least = p.number()
	p.space(nested)
	most = least
	if p.take(",") {
		p.space(nested)
		most = -1
		if c := p.next(); c >= '0' && c <= '9' {
			most = p.number()
		}
		p.space(nested)
	}
	if !p.take("}") {
		p.want("want }")
	}
	if most >= 0 && most < least {
		p.fail(fmt.Errorf("repetition {%d,%d}: want the smaller number first", least, most))
	}
	return least, most
}

func (p *gbnf) number() int {
	digits := p.text[p.at:]
	digits = digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))]
	n, err := strconv.Atoi(digits)
	if err != nil || n > MostRepeats {
		p.want("want a number of repetitions from 0 to %d", MostRepeats)
	}
	p.take(digits)
	return n
}

// inner reads %json with a schema, or %regex with a regex between slashes.
func (p *gbnf) inner() gbnfPiece {
	p.take("%")
	from := p.at
	name := p.name()
	p.space(false)
	switch {
	case name == "json":
		return p.json()
	case name == "regex" && p.take("/"):
		return p.regex()
	}
	p.at = from
	p.fail(fmt.Errorf("want json and a schema, or regex and /, after %%; found %s", p.found()))
	return nil
}

func (p *gbnf) json() gbnfPiece {
	rest := strictjson.NewReader(p.text[p.at:])
	p.fail(p.meter.Charge(rest.Left() / 128)) // which are copied
	value, err := rest.Raw()
	if err != nil {
		p.fail(fmt.Errorf("want a JSON Schema after %%json: %w", err))
		return nil
	}
	form, err := p.schema(value.Text())
	p.fail(err)
	p.at = len(p.text) - rest.Left()
	return func(to int32) int32 { return p.n.Form(form, to) }
}

func (p *gbnf) regex() gbnfPiece {
	from := p.at
	for ; p.next() != '/'; p.at++ {
		if p.next() == '\\' {
			p.at++
		}
		if c := p.next(); c == '\n' || c == 0 {
			p.at = min(p.at, len(p.text))
			p.fail(fmt.Errorf("want a / at the end of the regex, found the end of the line"))
			return nil
		}
	}
	n, err := automaton.Regex("regex", p.text[from:p.at], p.meter)
	if err != nil {
		p.fail(err)
		return nil
	}
	p.take("/")
	start := p.n.Split()
	p.inners = append(p.inners, start)
	p.n.Lead(start, p.n.Add("regex", n, p.n.End()))
	p.fail(p.meter.Failed())
	return func(to int32) int32 { return p.n.Call(start, to) }
}
