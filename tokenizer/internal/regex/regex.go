// Package regex finds the matches of the regular expressions in Hugging Face's tokenizers: with
// Oniguruma's syntax and choice of match (the first alternative that matches, the longest
// repetition first), in linear time. Package regexp has no lookahead and no Unicode \s, and finding
// all matches can take it quadratic time. [Compile] reads them (parse.go, compile.go), and
// [Regex.Matches] runs the program; set.go has the sets of characters. References to what was
// matched before (\1), recursion, \X and \K are refused, and one letter is the upper or lower case
// of one letter: ß is not that of ss.
//
// A program is run with backtracking. Whether a fork at a position of the text leads to a match
// does not depend on the way to it, so each such pair is tried once, for all matches together.
package regex

import (
	"fmt"
	"unicode/utf8"

	"picogpt/internal/quote"
)

// A Regex is a compiled regular expression.
type Regex struct {
	program []instruction

	runs     int  // opRuns
	behind   bool // it looks back
	anchored bool // it has a \G, so that what is known holds for one search
}

type operation uint8

const (
	opSet    operation = iota // one character of set, then the next instruction
	opBack                    // the same for the character before, which it reads backward
	opRun                     // run y: up to x characters of set, all there are, without a way back
	opFork                    // first x, then y
	opJump                    // x
	opLoop                    // y if fork x has begun here, so that no loop repeats nothing; else x
	opAtomic                  // what follows up to its opMatch, without a way back; then x
	opLook                    // what follows up to its opMatch must match; it is not read; then x
	opNoLook                  // what follows up to its opMatch must not match; then x
	opAssert                  // the assertion x
	opMatch
)

type instruction struct {
	op   operation
	x, y int
	set  *charset
}

// asserted reports whether an assertion holds: one of ^ $ b B A z Z G.
func (r *run) asserted(in *instruction, at int) bool {
	text := r.text
	switch in.x {
	case '^':
		return at == 0 || at < len(text) && text[at-1] == '\n'
	case '$':
		return at == len(text) || text[at] == '\n'
	case 'A':
		return at == 0
	case 'z':
		return at == len(text)
	case 'Z':
		return at == len(text) || at == len(text)-1 && text[at] == '\n'
	case 'G':
		return at == r.begin
	}
	c, _, ok := r.last(at)
	before := ok && in.set.has(c)
	c, _, ok = r.next(at)
	after := ok && in.set.has(c)
	return (before == after) == (in.x == 'B')
}

// A run is a search in one text.
type run struct {
	*Regex
	work    func(steps int) error
	text    string
	begin   int // where the search for the current match began
	failed  marks
	matched marks // within opLook and opNoLook
	forks   []fork
	path    []state  // the current path, which has not failed yet
	runs    [][2]int // by opRun: the ends of the last one without a bound
	marked  int      // steps
	steps   int      // all steps that work does not know of yet
	over    bool     // there are too many
}

// A state is an instruction at a byte of the text.
type state struct{ at, pc int }

// A fork is the alternative that is tried after a failure, with the path to it.
type fork struct{ at, pc, path int }

// marks are a bit for each instruction at each byte of the text, in blocks of positions. Blocks
// before the current match are used again, so that the memory does not grow with the text.
type marks struct {
	width  int // instructions
	most   int // positions
	steps  *int
	blocks [][]uint64
	free   [][]uint64
	done   int // blocks that were dropped
}

const (
	markBlock = 256 // positions
	blockWork = 16  // steps for a new word of a block: their number bounds the memory, too
)

func (m *marks) word(s state) (word *uint64, bit uint64) {
	b := uint(s.at) / markBlock
	if b >= uint(len(m.blocks)) || m.blocks[b] == nil {
		m.grow(int(b))
	}
	i := uint(s.at)%markBlock*uint(m.width) + uint(s.pc)
	return &m.blocks[b][i/64], 1 << (i % 64)
}

// grow makes a block.
func (m *marks) grow(b int) {
	for b >= len(m.blocks) {
		m.blocks = append(m.blocks, nil)
	}
	if n := len(m.free); n > 0 {
		m.blocks[b], m.free = m.free[n-1], m.free[:n-1]
		clear(m.blocks[b])
		*m.steps += len(m.blocks[b])
		return
	}
	words := (min(markBlock, m.most-b*markBlock)*m.width + 63) / 64
	m.blocks[b] = make([]uint64, words)
	*m.steps += blockWork * words
}

// drop drops what is known of positions before a byte.
func (m *marks) drop(before int) {
	for ; m.done < min(before/markBlock, len(m.blocks)); m.done++ {
		if block := m.blocks[m.done]; block != nil {
			m.blocks[m.done], m.free = nil, append(m.free, block)
		}
	}
}

// Matches calls match for each match in a text, from left to right and without overlap. It calls
// work with the number of steps that it has taken since the last call; an error of it ends the
// search.
func (g *Regex) Matches(text string, work func(steps int) error, match func(from, to int)) error {
	return g.run(text, work).matches(match)
}

// run returns a search for all matches in a text.
func (g *Regex) run(text string, work func(steps int) error) *run {
	r := &run{Regex: g, work: work, text: text, runs: make([][2]int, g.runs)}
	r.forget()
	return r
}

// forget drops all marks.
func (r *run) forget() {
	none := marks{width: len(r.program), most: len(r.text) + 1, steps: &r.steps}
	r.failed, r.matched = none, none
}

// tell tells of the steps.
func (r *run) tell() error {
	err := r.work(r.steps)
	r.steps, r.over = 0, err != nil
	return err
}

