// Parsing regular expressions, as Oniguruma's default syntax has them. What a set of characters in
// brackets is, is read in regexbracket.go.

package tokenizer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A regexParser reads a regular expression. Its options hold up to the end of a group.
type regexParser struct {
	text string
	at   int
	regexOptions
}

type regexOptions struct {
	folded   bool // i
	newlines bool // m: . matches a newline
	extended bool // x: white space and comments count for nothing
}

// next reports whether s is next, and reads it if so.
func (p *regexParser) next(s string) bool {
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

// char reads a character.
func (p *regexParser) char() rune {
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += size
	return r
}

// skip reads what counts for nothing.
func (p *regexParser) skip() error {
	for p.at < len(p.text) {
		switch {
		case p.next("(?#"):
			_, _, found := strings.Cut(p.text[p.at:], ")")
			if !found {
				return errors.New("(?# without )")
			}
			p.at += strings.IndexByte(p.text[p.at:], ')') + 1
		case p.extended && strings.IndexByte(" \t\n\v\f\r", p.text[p.at]) >= 0:
			p.at++
		case p.extended && p.next("#"):
			line, _, _ := strings.Cut(p.text[p.at:], "\n")
			p.at += len(line)
		default:
			return nil
		}
	}
	return nil
}

// alternatives reads alternatives up to the end of a group.
func (p *regexParser) alternatives(depth int) (*regexNode, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("more than %d groups in each other", maxNesting)
	}
	before := p.regexOptions
	defer func() { p.regexOptions = before }()
	all := &regexNode{kind: nodeAlternatives}
	for {
		one, err := p.sequence(depth)
		if err != nil {
			return nil, err
		}
		all.list = append(all.list, one)
		if !p.next("|") {
			return all, nil
		}
	}
}

// sequence reads a sequence of items.
func (p *regexParser) sequence(depth int) (*regexNode, error) {
	all := &regexNode{kind: nodeSequence}
	for {
		if err := p.skip(); err != nil {
			return nil, err
		}
		if p.at == len(p.text) || p.text[p.at] == '|' || p.text[p.at] == ')' {
			return all, nil
		}
		item, err := p.item(depth)
		if err == nil {
			item, err = p.repeated(item)
		}
		if err != nil {
			return nil, err
		}
		all.list = append(all.list, item)
	}
}

// groups are the groups that begin with (?, besides those of options.
var groups = []struct {
	begin string
	node  regexNode
}{
	{"(?:", regexNode{kind: nodeSequence}},
	{"(?=", regexNode{kind: nodeAhead}},
	{"(?!", regexNode{kind: nodeAhead, not: true}},
	{"(?<=", regexNode{kind: nodeBehind}},
	{"(?<!", regexNode{kind: nodeBehind, not: true}},
	{"(?>", regexNode{kind: nodeAtomic}},
}

