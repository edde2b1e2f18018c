package grammar

// GBNF: the grammars of llama.cpp, parsed and as a network.

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"picogpt/constrain/internal/automaton"

	"picogpt/constrain/internal/trie"
	"picogpt/internal/quote"
)

const (
	maxGrammar = 1 << 20 // bytes
	maxNesting = 500     // groups in groups
	// MostRepeats bounds one {m,n}, as in llama.cpp.
	MostRepeats = 2000
)

// GBNF returns the network of texts that match rule root of a grammar. schema compiles a JSON Schema
// in it and returns the number of its form.
func GBNF(
	v *trie.Trie, text string, m *automaton.Meter, schema func(text string) (int, error),
) (*automaton.Network, error) {
	if len(text) > maxGrammar {
		return nil, fmt.Errorf("grammar: %d bytes, want %d at most", len(text), maxGrammar)
	}
	p := &gbnf{text: text, vocab: v, meter: m, schema: schema, rules: map[string]gbnfChoice{}, uses: map[string]int{}}
	if err := p.parse(); err != nil {
		return nil, fmt.Errorf("grammar: line %d: %w", p.line(), err)
	}
	n, err := p.network()
	if err != nil {
		return nil, fmt.Errorf("grammar: %w", err)
	}
	if n, err = n.WithoutLeftRecursion("grammar"); err != nil {
		return nil, m.Named("grammar", err)
	}
	return n, nil
}

// A gbnf is the parser of a grammar.
type gbnf struct {
	text   string
	at     int
	depth  int
	meter  *automaton.Meter
	vocab  *trie.Trie
	schema func(text string) (int, error)
	inners []*automaton.Network // of regexes: rules without a name
	order  []string             // the names of rules
	rules  map[string]gbnfChoice
	uses   map[string]int // the offset of the first use of each name
}

type gbnfChoice []gbnfSequence

type gbnfSequence []gbnfItem

// A gbnfItem is one part of a sequence, which comes from min to max times (-1: any number).
type gbnfItem struct {
	min, max int
	text     []rune // a literal
	set      automaton.Set
	rule     string
	group    gbnfChoice
	id       int // a token
	not      bool
	form     int // the number of a schema's
	kind     gbnfKind
}

type gbnfKind uint8

const (
	gbnfText gbnfKind = iota
	gbnfSet
	gbnfRule
	gbnfGroup
	gbnfToken
	gbnfSchema
)

func (p *gbnf) line() int {
	return 1 + strings.Count(p.text[:min(p.at, len(p.text))], "\n")
}

// next returns the byte at the cursor, or 0 at the end.
func (p *gbnf) next() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// found returns the text at the cursor, for errors.
func (p *gbnf) found() string {
	if p.at >= len(p.text) {
		return "the end"
	}
	return quote.Short(p.text[p.at:], 12)
}

// space skips spaces and comments, and line ends if lines is set.
func (p *gbnf) space(lines bool) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			p.at++
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' && p.text[p.at] != '\r' {
				p.at++
			}
		default:
			return
		}
	}
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' ||
		c == '_'
}

// parse reads all rules.
func (p *gbnf) parse() error {
	if !utf8.ValidString(p.text) {
		return fmt.Errorf("the text is not valid UTF-8")
	}
	for p.space(true); p.at < len(p.text); p.space(true) {
		name := p.name()
		if name == "" {
			return fmt.Errorf("want the name of a rule, found %s", p.found())
		}
		p.space(false)
		if p.at+3 > len(p.text) || p.text[p.at:p.at+3] != "::=" {
			return fmt.Errorf("rule %s: want ::=, found %s", quote.Plain(name, 40), p.found())
		}
		p.at += 3
		p.space(true)
		choice, err := p.choice(false)
		if err != nil {
			return err
		}
		if c := p.next(); p.at < len(p.text) && c != '\n' && c != '\r' {
			return fmt.Errorf("rule %s: want the end of the line, found %s", quote.Plain(name, 40),
				p.found())
		}
		if _, known := p.rules[name]; !known {
			p.order = append(p.order, name)
		}
		p.rules[name] = choice
	}
	return p.defined()
}

// defined returns an error if a rule is missing.
func (p *gbnf) defined() error {
	if _, ok := p.rules["root"]; !ok {
		return fmt.Errorf("want a rule named root, where a text begins; found none")
	}
	missing, first := "", len(p.text)
	for name, at := range p.uses {
		if _, ok := p.rules[name]; !ok && at < first {
			missing, first = name, at
		}
	}
	if missing != "" {
		p.at = first
		return fmt.Errorf("rule %s is not defined", quote.Plain(missing, 40))
	}
	return nil
}

func (p *gbnf) name() string {
	from := p.at
	for isName(p.next()) {
		p.at++
	}
	return p.text[from:p.at]
}

