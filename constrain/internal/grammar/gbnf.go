package grammar

// GBNF: the grammars of llama.cpp, and their rules.

import (
	"fmt"
	"strings"
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
