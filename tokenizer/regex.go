// Regular expressions in tokenizers: Oniguruma's syntax and choice of match (the first alternative
// that matches, the longest repetition first), in linear time. Package regexp has no lookahead and
// no Unicode \s, and finding all matches can take it quadratic time.
//
// A program is run with backtracking. Whether an instruction at a position of the text leads to a
// match does not depend on the way to it, so each such pair is tried once, for all matches
// together.

package tokenizer

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// A regex is a compiled regular expression.
type regex struct {
	program []instruction
}

type operation uint8

const (
	opSet     operation = iota // one character of set, then the next instruction
	opFork                     // first x, then y
	opAhead                    // a character of set must follow; it is not read
	opNoAhead                  // no character of set may follow
	opMatch
)

type instruction struct {
	op   operation
	x, y int
	set  *charset
}

// A charset is a set of characters.
type charset struct {
	negated bool
	folded  bool // upper and lower case are the same
	any     property
	none    []property // characters without one of these properties are in the set
	ranges  [][2]rune
}

func (s *charset) has(r rune, is property) bool {
	if s.holds(r, is) {
		return !s.negated
	}
	if s.folded {
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if s.holds(other, propertyTable().of(other)) {
				return !s.negated
			}
		}
	}
	return s.negated
}

func (s *charset) holds(r rune, is property) bool {
	if is&s.any != 0 {
		return true
	}
	for _, p := range s.none {
		if is&p == 0 {
			return true
		}
	}
	for _, of := range s.ranges {
		if of[0] <= r && r <= of[1] {
			return true
		}
	}
	return false
}

// A regexRun is a search in one text.
type regexRun struct {
	*regex
	text   string
	failed []uint64 // a bit for each instruction at each byte of the text
	forks  []regexFork
	path   []int // the bits of the current path, which has not failed yet
}

// A regexFork is the alternative that is tried after a failure, with the path to it.
type regexFork struct{ at, pc, path int }

func (g *regex) matches(text string, match func(from, to int)) error {
	run := regexRun{regex: g, text: text,
		failed: make([]uint64, (len(g.program)*(len(text)+1)+63)/64)}
	last := -1 // end of the last match
	for i := 0; i <= len(text); {
		end := run.from(i)
		if end > i || end == i && i != last {
			match(i, end)
			last = end
		}
		if end > i {
			i = end
			continue
		}
		if i == len(text) {
			break
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return nil
}

// from returns the end of the match that begins at byte `at`, or -1 if there is none.
func (r *regexRun) from(at int) int {
	pc := 0
	r.forks, r.path = r.forks[:0], r.path[:0]
	for {
		next, size, ok := r.step(at, pc)
		if ok && r.program[pc].op == opMatch {
			for _, bit := range r.path {
				r.failed[bit>>6] &^= 1 << (bit & 63)
			}
			return at
		}
		if ok {
			at, pc = at+size, next
			continue
		}
		if len(r.forks) == 0 {
			return -1
		}
		fork := r.forks[len(r.forks)-1]
		r.forks = r.forks[:len(r.forks)-1]
		at, pc, r.path = fork.at, fork.pc, r.path[:fork.path]
	}
}

// step executes one instruction. It returns the next one and the number of bytes read; ok is false
// if the text does not match.
func (r *regexRun) step(at, pc int) (next, size int, ok bool) {
	bit := at*len(r.program) + pc
	if r.failed[bit>>6]&(1<<(bit&63)) != 0 {
		return 0, 0, false
	}
	r.failed[bit>>6] |= 1 << (bit & 63)
	r.path = append(r.path, bit)
	in := &r.program[pc]
	switch in.op {
	case opMatch:
		return 0, 0, true
	case opFork:
		r.forks = append(r.forks, regexFork{at, in.y, len(r.path)})
		return in.x, 0, true
	}
	has := false
	if at < len(r.text) {
		c, is, n := propertyTable().next(r.text[at:])
		has, size = in.set.has(c, is), n
	}
	switch in.op {
	case opAhead:
		return pc + 1, 0, has
	case opNoAhead:
		return pc + 1, 0, !has
	}
	return pc + 1, size, has
}

// newRegex compiles a regular expression. Unsupported syntax is an error that names it.
func newRegex(text string) (pattern, error) {
	if text == gpt2Pattern || text == gpt2PatternShort {
		return gpt2Pieces{}, nil
	}
	if text == `[\s\S]` {
		return everyCharacter{}, nil
	}
	if len(text) > maxRegex {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(text), maxRegex)
	}
	p := regexParser{text: text}
	if err := p.alternatives(0); err != nil {
		return nil, fmt.Errorf("the pattern %s: byte %d: %w", quoted(&text), p.at, err)
	}
	if p.at < len(text) {
		return nil, fmt.Errorf("the pattern %s: byte %d: ) without (", quoted(&text), p.at)
	}
	return &regex{append(p.program, instruction{op: opMatch})}, nil
}

// Bounds on a regular expression.
const (
	maxRegex   = 2 << 10 // bytes
	maxProgram = 4 << 10 // instructions
	maxNesting = 20
)