// item reads a group, an assertion or a character.
func (p *regexParser) item(depth int) (*regexNode, error) {
	for _, g := range groups {
		if p.next(g.begin) {
			return p.group(depth, g.node)
		}
	}
	switch {
	case p.next("(?<"), p.next("(?'"):
		end := strings.IndexAny(p.text[p.at:], ">'")
		if end <= 0 {
			return nil, errors.New("the name of a group does not end")
		}
		p.at += end + 1
		return p.group(depth, regexNode{kind: nodeSequence})
	case p.next("(?"):
		return p.options(depth)
	case p.next("("):
		return p.group(depth, regexNode{kind: nodeSequence})
	case p.next("["):
		set, err := p.bracket(depth, p.folded)
		return &regexNode{set: newCharset(set)}, err
	case p.next("."):
		set := runeSet{}
		if !p.newlines {
			set = runeSet{{'\n', '\n'}}
		}
		return &regexNode{set: newCharset(set.negated())}, nil
	case p.next("^"), p.next("$"):
		return &regexNode{kind: nodeAssert, letter: p.text[p.at-1]}, nil
	case strings.IndexByte("*+?", p.text[p.at]) >= 0:
		return nil, fmt.Errorf("%c without something before it", p.text[p.at])
	case p.next(`\`):
		return p.escape()
	}
	return p.literal(p.char()), nil
}

// literal returns the node of a character.
func (p *regexParser) literal(c rune) *regexNode {
	set := runeSet{{c, c}}
	if p.folded {
		set = set.folded()
	}
	return &regexNode{set: newCharset(set)}
}

// group reads a group up to its end.
func (p *regexParser) group(depth int, n regexNode) (*regexNode, error) {
	inner, err := p.alternatives(depth + 1)
	if err == nil && !p.next(")") {
		err = errors.New("( without )")
	}
	n.list = []*regexNode{inner}
	return &n, err
}

// options reads the options after (?, which hold for a group, or up to the end of the group that
// they are in.
func (p *regexParser) options(depth int) (*regexNode, error) {
	before, on := p.regexOptions, true
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case 'i':
			p.folded = on
		case 'm':
			p.newlines = on
		case 'x':
			p.extended = on
		case '-':
			on = false
		case ':':
			p.at++
			n, err := p.group(depth, regexNode{kind: nodeSequence})
			p.regexOptions = before
			return n, err
		case ')':
			p.at++ // what follows is one group, with its alternatives
			n, err := p.alternatives(depth + 1)
			p.regexOptions = before
			return n, err
		default:
			return nil, fmt.Errorf("(?%c: not supported", p.text[p.at])
		}
		p.at++
	}
	return nil, errors.New("( without )")
}

// repeated reads the repetitions of a node.
func (p *regexParser) repeated(n *regexNode) (*regexNode, error) {
	for {
		if err := p.skip(); err != nil {
			return nil, err
		}
		least, most, interval := 0, unbounded, false
		switch {
		case p.next("?"):
			most = 1
		case p.next("*"):
		case p.next("+"):
			least = 1
		default:
			if least, most, interval = p.interval(); !interval {
				return n, nil
			}
		}
		if n.kind == nodeAssert || n.kind == nodeAhead || n.kind == nodeBehind {
			return nil, errors.New("a repetition of what has no length")
		}
		swapped := most != unbounded && most < least
		if swapped {
			least, most = most, least
		}
		n = &regexNode{kind: nodeRepeat, list: []*regexNode{n}, least: least, most: most}
		switch {
		case swapped: // {3,1} is {1,3} without a way back
			n = &regexNode{kind: nodeAtomic, list: []*regexNode{n}}
		case interval && least == most: // a{2}? is (a{2})?
		case p.next("?"):
			n.lazy = true
		case !interval && p.next("+"):
			n = &regexNode{kind: nodeAtomic, list: []*regexNode{n}}
		}
	}
}

// interval reads {n}, {n,}, {,m} or {n,m}. Anything else is text, and ok is false.
func (p *regexParser) interval() (least, most int, ok bool) {
	if !strings.HasPrefix(p.text[p.at:], "{") {
		return 0, 0, false
	}
	in, _, ok := strings.Cut(p.text[p.at+1:], "}")
	low, high, two := strings.Cut(in, ",")
	count := func(digits string, otherwise int) int {
		n, err := strconv.ParseUint(digits, 10, 31)
		switch {
		case digits == "":
			return otherwise
		case err != nil:
			ok = false
		}
		return int(n)
	}
	least = count(low, 0)
	if most = least; two {
		most = count(high, unbounded)
	}
	if !ok || low == "" && (high == "" || !two) {
		return 0, 0, false
	}
	p.at += len(in) + 2
	return least, most, true
}

// escape reads what follows a backslash outside of brackets.
func (p *regexParser) escape() (*regexNode, error) {
	if p.at == len(p.text) {
		return nil, errors.New(`\ at the end`)
	}
	switch c := p.text[p.at]; c {
	case 'b', 'B':
		p.at++
		word, _ := namedSet("word")
		return &regexNode{kind: nodeAssert, letter: c, set: newCharset(word)}, nil
	case 'A', 'z', 'Z', 'G':
		p.at++
		return &regexNode{kind: nodeAssert, letter: c}, nil
	case 'R':
		p.at++
		pair := &regexNode{kind: nodeSequence, list: []*regexNode{p.literal('\r'), p.literal('\n')}}
		one := &regexNode{set: newCharset(runeSet{{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}})}
		both := &regexNode{kind: nodeAlternatives, list: []*regexNode{pair, one}}
		return &regexNode{kind: nodeAtomic, list: []*regexNode{both}}, nil
	case 'N', 'O':
		p.at++
		set := runeSet{}
		if c == 'N' {
			set = runeSet{{'\n', '\n'}}
		}
		return &regexNode{set: newCharset(set.negated())}, nil
	}
	set, c, err := p.member(false)
	if set == nil && err == nil {
		return p.literal(c), nil
	}
	return &regexNode{set: newCharset(set)}, err
}
