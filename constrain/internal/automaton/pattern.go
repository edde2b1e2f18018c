package automaton

// Patterns: ECMA-262's regexes, which match anywhere in a string.

import (
	"fmt"
	"regexp/syntax"
	"slices"

	"picogpt/constrain/internal/charset"
	"picogpt/constrain/internal/meter"
)

// Pattern returns the machine of the strings in which a pattern of ECMA-262's syntax matches
// somewhere; nil if it matches nothing. The machine is for tables.
func Pattern(what, p string, meter *meter.Meter) (*Machine, error) {
	if len(p) > maxPattern {
		return nil, fmt.Errorf("%s: %d bytes, want %d at most", what, len(p), maxPattern)
	}
	p, looks, err := dialect(what, p, false)
	if err != nil {
		return nil, err
	}
	n := NewNetwork(MaxNodes, meter)
	dotAll := charset.Of('\n', '\r', 0x2028, 0x2029).Not()
	r := &regexCompiler{n: n, dotAll: dotAll, looks: looks, edit: anywhere}
	if n, err = r.compile(what, p); err != nil {
		return nil, err
	}
	m, err := newMachine(what, n, meter)
	if m != nil {
		m.meter = meter
	}
	return m, err
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
	switch tree.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(tree.Sub, asserts)
}