func (r *run) matches(match func(from, to int)) error {
	last := -1 // end of the last match
	for r.begin < len(r.text) || r.begin == len(r.text) && r.text != "" {
		from, end := r.search()
		switch {
		case end < 0 || r.over:
			return r.tell()
		case from == end && end == last: // no empty match after another match
			_, size, _ := r.next(r.begin)
			r.begin += max(size, 1)
		default:
			match(from, end)
			last, r.begin = end, end
		}
	}
	return r.tell()
}

// search returns the next match, or -1 for its end if there is none.
func (r *run) search() (from, end int) {
	if r.anchored {
		r.forget()
	}
	for from = r.begin; ; {
		if !r.behind {
			r.failed.drop(from)
			r.matched.drop(from)
		}
		if end = r.from(0, from, opMatch); end >= 0 || from == len(r.text) || r.over {
			return from, end
		}
		_, size, _ := r.next(from)
		from += size
	}
}

// next returns the character at a byte, and its length; ok is false at the end of the text.
func (r *run) next(at int) (c rune, size int, ok bool) {
	if at >= len(r.text) {
		return 0, 0, false
	}
	if c := r.text[at]; c < utf8.RuneSelf {
		return rune(c), 1, true
	}
	c, size = utf8.DecodeRuneInString(r.text[at:])
	if c == utf8.RuneError && size == 1 {
		c = noRune
	}
	return c, size, true
}

// last returns the character before a byte, and its length; ok is false at the start of the text.
func (r *run) last(at int) (c rune, size int, ok bool) {
	c, size = utf8.DecodeLastRuneInString(r.text[:at])
	if c == utf8.RuneError && size == 1 {
		c = noRune
	}
	return c, size, at > 0
}

// from returns the end of the match of the part of the program that begins at pc, or -1 if there is
// none. The part belongs to the operation within; opMatch stands for the whole program.
func (r *run) from(pc, at int, within operation) int {
	forks, path := len(r.forks), len(r.path)
	defer func() { r.forks, r.path = r.forks[:forks], r.path[:path] }()
	for {
		next, to, ok := r.step(state{at, pc}, within)
		if r.steps++; r.steps >= tellFor {
			r.tell()
		}
		switch {
		case r.over:
			return -1
		case ok && next < 0:
			for _, s := range r.path[path:] {
				word, bit := r.failed.word(s)
				*word &^= bit
				if within == opLook {
					word, bit = r.matched.word(s)
					*word |= bit
				}
			}
			return to
		case ok:
			at, pc = to, next
		case len(r.forks) == forks:
			return -1
		default:
			fork := r.forks[len(r.forks)-1]
			r.forks = r.forks[:len(r.forks)-1]
			at, pc, r.path = fork.at, fork.pc, r.path[:fork.path]
		}
	}
}

// step executes one instruction. It returns the next one, -1 for a match, and the new position; ok
// is false if the text does not match.
func (r *run) step(s state, within operation) (next, to int, ok bool) {
	at, in := s.at, &r.program[s.pc]
	switch in.op { // only what costs more than to ask again is marked
	case opSet:
		c, size, ok := r.next(at)
		return s.pc + 1, at + size, ok && in.set.has(c)
	case opBack:
		c, size, ok := r.last(at)
		return s.pc + 1, at - size, ok && in.set.has(c)
	case opAssert:
		return s.pc + 1, at, r.asserted(in, at)
	case opMatch:
		return -1, at, true
	case opJump:
		return in.x, at, true
	case opLoop:
		if word, bit := r.failed.word(state{at, in.x}); *word&bit != 0 {
			return in.y, at, true
		}
		return in.x, at, true
	}
	word, bit := r.failed.word(s)
	if *word&bit != 0 {
		return 0, 0, false
	}
	*word |= bit
	r.path = append(r.path, s)
	r.marked++
	if within == opLook {
		if word, bit := r.matched.word(s); *word&bit != 0 {
			return -1, at, true
		}
	}
	switch in.op {
	case opRun:
		return s.pc + 1, r.runEnd(s), true
	case opAtomic:
		to := r.from(s.pc+1, at, opAtomic)
		return in.x, to, to >= 0
	case opLook, opNoLook:
		return in.x, at, r.from(s.pc+1, at, opLook) >= 0 == (in.op == opLook)
	}
	r.forks = append(r.forks, fork{at, in.y, len(r.path)}) // opFork
	return in.x, at, true
}

// runEnd returns the end of a run of characters. Runs without a bound that end at one place are
// read once.
func (r *run) runEnd(s state) int {
	in := &r.program[s.pc]
	known := &r.runs[in.y]
	if in.x == unbounded && known[0] <= s.at && s.at < known[1] {
		return known[1]
	}
	at := s.at
	for n := 0; n != in.x; n++ {
		c, size, ok := r.next(at)
		if !ok || !in.set.has(c) {
			break
		}
		at += size
	}
	r.steps += at - s.at
	*known = [2]int{s.at, at}
	return at
}

// Compile compiles a regular expression. Unsupported syntax is an error that names it.
func Compile(text string) (*Regex, error) {
	if len(text) > maxRegex {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(text), maxRegex)
	}
	p := parser{text: text}
	tree := p.alternatives(0)
	if p.at < len(text) {
		p.fail(") without (")
	}
	if p.err != nil {
		return nil, fmt.Errorf("the pattern %s: byte %d: %w", quote.Short(text, 60), p.at, p.err)
	}
	c := compiler{Regex: &Regex{}}
	if c.compile(tree, false); c.err != nil {
		return nil, fmt.Errorf("the pattern %s: %w", quote.Short(text, 60), c.err)
	}
	c.emit(instruction{op: opMatch})
	return c.Regex, nil
}

// Bounds on a regular expression and on a search.
const (
	maxRegex   = 2 << 10 // bytes
	maxProgram = 4 << 10 // instructions
	maxNesting = 20
	tellFor    = 64 << 10 // steps that work does not know of
)