// choice reads alternatives, which may extend over several lines: nested ones anywhere, others where
// a | ends a line or begins one.
func (p *gbnf) choice(nested bool) (choice gbnfChoice, err error) {
	for {
		s, err := p.sequence(nested)
		if err != nil {
			return nil, err
		}
		choice = append(choice, s)
		end := p.at
		p.space(true)
		if p.next() != '|' {
			p.at = end
			return choice, nil
		}
		p.at++
		p.space(true)
	}
}

func (p *gbnf) sequence(nested bool) (s gbnfSequence, err error) {
	for {
		item, start := gbnfItem{min: 1, max: 1}, p.at
		switch c := p.next(); {
		case c == '"':
			err = p.literal(&item)
		case c == '[':
			err = p.class(&item)
		case c == '<' || c == '!':
			err = p.token(&item)
		case isName(c):
			from := p.at
			item.kind, item.rule = gbnfRule, p.name()
			if _, used := p.uses[item.rule]; !used {
				p.uses[item.rule] = from
			}
		case c == '(':
			err = p.group(&item)
		case c == '%':
			err = p.inner(&item)
		case c == '.':
			p.at++
			item.kind, item.set = gbnfSet, automaton.AnyRune()
		case c == '*' || c == '+' || c == '?' || c == '{':
			if len(s) == 0 {
				return nil, fmt.Errorf("want something before %c", c)
			}
			if err := p.repetition(&s[len(s)-1], nested); err != nil {
				return nil, err
			}
			p.space(nested)
			continue
		default:
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		if err := p.meter.Charge(32 + 4*(p.at-start)); err != nil {
			return nil, err
		}
		s = append(s, item)
		p.space(nested)
	}
}

// The items of a sequence: literals, classes, tokens, groups and repetitions.

func (p *gbnf) literal(item *gbnfItem) error {
	p.at++
	for p.next() != '"' {
		r, err := p.char()
		if err != nil {
			return err
		}
		item.text = append(item.text, r)
	}
	p.at++
	return nil
}

func (p *gbnf) class(item *gbnfItem) error {
	p.at++
	not := p.next() == '^'
	if not {
		p.at++
	}
	var ranges []automaton.Range
	for p.next() != ']' {
		lo, err := p.char()
		if err != nil {
			return err
		}
		hi := lo
		if p.next() == '-' && p.at+1 < len(p.text) && p.text[p.at+1] != ']' {
			p.at++
			if hi, err = p.char(); err != nil {
				return err
			}
		}
		ranges = append(ranges, automaton.Range{Lo: lo, Hi: hi})
	}
	p.at++
	item.kind, item.set = gbnfSet, automaton.NormalSet(ranges)
	if not {
		item.set = item.set.Not()
	}
	return nil
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
func (p *gbnf) token(item *gbnfItem) error {
	item.kind = gbnfToken
	if p.next() == '!' {
		item.not = true
		p.at++
	}
	from := p.at
	if p.next() != '<' {
		return fmt.Errorf("want < after !, found %s", p.found())
	}
	for p.next() != '>' {
		if p.at >= len(p.text) || p.next() == '\n' {
			p.at = from
			return fmt.Errorf("want > after %s", p.found())
		}
		p.at++
	}
	p.at++
	name := p.text[from:p.at]
	if len(name) > 4 && name[1] == '[' && name[len(name)-2] == ']' {
		id, err := strconv.ParseUint(name[2:len(name)-2], 10, 31)
		if err != nil || int(id) >= p.vocab.Size {
			return fmt.Errorf("token %s: want ids below %d", quote.Short(name, 40), p.vocab.Size)
		}
		item.id = int(id)
		return nil
	}
	id, ok := p.vocab.Find(name)
	if !ok {
		return fmt.Errorf("%s is not one token of the vocabulary", quote.Short(name, 40))
	}
	item.id = id
	return nil
}

func (p *gbnf) group(item *gbnfItem) (err error) {
	if p.depth++; p.depth > maxNesting {
		return fmt.Errorf("more than %d groups in groups", maxNesting)
	}
	p.at++
	p.space(true)
	item.kind = gbnfGroup
	if item.group, err = p.choice(true); err != nil {
		return err
	}
	if p.next() != ')' {
		return fmt.Errorf("want ), found %s", p.found())
	}
	p.at++
	p.depth--
	return nil
}

// repetition reads * + ? {m} {m,} or {m,n}.
func (p *gbnf) repetition(item *gbnfItem, nested bool) error {
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
			return err
		}
	}
	if item.min != 1 || item.max != 1 { // a repetition of a repetition
		inner := *item
		*item = gbnfItem{kind: gbnfGroup, group: gbnfChoice{{inner}}}
	}
	item.min, item.max = least, most
	return nil
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

// The rules of a grammar as a network.

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
