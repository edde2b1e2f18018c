package automaton

// Regex: RE2's syntax as a network; and ECMA-262's patterns, which match anywhere in a string.

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"

	"picogpt/internal/quote"
)

const maxPattern = 1 << 16 // bytes of a regex

// Regex returns the network of a regex in RE2's syntax, with some of Python's.
func Regex(what, re string, meter *Meter) (*Network, error) {
	r := &regexCompiler{n: NewNetwork(MaxNodes, meter)}
	return r.compile(what, re, true), meter.Failed()
}

// parse parses a regex. An edit, if not nil, changes its tree. It returns nil if it fails.
func (r *regexCompiler) parse(
	what, re string, edit func(*syntax.Regexp) *syntax.Regexp,
) (prog *syntax.Prog) {
	m, work := r.n.meter, parsing(re)
	m.Charge(work)
	m.Aside(work, func() {
		tree, err := syntax.Parse(re, syntax.Perl)
		if e, ok := err.(*syntax.Error); ok {
			m.Fail(fmt.Errorf("%s: %s", what, wayOut(e)))
			return
		}
		if edit != nil {
			tree = edit(tree)
		}
		if instructions(tree) <= MaxNodes {
			prog, _ = syntax.Compile(tree.Simplify()) // which has no errors
		}
		if prog == nil || len(prog.Inst) > MaxNodes {
			m.Fail(fmt.Errorf("%s: the automaton has more than %d states", what, MaxNodes))
		}
	})
	if m.Failed() != nil {
		return nil
	}
	m.Charge(16 * len(prog.Inst))
	return prog
}

// wayOut says what a regex has that cannot be followed, and what to write.
func wayOut(e *syntax.Error) string {
	part := quote.Short(e.Expr, 60)
	switch n := len(e.Expr); {
	case e.Expr == "(?(":
		return part + ": a condition is not supported: want each case written out, as in (?:with|without)"
	case e.Expr == `\c`:
		return part + `: a control letter is not supported: want its escape, such as \n or \x0a`
	case e.Code != syntax.ErrInvalidRepeatOp:
		return fmt.Sprintf("%s: %s", e.Code, part)
	case n == 2 && e.Expr[1] == '+' || strings.HasSuffix(e.Expr, "}+"):
		return part + ": a possessive repetition is not supported: want it without the last +"
	}
	return part + ": a repetition of a repetition: want a group, as in (?:a{2}){3}"
}

