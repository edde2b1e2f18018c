// Parsing the sets of characters in regular expressions: […], their classes, and the characters
// that are written with a backslash.

package tokenizer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// bracket reads a set […] after its [. Upper and lower case are the same if fold is set.
func (p *regexParser) bracket(depth int, fold bool) (runeSet, error) {
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
func (p *regexParser) part(depth int) (runeSet, error) {
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
func (p *regexParser) end() (set runeSet, c rune, err error) {
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
func (p *regexParser) posix() (runeSet, error) {
	name, _, found := strings.Cut(p.text[p.at:], ":]")
	name, not := strings.CutPrefix(name, "^")
	known := map[string]string{"word": "[word]", "punct": "[punct]"}
	for _, same := range strings.Fields("alnum alpha blank cntrl digit graph lower print space upper xdigit ascii") {
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
func (p *regexParser) member(within bool) (set runeSet, c rune, err error) {
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
func (p *regexParser) property(not, within bool) (runeSet, error) {
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
func (p *regexParser) code(within bool) (rune, error) {
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
	if err != nil || r > 0x10FFFF || from != 2 && base == 16 && digits == 2 && r > 127 || base == 8 && r > 127 {
		return 0, fmt.Errorf(`\%s: want the digits of a character`, text[:end])
	}
	if p.at += end; from == 2 {
		p.at++
	}
	return rune(r), nil
}
