// Parsing regular expressions: alternatives, groups, repetitions, sets, and one character of
// lookahead.

package tokenizer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A regexParser reads a regular expression and writes its program. Jumps are absolute: only insert
// moves a part of the program, and it corrects the jumps.
type regexParser struct {
	text    string
	at      int
	program []instruction
	folded  bool
	within  bool // […]
}

// next reports whether s is next, and reads it if so.
func (p *regexParser) next(s string) bool {
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

// insert inserts an instruction before index.
func (p *regexParser) insert(index int, in instruction) {
	p.program = append(p.program, instruction{})
	copy(p.program[index+1:], p.program[index:])
	p.program[index] = in
	for i := range p.program {
		if q := &p.program[i]; i > index && q.op == opFork {
			q.x, q.y = moved(q.x, index), moved(q.y, index)
		}
	}
}

func moved(to, index int) int {
	if to >= index {
		return to + 1
	}
	return to
}

// jump appends an instruction that jumps to another one.
func (p *regexParser) jump(to int) int {
	p.program = append(p.program, instruction{op: opFork, x: to, y: to})
	return len(p.program) - 1
}

// alternatives reads alternatives up to the end of a group.
func (p *regexParser) alternatives(depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("more than %d groups in each other", maxNesting)
	}
	var ends []int
	for {
		start := len(p.program)
		if err := p.sequence(depth); err != nil {
			return err
		}
		if !p.next("|") {
			break
		}
		p.insert(start, instruction{op: opFork, x: start + 1})
		ends = append(ends, p.jump(0))
		p.program[start].y = len(p.program)
	}
	for _, i := range ends {
		p.program[i].x, p.program[i].y = len(p.program), len(p.program)
	}
	return nil
}

// sequence reads a sequence of items.
func (p *regexParser) sequence(depth int) error {
	for p.at < len(p.text) && p.text[p.at] != '|' && p.text[p.at] != ')' {
		start := len(p.program)
		if err := p.item(depth); err != nil {
			return err
		}
		if err := p.repeated(start); err != nil {
			return err
		}
		if len(p.program) > maxProgram {
			return fmt.Errorf("more than %d steps", maxProgram)
		}
	}
	return nil
}

// item reads a group, a lookahead or a character.
func (p *regexParser) item(depth int) error {
	switch {
	case p.next("(?="):
		return p.ahead(opAhead)
	case p.next("(?!"):
		return p.ahead(opNoAhead)
	case p.next("(?i:"):
		return p.group(depth, true)
	case p.next("(?:"):
		return p.group(depth, p.folded)
	case strings.HasPrefix(p.text[p.at:], "(?"):
		return errors.New("(?: not supported but in (?:…), (?i:…), (?=…), (?!…)")
	case p.next("("):
		return p.group(depth, p.folded)
	case strings.ContainsRune("^$*+?{", rune(p.text[p.at])):
		return fmt.Errorf("%c: not supported here", p.text[p.at])
	}
	set, err := p.character()
	p.program = append(p.program, instruction{op: opSet, set: set})
	return err
}

func (p *regexParser) group(depth int, folded bool) error {
	before := p.folded
	p.folded = folded
	if err := p.alternatives(depth + 1); err != nil {
		return err
	}
	p.folded = before
	if !p.next(")") {
		return errors.New("( without )")
	}
	return nil
}

// ahead reads a lookahead of one character.
func (p *regexParser) ahead(op operation) error {
	set, err := p.character()
	if err == nil && !p.next(")") {
		err = errors.New("lookahead of more than one character: not supported")
	}
	p.program = append(p.program, instruction{op: op, set: set})
	return err
}

// repeated reads the repetition of the part of the program from start on.
func (p *regexParser) repeated(start int) error {
	least, most := 1, 1 // most is -1 for any number
	switch {
	case p.next("?"):
		least = 0
	case p.next("*"):
		least, most = 0, -1
	case p.next("+"):
		most = -1
	case p.next("{"):
		var err error
		if least, most, err = p.counts(); err != nil {
			return err
		}
	default:
		return nil
	}
	if p.at < len(p.text) && strings.ContainsRune("?*+{", rune(p.text[p.at])) {
		return fmt.Errorf("%c after a repetition: not supported", p.text[p.at])
	}
	return p.repeat(start, least, most)
}

// counts reads n}, n,} or n,m}.
func (p *regexParser) counts() (least, most int, err error) {
	in, _, ok := strings.Cut(p.text[p.at:], "}")
	low, high, two := strings.Cut(in, ",")
	least, err = strconv.Atoi(low)
	if most = least; two && high == "" {
		most = -1
	} else if two && err == nil {
		most, err = strconv.Atoi(high)
	}
	if !ok || err != nil || least < 0 || least > 1000 || most > 1000 || most >= 0 && most < least {
		return 0, 0, errors.New("a repetition that is not {n}, {n,} or {n,m}, at most 1000")
	}
	p.at += len(in) + 1
	return least, most, nil
}