// foldFlag finds a group that ignores case.
var foldFlag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\(\?[a-zA-Z]*i`)
})

// parsing returns an upper bound of the work of parsing a regex: package syntax sorts the ranges of
// Unicode's classes and, if case is ignored, visits each character of a range.
func parsing(re string) (work int) {
	fold := foldFlag().MatchString(re)
	for i := range len(re) {
		work += 32
		switch rest := re[i:]; {
		case strings.HasPrefix(rest, `\p`) || strings.HasPrefix(rest, `\P`):
			work += 1 << 12
		case fold && len(rest) > 1 && rest[0] == '-' && (rest[1] == '\\' || rest[1] >= 0x80):
			work += 1 << 20
		}
	}
	return work
}

// instructions returns a lower bound of the instructions of a regex, or a number above MaxNodes.
func instructions(tree *syntax.Regexp) (n int) {
	for _, sub := range tree.Sub {
		if n += instructions(sub); n > MaxNodes {
			return n
		}
	}
	switch tree.Op {
	case syntax.OpRepeat:
		return n * max(tree.Min, tree.Max)
	case syntax.OpLiteral:
		return len(tree.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	}
	return n
}

// A regexCompiler makes nodes from a program of package syntax. ^, $ and \b depend on the
// characters before and after. So a node is an instruction with the kind of the character before it
// and, once an assertion was passed, the kind that the character after it must have.
type regexCompiler struct {
	n      *Network
	progs  []*syntax.Prog // of the regex, and of each lookahead
	looks  []look
	edit   func(*syntax.Regexp) *syntax.Regexp // of the regex; nil: as it is
	sides  bool                                // the program has assertions
	end    int32
	pass   int32
	known  map[regexKey]int32
	todo   []regexKey
	dotAll Set
	sets   map[*rune]Set // large classes by their addresses
}

type regexKey struct {
	prog          int
	pc            uint32
	before, after side
}

// A side is the kind of a neighbouring character, as far as assertions distinguish them.
type side uint8

const (
	open  side = iota // no assertion depends on it
	edge              // the beginning or end of the text
	line              // \n
	word              // [0-9A-Za-z_]
	other             // any other
)

var wordSet = Set{{Lo: '0', Hi: '9'}, {Lo: 'A', Hi: 'Z'}, {Lo: '_', Hi: '_'},
	{Lo: 'a', Hi: 'z'}}

// sides has the characters of each side, and one of them as EmptyOpContext wants it.
var sides = [...]struct {
	of  Set
	one rune
}{
	open: {AnyRune(), ' '}, edge: {nil, -1}, line: {SetOf('\n'), '\n'}, word: {wordSet, 'a'},
	other: {NormalSet(append(SetOf('\n'), wordSet...)).Not(), ' '},
}

// compile adds a rule for the regex, in Python's dialect or ECMA-262's, to the network, and returns
// the network, or another one for the same texts without lookaheads; nil where it cannot be read.
func (r *regexCompiler) compile(what, re string, python bool) *Network {
	if len(re) > maxPattern {
		r.n.meter.Fail(fmt.Errorf("%s: %d bytes, want %d at most", what, len(re), maxPattern))
		return nil
	}
	re, looks, err := dialect(what, re, python)
	r.n.meter.Fail(err)
	r.looks = looks
	for i := range len(r.looks) + 1 {
		text, edit := re, r.edit
		if i > 0 {
			text, edit = r.looks[i-1].text, nil
		}
		prog := r.parse(what, text, edit)
		if prog == nil {
			return nil
		}
		r.progs = append(r.progs, prog)
		for _, inst := range prog.Inst {
			r.sides = r.sides || inst.Op == syntax.InstEmptyWidth
		}
	}
	r.end, r.pass = r.n.End(), r.n.add(node{kind: passNode})
	r.known, r.sets = map[regexKey]int32{}, map[*rune]Set{}
	first := regexKey{pc: uint32(r.progs[0].Start)}
	if r.sides {
		first.before = edge
	}
	r.n.Rule(re, r.node(first))
	for len(r.todo) > 0 && r.n.Check(what) == nil {
		p := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		r.fill(p)
	}
	if r.n.Check(what) != nil || len(r.looks) == 0 {
		return r.n
	}
	return r.n.withoutLooks(what)
}

// node returns the node for a key. fill completes it later.
func (r *regexCompiler) node(p regexKey) int32 {
	i, ok := r.known[p]
	if !ok {
		i = r.n.add(node{})
		r.known[p] = i
		r.todo = append(r.todo, p)
	}
	return i
}

func (r *regexCompiler) fill(p regexKey) {
	inst := &r.progs[p.prog].Inst[p.pc]
	at := r.known[p]
	go1 := func(pc uint32) int32 { return r.node(regexKey{p.prog, pc, p.before, p.after}) }
	switch inst.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		r.n.Lead(at, go1(inst.Out), go1(inst.Arg))
	case syntax.InstCapture, syntax.InstNop:
		r.n.Lead(at, go1(inst.Out))
	case syntax.InstMatch:
		if p.prog > 0 {
			r.n.Lead(at, r.passed(p.after))
		} else if p.after == open || p.after == edge {
			r.n.Lead(at, r.end)
		}
	case syntax.InstEmptyWidth:
		r.n.Lead(at, r.assert(p, inst)...)
	case syntax.InstFail:
	default:
		more := r.lookaheads(p, inst)
		if more == nil {
			more = r.characters(p, inst)
		}
		r.n.Lead(at, more...)
	}
}

// passed returns the node at the end of a lookahead: what follows the text that it matched may be
// anything, unless an assertion was passed there.
func (r *regexCompiler) passed(after side) int32 {
	switch after {
	case open:
		return r.pass
	case edge:
		return r.end
	}
	return r.n.Read(sides[after].of, r.pass)
}

// lookaheads returns the nodes of the lookaheads that an instruction stands for; nil for others.
func (r *regexCompiler) lookaheads(p regexKey, inst *syntax.Inst) (more []int32) {
	if len(r.looks) == 0 {
		return nil
	}
	for _, part := range instSet(inst) {
		if part.Lo < firstLook || int(part.Hi) >= firstLook+len(r.looks) {
			return nil
		}
		for c := part.Lo; c <= part.Hi; c++ {
			i := int(c - firstLook)
			from := r.node(regexKey{i + 1, uint32(r.progs[i+1].Start), p.before, p.after})
			to := r.node(regexKey{p.prog, inst.Out, p.before, p.after})
			look := node{kind: lookNode, not: r.looks[i].not, ret: from, to: to}
			more = append(more, r.n.add(look))
		}
	}
	return more
}

// assert returns the nodes after an assertion: one for each kind of character that may follow.
func (r *regexCompiler) assert(p regexKey, inst *syntax.Inst) (more []int32) {
	for after := edge; after <= other; after++ {
		if p.after != open && p.after != after {
			continue
		}
		holds := syntax.EmptyOpContext(sides[p.before].one, sides[after].one)
		if syntax.EmptyOp(inst.Arg)&^holds == 0 {
			more = append(more, r.node(regexKey{p.prog, inst.Out, p.before, after}))
		}
	}
	return more
}

// characters returns the nodes that read the characters of an instruction.
func (r *regexCompiler) characters(p regexKey, inst *syntax.Inst) (more []int32) {
	set := r.set(inst)
	if r.dotAll != nil && inst.Op == syntax.InstRuneAnyNotNL {
		set = r.dotAll
	}
	if !r.sides {
		return []int32{r.n.Read(set, r.node(regexKey{prog: p.prog, pc: inst.Out}))}
	}
	for s := line; s <= other; s++ {
		if p.after != open && p.after != s {
			continue
		}
		if part := set.And(sides[s].of); len(part) > 0 {
			more = append(more, r.n.Read(part, r.node(regexKey{prog: p.prog, pc: inst.Out, before: s})))
		}
	}
	return more
}

// set returns the characters of an instruction. Repeated classes are sorted once.
func (r *regexCompiler) set(inst *syntax.Inst) Set {
	if len(inst.Rune) <= 8 {
		return instSet(inst)
	}
	set, ok := r.sets[&inst.Rune[0]]
	if !ok {
		r.n.meter.Charge(16 * len(inst.Rune))
		set = instSet(inst)
		r.sets[&inst.Rune[0]] = set
	}
	return set
}

// instSet returns the characters of an instruction.
func instSet(inst *syntax.Inst) Set {
	switch inst.Op {
	case syntax.InstRuneAny:
		return AnyRune()
	case syntax.InstRuneAnyNotNL:
		return SetOf('\n').Not()
	}
	if len(inst.Rune) == 1 {
		r := inst.Rune[0]
		set := []Range{{Lo: r, Hi: r}}
		if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				set = append(set, Range{Lo: f, Hi: f})
			}
		}
		return NormalSet(set)
	}
	var set []Range
	for i := 0; i+1 < len(inst.Rune); i += 2 {
		set = append(set, Range{Lo: inst.Rune[i], Hi: inst.Rune[i+1]})
	}
	return NormalSet(set)
}

// Pattern returns the machine of the strings in which a pattern of ECMA-262's syntax matches
// somewhere; nil if it matches nothing. The machine is for tables.
func Pattern(what, p string, meter *Meter) *Machine {
	dotAll := SetOf('\n', '\r', 0x2028, 0x2029).Not()
	r := &regexCompiler{n: NewNetwork(MaxNodes, meter), dotAll: dotAll, edit: anywhere}
	n := r.compile(what, p, false)
	if meter.Failed() != nil {
		return nil
	}
	m := newMachine(what, n, meter)
	if m != nil {
		m.meter = meter
	}
	return m
}

// anywhere returns a regex for texts in which another one matches somewhere. It removes ^ at the
// beginning and $ at the end, because assertions make an automaton larger.
func anywhere(tree *syntax.Regexp) *syntax.Regexp {
	any := &syntax.Regexp{Op: syntax.OpStar, Sub: []*syntax.Regexp{{Op: syntax.OpAnyChar}}}
	all := []*syntax.Regexp{any, tree, any}
	if tree.Op == syntax.OpConcat {
		sub, first, last := tree.Sub, []*syntax.Regexp{any}, []*syntax.Regexp{any}
		if sub[0].Op == syntax.OpBeginText {
			sub, first = sub[1:], nil
		}
		if n := len(sub); n > 0 && sub[n-1].Op == syntax.OpEndText {
			sub, last = sub[:n-1], nil
		}
		if !slices.ContainsFunc(sub, asserts) {
			all = slices.Concat(first, sub, last)
		}
	}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: all}
}

// asserts reports whether a regex contains an assertion.
func asserts(tree *syntax.Regexp) bool {
	is := tree.Op >= syntax.OpBeginLine && tree.Op <= syntax.OpNoWordBoundary
	return is || slices.ContainsFunc(tree.Sub, asserts)
}
