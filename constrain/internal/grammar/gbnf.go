package grammar

// GBNF: the grammars of llama.cpp, and their rules.

import (
	"fmt"
	"slices"
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
	p := &gbnf{text: text, vocab: v, meter: m, schema: schema, rules: map[string][]gbnfPiece{},
		uses: map[string]int{}, starts: map[string]int32{}, n: automaton.NewNetwork(automaton.MaxNodes, m)}
	if p.parse(); p.err != nil {
		return nil, p.err
	}
	if err := p.network(); err != nil {
		return nil, fmt.Errorf("grammar: %w", err)
	}
	n := p.n.WithoutLeftRecursion("grammar")
	return n, m.Named("grammar", m.Failed())
}

// A gbnf is the parser of a grammar. After the first error it reads nothing more.
type gbnf struct {
	text   string
	at     int
	err    error
	depth  int
	meter  *automaton.Meter
	vocab  *trie.Trie
	schema func(text string) (int, error)
	n      *automaton.Network
	inners []int32                // the first nodes of regexes: rules without a name
	order  []string               // the names of rules
	rules  map[string][]gbnfPiece // their alternatives
	starts map[string]int32       // the first nodes of rules
	uses   map[string]int         // the offset of the first use of each name
}

// A gbnfPiece adds the nodes that read a piece of a rule and then continue at to, and returns the
// first. A piece that comes several times is added as often. So a rule is built from its end to its
// beginning, once all rules are read.
type gbnfPiece func(to int32) int32

// fail keeps an error with its line, if it is the first.
func (p *gbnf) fail(err error) {
	if p.err == nil && err != nil {
		p.err = fmt.Errorf("grammar: line %d: %w", 1+strings.Count(p.text[:p.at], "\n"), err)
	}
}

// want is fail with what was wanted, and what is found.
func (p *gbnf) want(format string, args ...any) {
	p.fail(fmt.Errorf(format+", found %s", append(args, p.found())...))
}

// next returns the byte at the cursor, or 0 at the end.
func (p *gbnf) next() byte {
	if p.at < len(p.text) && p.err == nil {
		return p.text[p.at]
	}
	return 0
}

// take reads a text, if it comes next.
func (p *gbnf) take(text string) bool {
	is := p.err == nil && strings.HasPrefix(p.text[p.at:], text)
	if is {
		p.at += len(text)
	}
	return is
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
	for {
		switch c := p.next(); {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			p.at++
		case c == '#':
			if end := strings.IndexAny(p.text[p.at:], "\r\n"); end >= 0 {
				p.at += end
			} else {
				p.at = len(p.text)
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
func (p *gbnf) parse() {
	if !utf8.ValidString(p.text) {
		p.fail(fmt.Errorf("the text is not valid UTF-8"))
	}
	for p.space(true); p.at < len(p.text) && p.err == nil; p.space(true) {
		name := p.name()
		if name == "" {
			p.want("want the name of a rule")
		}
		if p.space(false); !p.take("::=") {
			p.want("rule %s: want ::=", quote.Plain(name, 40))
		}
		p.space(true)
		choice := p.choice(false)
		if c := p.next(); p.at < len(p.text) && c != '\n' && c != '\r' {
			p.want("rule %s: want the end of the line", quote.Plain(name, 40))
		}
		if _, known := p.rules[name]; !known {
			p.order = append(p.order, name)
		}
		p.rules[name] = choice
	}
	p.defined()
}

// defined fails if a rule is missing.
func (p *gbnf) defined() {
	if _, ok := p.rules["root"]; !ok {
		p.fail(fmt.Errorf("want a rule named root, where a text begins; found none"))
	}
	missing, first := "", len(p.text)
	for name, at := range p.uses {
		if _, ok := p.rules[name]; !ok && at < first {
			missing, first = name, at
		}
	}
	if missing != "" {
		p.at = first
		p.fail(fmt.Errorf("rule %s is not defined", quote.Plain(missing, 40)))
	}
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
func (p *gbnf) choice(nested bool) (choice []gbnfPiece) {
	for {
		choice = append(choice, p.sequence(nested))
		end := p.at
		if p.space(true); !p.take("|") {
			p.at = end
			return choice
		}
		p.space(true)
	}
}

func (p *gbnf) sequence(nested bool) gbnfPiece {
	var list []gbnfPiece
	for {
		var one gbnfPiece
		start := p.at
		switch c := p.next(); {
		case c == '"':
			one = p.literal()
		case c == '[':
			one = p.class()
		case c == '<' || c == '!':
			one = p.token()
		case isName(c):
			name := p.name()
			if _, used := p.uses[name]; !used {
				p.uses[name] = start
			}
			one = func(to int32) int32 { return p.n.Call(p.starts[name], to) }
		case c == '(':
			one = p.group()
		case c == '%':
			one = p.inner()
		case c == '.':
			p.at++
			one = p.set(automaton.AnyRune())
		case c == '*' || c == '+' || c == '?' || c == '{':
			last := len(list) - 1
			if last < 0 {
				p.fail(fmt.Errorf("want something before %c", c))
				return nil
			}
			list[last] = p.repetition(list[last], nested)
			p.space(nested)
			continue
		default:
			return p.inOrder(list)
		}
		p.fail(p.meter.Charge(32 + 4*(p.at-start)))
		list = append(list, one)
		p.space(nested)
	}
}

// network adds all rules, root first.
func (p *gbnf) network() error {
	others := slices.DeleteFunc(p.order, func(name string) bool { return name == "root" })
	names := append([]string{"root"}, others...)
	for _, name := range names {
		p.starts[name] = p.n.Split()
		p.n.Rule(name, p.starts[name])
	}
	for _, start := range p.inners {
		p.n.Rule("regex", start)
	}
	for _, name := range names {
		more := ways(p.rules[name], p.n.End())
		if err := p.n.Check("rule " + quote.Plain(name, 40)); err != nil {
			return err
		}
		p.n.Lead(p.starts[name], more...)
	}
	return nil
}

// ways returns the first nodes of alternatives.
func ways(choice []gbnfPiece, to int32) (more []int32) {
	for _, one := range choice {
		more = append(more, one(to))
	}
	return more
}

// inOrder returns one piece after another.
func (p *gbnf) inOrder(list []gbnfPiece) gbnfPiece {
	return func(to int32) int32 {
		for i := len(list) - 1; i >= 0 && !p.n.Full(); i-- {
			p.meter.Charge(8) // a piece may have no nodes
			to = list[i](to)
		}
		return to
	}
}

// set returns the piece of one character of a set.
func (p *gbnf) set(set automaton.Set) gbnfPiece {
	return func(to int32) int32 { return p.n.Read(set, to) }
}
