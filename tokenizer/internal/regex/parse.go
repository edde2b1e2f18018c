// Parsing regular expressions, as Oniguruma's default syntax has them: their groups and
// repetitions, then the sets of characters in brackets and what is written with a backslash.

package regex

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A parser reads a regular expression. Its options hold up to the end of a group. After an error
// there is no text.
type parser struct {
	text string
	at   int
	err  error // the first
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

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err, p.text = fmt.Errorf(format, args...), p.text[:p.at]
	}
}

// skip reads what counts for nothing.
func (p *parser) skip() {
	for p.at < len(p.text) {
		switch {
		case p.next("(?#"):
			end := strings.IndexByte(p.text[p.at:], ')')
			if p.at += end + 1; end < 0 {
				p.fail("(?# without )")
			}
		case p.extended && strings.IndexByte(" \t\n\v\f\r", p.text[p.at]) >= 0:
			p.at++
		case p.extended && p.next("#"):
			line, _, _ := strings.Cut(p.text[p.at:], "\n")
			p.at += len(line)
		default:
			return
		}
	}
}

// alternatives reads alternatives up to the end of a group.
func (p *parser) alternatives(depth int) *node {
	if depth > maxNesting {
		p.fail("more than %d groups in each other", maxNesting)
	}
	before := p.flags
	defer func() { p.flags = before }()
	all := &node{kind: nodeAlternatives}
	for {
		all.list = append(all.list, p.sequence(depth))
		if !p.next("|") {
			return all
		}
	}
}

