// Parsing regular expressions, as Oniguruma's default syntax has them: their groups and
// repetitions, then the sets of characters in brackets and what is written with a backslash.

package regex

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A parser reads a regular expression. Its options hold up to the end of a group.
type parser struct {
	text string
	at   int
	flags
}

type flags struct {
	folded   bool // i
	newlines bool // m: . matches a newline
	extended bool // x: white space and comments count for nothing
}

// next reports whether s is next, and reads it if so.
func (p *parser) next(s string) bool {
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

// char reads a character.
func (p *parser) char() rune {
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += size
	return r
}

// skip reads what counts for nothing.
func (p *parser) skip() error {
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
func (p *parser) alternatives(depth int) (*node, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("more than %d groups in each other", maxNesting)
	}
	before := p.flags
	defer func() { p.flags = before }()
	all := &node{kind: nodeAlternatives}
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
func (p *parser) sequence(depth int) (*node, error) {
	all := &node{kind: nodeSequence}
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
	node  node
}{
	{"(?:", node{kind: nodeSequence}},
	{"(?=", node{kind: nodeAhead}},
	{"(?!", node{kind: nodeAhead, not: true}},
	{"(?<=", node{kind: nodeBehind}},
	{"(?<!", node{kind: nodeBehind, not: true}},
	{"(?>", node{kind: nodeAtomic}},
}

// item reads a group, an assertion or a character.
func (p *parser) item(depth int) (*node, error) {
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
		return p.group(depth, node{kind: nodeSequence})
	case p.next("(?"):
		return p.options(depth)
	case p.next("("):
		return p.group(depth, node{kind: nodeSequence})
	case p.next("["):
		set, err := p.bracket(depth, p.folded)
		return &node{set: newCharset(set)}, err
	case p.next("."):
		set := runeSet{}
		if !p.newlines {
			set = runeSet{{'\n', '\n'}}
		}
		return &node{set: newCharset(set.negated())}, nil
	case p.next("^"), p.next("$"):
		return &node{kind: nodeAssert, letter: p.text[p.at-1]}, nil
	case strings.IndexByte("*+?", p.text[p.at]) >= 0:
		return nil, fmt.Errorf("%c without something before it", p.text[p.at])
	case p.next(`\`):
		return p.escape()
	}
	return p.literal(p.char()), nil
}

// literal returns the node of a character.
func (p *parser) literal(c rune) *node {
	set := runeSet{{c, c}}
	if p.folded {
		set = set.folded()
	}
	return &node{set: newCharset(set)}
}

// group reads a group up to its end.
func (p *parser) group(depth int, n node) (*node, error) {
	inner, err := p.alternatives(depth + 1)
	if err == nil && !p.next(")") {
		err = errors.New("( without )")
	}
	n.list = []*node{inner}
	return &n, err
}

// options reads the options after (?, which hold for a group, or up to the end of the group that
// they are in.
func (p *parser) options(depth int) (*node, error) {
	before, on := p.flags, true
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
			n, err := p.group(depth, node{kind: nodeSequence})
			p.flags = before
			return n, err
		case ')':
			p.at++ // what follows is one group, with its alternatives
			n, err := p.alternatives(depth + 1)
			p.flags = before
			return n, err
		default:
			return nil, fmt.Errorf("(?%c: not supported", p.text[p.at])
		}
		p.at++
	}
	return nil, errors.New("( without )")
}

// repeated reads the repetitions of a node.
func (p *parser) repeated(n *node) (*node, error) {
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
		n = &node{kind: nodeRepeat, list: []*node{n}, least: least, most: most}
		switch {
		case swapped: // {3,1} is {1,3} without a way back
			n = &node{kind: nodeAtomic, list: []*node{n}}
		case interval && least == most: // a{2}? is (a{2})?
		case p.next("?"):
			n.lazy = true
		case !interval && p.next("+"):
			n = &node{kind: nodeAtomic, list: []*node{n}}
		}
	}
}

// interval reads {n}, {n,}, {,m} or {n,m}. Anything else is text, and ok is false.
func (p *parser) interval() (least, most int, ok bool) {
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
func (p *parser) escape() (*node, error) {
	if p.at == len(p.text) {
		return nil, errors.New(`\ at the end`)
	}
	switch c := p.text[p.at]; c {
	case 'b', 'B':
		p.at++
		word, _ := namedSet("word")
		return &node{kind: nodeAssert, letter: c, set: newCharset(word)}, nil
	case 'A', 'z', 'Z', 'G':
		p.at++
		return &node{kind: nodeAssert, letter: c}, nil
	case 'R':
		p.at++
		pair := &node{kind: nodeSequence, list: []*node{p.literal('\r'), p.literal('\n')}}
		one := &node{set: newCharset(runeSet{{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}})}
		both := &node{kind: nodeAlternatives, list: []*node{pair, one}}
		return &node{kind: nodeAtomic, list: []*node{both}}, nil
	case 'N', 'O':
		p.at++
		set := runeSet{}
		if c == 'N' {
			set = runeSet{{'\n', '\n'}}
		}
		return &node{set: newCharset(set.negated())}, nil
	}
	set, c, err := p.member(false)
	if set == nil && err == nil {
		return p.literal(c), nil
	}
	return &node{set: newCharset(set)}, err
}

// bracket reads a set […] after its [. Upper and lower case are the same if fold is set.
func (p *parser) bracket(depth int, fold bool) (runeSet, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("more than %d sets in each other", maxNesting)
	}
	not := p.next("^")
	set, all := runeSet{}, runeSet{}.negated() // all is what stands before &&
	if p.next("]") {
		if !strings.Contains(p.text[p.at:], "]") {
			return nil, errors.New("[] without a character")
		}
		set = runeSet{{']', ']'}} // the first ] is a character
	}
	for !p.next("]") {
		if p.at == len(p.text) {
			return nil, errors.New("[ without ]")
		}
		if p.next("&&") {
			set, all = runeSet{}, all.and(set)
			continue
		}
		part, err := p.part(depth)
		if err != nil {
			return nil, err
		}
		set = set.with(part)
	}
	if set = all.and(set); fold {
		set = set.folded()
	}
	if not {
		set = set.negated()
	}
	return set, nil
}

// part reads a set within a set: a class, another set, a character, or a range of them.
func (p *parser) part(depth int) (runeSet, error) {
	if p.next("[:") {
		if set, err := p.posix(); set != nil || err != nil {
			return set, err
		}
		p.at-- // the : is a character
		return p.bracket(depth+1, false)
	}
	if p.next("[") {
		return p.bracket(depth+1, false)
	}
	set, from, err := p.end()
	if set != nil || err != nil {
		return set, err
	}
	to := from
	rest := p.text[p.at:]
	if strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "-]") {
		p.at++
		if set, to, err = p.end(); err == nil && (set != nil || to < from) {
			err = errors.New("a range of characters that ends before it begins")
		}
	}
	return runeSet{{from, to}}, err
}

// end reads a character of a set, or a class of characters.
func (p *parser) end() (set runeSet, c rune, err error) {
	switch {
	case !p.next(`\`):
		if p.at == len(p.text) {
			return nil, 0, errors.New("[ without ]")
		}
		return nil, p.char(), nil
	case p.next("b"):
		return nil, '\b', nil
	}
	return p.member(true)
}

// posix reads the class of [:name:] after its [:. The set is nil if it is none.
func (p *parser) posix() (runeSet, error) {
	name, _, found := strings.Cut(p.text[p.at:], ":]")
	name, not := strings.CutPrefix(name, "^")
	known := map[string]string{"word": "[word]", "punct": "[punct]"}
	for _, same := range strings.Fields(
		"alnum alpha blank cntrl digit graph lower print space upper xdigit ascii") {
		known[same] = same
	}
	if known[name] == "" || !found {
		return nil, nil
	}
	p.at += strings.Index(p.text[p.at:], ":]") + 2
	set, _ := namedSet(known[name])
	if not {
		set = set.negated()
	}
	return set, nil
}

// member reads what follows a backslash: a class, or a character if the set is nil.
func (p *parser) member(within bool) (set runeSet, c rune, err error) {
	if p.at == len(p.text) {
		return nil, 0, errors.New(`\ at the end`)
	}
	letter := p.text[p.at]
	p.at++
	switch letter {
	case 'w', 's', 'd', 'h', 'W', 'S', 'D', 'H':
		name := map[byte]string{'w': "word", 's': "space", 'd': "digit", 'h': "xdigit"}[letter|0x20]
		if name == "word" && within {
			name = "[word]"
		}
		set, _ = namedSet(name)
		if letter < 'a' {
			set = set.negated()
		}
		return set, 0, nil
	case 'p', 'P':
		if p.next("{") {
			set, err = p.property(letter == 'P', within)
			return set, 0, err
		}
		return nil, rune(letter), nil
	case 'n', 'r', 't', 'f', 'v', 'a', 'e':
		return nil, rune("\n\r\t\f\v\a\x1b"[strings.IndexByte("nrtfvae", letter)]), nil
	case 'u', 'x', '0', '1', '2', '3', '4', '5', '6', '7':
		p.at--
		c, err = p.code(within)
		return nil, c, err
	case 'X', 'y', 'Y', 'K', 'k', 'g', 'c', 'C', 'M', '8', '9':
		return nil, 0, fmt.Errorf(`\%c: not supported`, letter)
	}
	p.at--
	return nil, p.char(), nil
}

// property reads the name of \p{…} after its {.
func (p *parser) property(not, within bool) (runeSet, error) {
	not = p.next("^") != not
	name, _, found := strings.Cut(p.text[p.at:], "}")
	key := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	if key == "word" && within {
		key = "[word]"
	}
	set, known := namedSet(key)
	if !known || !found {
		return nil, fmt.Errorf(`\p{%s}: not supported`, name)
	}
	p.at += len(name) + 1
	if not {
		set = set.negated()
	}
	return set, nil
}

// code reads the number of a character: x41, x{1F600}, u0041, or up to three octal digits. Bytes
// that are no characters are not supported, nor what has been matched before: \1.
func (p *parser) code(within bool) (rune, error) {
	text := p.text[p.at:]
	from, digits, base := 1, 2, 16
	switch {
	case strings.HasPrefix(text, "x{"):
		digits = strings.IndexByte(text, '}') - 2
		from = 2
	case text[0] == 'u':
		digits = 4
	case text[0] != 'x':
		from, base = 0, 8
		for digits = 0; digits < min(3, len(text)) && '0' <= text[digits] && text[digits] <= '7'; {
			digits++
		}
		if text[0] != '0' && digits < 3 && !within {
			return 0, fmt.Errorf(`\%s: not supported`, text[:digits])
		}
	}
	end := from + digits
	if digits < 1 || end > len(text) {
		return 0, fmt.Errorf(`\%c: want the digits of a character`, text[0])
	}
	r, err := strconv.ParseUint(text[from:end], base, 32)
	oneByte := base == 8 || from != 2 && digits == 2
	if err != nil || r > 0x10FFFF || oneByte && r > 127 {
		return 0, fmt.Errorf(`\%s: want the digits of a character`, text[:end])
	}
	if p.at += end; from == 2 {
		p.at++
	}
	return rune(r), nil
}