// repeat repeats the part of the program from start on.
func (p *regexParser) repeat(start, least, most int) error {
	part := append([]instruction(nil), p.program[start:]...)
	p.program = p.program[:start]
	again := func() {
		by := len(p.program) - start
		for _, in := range part {
			if in.op == opFork {
				in.x, in.y = in.x+by, in.y+by
			}
			p.program = append(p.program, in)
		}
	}
	if max(least, most)*(len(part)+1) > maxProgram {
		return fmt.Errorf("more than %d steps", maxProgram)
	}
	for range least {
		again()
	}
	if most < 0 {
		fork := len(p.program)
		p.program = append(p.program, instruction{op: opFork, x: fork + 1})
		again()
		p.jump(fork)
		p.program[fork].y = len(p.program)
		return nil
	}
	var forks []int
	for range most - least {
		forks = append(forks, len(p.program))
		p.program = append(p.program, instruction{op: opFork, x: len(p.program) + 1})
		again()
	}
	for _, fork := range forks {
		p.program[fork].y = len(p.program)
	}
	return nil
}

// character reads one character or a set of characters.
func (p *regexParser) character() (*charset, error) {
	set := &charset{folded: p.folded}
	switch {
	case p.at == len(p.text):
		return set, errors.New("want a character, found the end")
	case p.next("["):
		return set, p.bracket(set)
	case p.next("."):
		set.negated, set.ranges = true, [][2]rune{{'\n', '\n'}}
		return set, nil
	case p.next(`\`):
		r, err := p.escape(set)
		if r >= 0 {
			set.ranges = [][2]rune{{r, r}}
		}
		return set, err
	}
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += size
	set.ranges = [][2]rune{{r, r}}
	return set, nil
}

// bracket reads a set […] after its [.
func (p *regexParser) bracket(set *charset) error {
	set.negated = p.next("^")
	p.within = true
	defer func() { p.within = false }()
	for !p.next("]") {
		if p.at == len(p.text) {
			return errors.New("[ without ]")
		}
		if strings.HasPrefix(p.text[p.at:], "[") || strings.HasPrefix(p.text[p.at:], "&&") {
			return fmt.Errorf("%c in [ ]: not supported", p.text[p.at])
		}
		from, err := p.member(set)
		if err != nil {
			return err
		}
		to := from
		rest := p.text[p.at:]
		if from >= 0 && strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "-]") {
			p.at++
			if to, err = p.member(set); err != nil {
				return err
			}
			if to < from {
				return errors.New("a range of characters that ends before it begins")
			}
		}
		if from >= 0 {
			set.ranges = append(set.ranges, [2]rune{from, to})
		}
	}
	return nil
}

// member reads a character of a set, or adds a class to it and returns -1.
func (p *regexParser) member(set *charset) (rune, error) {
	if p.next(`\`) {
		return p.escape(set)
	}
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += size
	return r, nil
}

// classesByName are the classes of \p{…}.
var classesByName = map[string]property{"L": isLetter, "N": isNumber, "P": isPunctuation,
	"M": isMark, "S": isSymbol, "Lu": isUpper, "Ll": isLower, "Nd": isDigit, "Letter": isLetter,
	"Number": isNumber, "Punctuation": isPunctuation, "Mark": isMark, "Symbol": isSymbol}

// escape reads what follows a backslash. It returns a character, or adds a class to set and returns
// -1.
func (p *regexParser) escape(set *charset) (rune, error) {
	if p.at == len(p.text) {
		return 0, errors.New(`\ at the end`)
	}
	c := p.text[p.at]
	p.at++
	class, not := property(0), false
	switch c {
	case 's', 'S':
		class, not = isSpace, c == 'S'
	case 'd', 'D':
		class, not = isDigit, c == 'D'
	case 'w', 'W':
		if class, not = isWord, c == 'W'; p.within {
			class = isSetWord
		}
	case 'p', 'P':
		if !p.next("{") {
			return 0, fmt.Errorf(`\%c without {`, c)
		}
		not = p.next("^") != (c == 'P')
		name, _, _ := strings.Cut(p.text[p.at:], "}")
		if class = classesByName[name]; class == 0 || !strings.HasPrefix(p.text[p.at+len(name):], "}") {
			return 0, fmt.Errorf(`\p{%s}: not supported`, name)
		}
		p.at += len(name) + 1
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'f':
		return '\f', nil
	case 'v':
		return '\v', nil
	case 'u', 'x':
		return p.code(c)
	default:
		if c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			return 0, fmt.Errorf(`\%c: not supported`, c)
		}
		return rune(c), nil
	}
	if not {
		set.none = append(set.none, class)
	} else {
		set.any |= class
	}
	return -1, nil
}

// code reads the number of a character: two digits after \x, four after \u.
func (p *regexParser) code(c byte) (rune, error) {
	n := 4
	if c == 'x' {
		n = 2
	}
	if p.at+n > len(p.text) {
		return 0, fmt.Errorf(`\%c: want %d digits`, c, n)
	}
	r, err := strconv.ParseUint(p.text[p.at:p.at+n], 16, 32)
	if err != nil || c == 'x' && r >= utf8.RuneSelf {
		return 0, fmt.Errorf(`\%c: want %d digits of a character`, c, n)
	}
	p.at += n
	return rune(r), nil
}