// sequence reads a sequence of items.
func (p *parser) sequence(depth int) *node {
	all := &node{kind: nodeSequence}
	for {
		p.skip()
		if p.at == len(p.text) || p.text[p.at] == '|' || p.text[p.at] == ')' {
			return all
		}
		all.list = append(all.list, p.repeated(p.item(depth)))
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

// item reads a group, an assertion or a character; nil after an error.
func (p *parser) item(depth int) *node {
	for _, g := range groups {
		if p.next(g.begin) {
			return p.group(depth, g.node)
		}
	}
	switch {
	case p.next("(?<"), p.next("(?'"):
		end := strings.IndexAny(p.text[p.at:], ">'")
		if end <= 0 {
			p.fail("the name of a group does not end")
			return nil
		}
		p.at += end + 1
		return p.group(depth, node{kind: nodeSequence})
	case p.next("(?"):
		return p.options(depth)
	case p.next("("):
		return p.group(depth, node{kind: nodeSequence})
	case p.next("["):
		return &node{set: newCharset(p.bracket(depth, p.folded))}
	case p.next("."):
		return anything(p.newlines)
	case p.next("^"), p.next("$"):
		return &node{kind: nodeAssert, letter: p.text[p.at-1]}
	case strings.IndexByte("*+?", p.text[p.at]) >= 0:
		p.fail("%c without something before it", p.text[p.at])
		return nil
	case p.next(`\`):
		return p.escape()
	}
	return p.literal(p.char())
}

// anything is each character, also a newline or but that.
func anything(newlines bool) *node {
	set := runeSet{}
	if !newlines {
		set = runeSet{{'\n', '\n'}}
	}
	return &node{set: newCharset(set.negated())}
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
func (p *parser) group(depth int, n node) *node {
	n.list = []*node{p.alternatives(depth + 1)}
	if !p.next(")") {
		p.fail("( without )")
	}
	return &n
}

// options reads the options after (?, which hold for a group, or up to the end of the group that
// they are in.
func (p *parser) options(depth int) *node {
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
			n := p.group(depth, node{kind: nodeSequence})
			p.flags = before
			return n
		case ')':
			p.at++ // what follows is one group, with its alternatives
			n := p.alternatives(depth + 1)
			p.flags = before
			return n
		default:
			p.fail("(?%c: not supported", p.text[p.at])
			return nil
		}
		p.at++
	}
	p.fail("( without )")
	return nil
}

// repeated reads the repetitions of a node.
func (p *parser) repeated(n *node) *node {
	for {
		p.skip()
		least, most, interval := 0, unbounded, false
		switch {
		case p.next("?"):
			most = 1
		case p.next("*"):
		case p.next("+"):
			least = 1
		default:
			if least, most, interval = p.interval(); !interval {
				return n
			}
		}
		if n.kind == nodeAssert || n.kind == nodeAhead || n.kind == nodeBehind {
			p.fail("a repetition of what has no length")
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
func (p *parser) escape() *node {
	if p.at == len(p.text) {
		p.fail(`\ at the end`)
		return nil
	}
	switch c := p.text[p.at]; c {
	case 'b', 'B':
		p.at++
		word, _ := namedSet("word")
		return &node{kind: nodeAssert, letter: c, set: newCharset(word)}
	case 'A', 'z', 'Z', 'G':
		p.at++
		return &node{kind: nodeAssert, letter: c}
	case 'R':
		p.at++
		pair := &node{kind: nodeSequence, list: []*node{p.literal('\r'), p.literal('\n')}}
		one := &node{set: newCharset(runeSet{{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}})}
		both := &node{kind: nodeAlternatives, list: []*node{pair, one}}
		return &node{kind: nodeAtomic, list: []*node{both}}
	case 'N', 'O':
		p.at++
		return anything(c == 'O')
	}
	set, c := p.member(false)
	if set == nil {
		return p.literal(c)
	}
	return &node{set: newCharset(set)}
}

// bracket reads a set […] after its [. Upper and lower case are the same if fold is set.
func (p *parser) bracket(depth int, fold bool) runeSet {
	if depth > maxNesting {
		p.fail("more than %d sets in each other", maxNesting)
	}
	not := p.next("^")
	set, all := runeSet{}, runeSet{}.negated() // all is what stands before &&
	if p.next("]") {
		if !strings.Contains(p.text[p.at:], "]") {
			p.fail("[] without a character")
		}
		set = runeSet{{']', ']'}} // the first ] is a character
	}
	for !p.next("]") {
		if p.at == len(p.text) {
			p.fail("[ without ]")
			return nil
		}
		if p.next("&&") {
			set, all = runeSet{}, all.and(set)
		} else {
			set = set.with(p.part(depth))
		}
	}
	if set = all.and(set); fold {
		set = set.folded()
	}
	if not {
		set = set.negated()
	}
	return set
}

// part reads a set within a set: a class, another set, a character, or a range of them.
func (p *parser) part(depth int) runeSet {
	if p.next("[:") {
		if set := p.posix(); set != nil {
			return set
		}
		p.at-- // the : is a character
		return p.bracket(depth+1, false)
	}
	if p.next("[") {
		return p.bracket(depth+1, false)
	}
	set, from := p.end()
	if set != nil {
		return set
	}
	to := from
	rest := p.text[p.at:]
	if strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "-]") {
		p.at++
		if set, to = p.end(); set != nil || to < from {
			p.fail("a range of characters that ends before it begins")
		}
	}
	return runeSet{{from, to}}
}

// end reads a character of a set, or a class of characters.
func (p *parser) end() (set runeSet, c rune) {
	switch {
	case !p.next(`\`):
		if p.at == len(p.text) {
			p.fail("[ without ]")
		}
		return nil, p.char()
	case p.next("b"):
		return nil, '\b'
	}
	return p.member(true)
}

// posix reads the class of [:name:] after its [:. The set is nil if it is none.
func (p *parser) posix() runeSet {
	name, _, found := strings.Cut(p.text[p.at:], ":]")
	name, not := strings.CutPrefix(name, "^")
	known := map[string]string{"word": "[word]", "punct": "[punct]"}
	for _, same := range strings.Fields(
		"alnum alpha blank cntrl digit graph lower print space upper xdigit ascii") {
		known[same] = same
	}
	if known[name] == "" || !found {
		return nil
	}
	p.at += strings.Index(p.text[p.at:], ":]") + 2
	set, _ := namedSet(known[name])
	if not {
		set = set.negated()
	}
	return set
}

// member reads what follows a backslash: a class, or a character if the set is nil.
func (p *parser) member(within bool) (set runeSet, c rune) {
	if p.at == len(p.text) {
		p.fail(`\ at the end`)
		return nil, 0
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
		return set, 0
	case 'p', 'P':
		if p.next("{") {
			return p.property(letter == 'P', within), 0
		}
		return nil, rune(letter)
	case 'n', 'r', 't', 'f', 'v', 'a', 'e':
		return nil, rune("\n\r\t\f\v\a\x1b"[strings.IndexByte("nrtfvae", letter)])
	case 'u', 'x', '0', '1', '2', '3', '4', '5', '6', '7':
		p.at--
		return nil, p.code(within)
	case 'X', 'y', 'Y', 'K', 'k', 'g', 'c', 'C', 'M', '8', '9':
		p.fail(`\%c: not supported`, letter)
		return nil, 0
	}
	p.at--
	return nil, p.char()
}

// property reads the name of \p{…} after its {.
func (p *parser) property(not, within bool) runeSet {
	not = p.next("^") != not
	name, _, found := strings.Cut(p.text[p.at:], "}")
	key := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	if key == "word" && within {
		key = "[word]"
	}
	set, known := namedSet(key)
	if !known || !found {
		p.fail(`\p{%s}: not supported`, name)
		return nil
	}
	p.at += len(name) + 1
	if not {
		set = set.negated()
	}
	return set
}

// code reads the number of a character: x41, x{1F600}, u0041, or up to three octal digits. Bytes
// that are no characters are not supported, nor what has been matched before: \1.
func (p *parser) code(within bool) rune {
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
			p.fail(`\%s: not supported`, text[:digits])
			return 0
		}
	}
	end := from + digits
	if digits < 1 || end > len(text) {
		p.fail(`\%c: want the digits of a character`, text[0])
		return 0
	}
	r, err := strconv.ParseUint(text[from:end], base, 32)
	oneByte := base == 8 || from != 2 && digits == 2
	if err != nil || r > 0x10FFFF || oneByte && r > 127 {
		p.fail(`\%s: want the digits of a character`, text[:end])
		return 0
	}
	if p.at += end; from == 2 {
		p.at++
	}
	return rune(r)
}
