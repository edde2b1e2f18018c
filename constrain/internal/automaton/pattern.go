package automaton

// Patterns: ECMA-262's regexes, which match anywhere in a string.

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"picogpt/constrain/internal/charset"
	"picogpt/constrain/internal/meter"
)

// Pattern returns the machine of the strings in which a pattern of ECMA-262's syntax matches
// somewhere; nil if it matches nothing. The machine is for tables.
func Pattern(what, p string, meter *meter.Meter) (*Machine, error) {
	const flags = syntax.Perl
	if len(p) > maxPattern {
		return nil, fmt.Errorf("%s: %d bytes, want %d at most", what, len(p), maxPattern)
	}
	p, looks, err := dialect(what, p, false)
	if err != nil {
		return nil, err
	}
	if _, err := parseRegex(what, p, flags, meter); err != nil {
		return nil, err
	}
	n := NewNetwork(MaxNodes, meter)
	r := &regexCompiler{n: n, dotAll: charset.Of('\n', '\r', 0x2028, 0x2029).Not(), looks: looks}
	if err := meter.Aside(parsing(p), func() { p = anywhere(p) }); err != nil {
		return nil, err
	}
	if n, err = r.compile(what, p, flags); err != nil {
		return nil, err
	}
	m, err := newMachine(what, n, meter)
	if m != nil {
		m.meter = meter
	}
	return m, err
}

// anywhere returns a regex for texts in which a pattern matches somewhere. It removes ^ at the
// beginning and $ at the end, because assertions make an automaton larger.
func anywhere(pattern string) string {
	const any = "(?s:.*)"
	before, after := any, any
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err == nil && tree.Op == syntax.OpConcat {
		sub := tree.Sub
		if sub[0].Op == syntax.OpBeginText {
			before, sub = "", sub[1:]
		}
		if n := len(sub); n > 0 && sub[n-1].Op == syntax.OpEndText {
			after, sub = "", sub[:n-1]
		}
		if !slices.ContainsFunc(sub, asserts) {
			var b strings.Builder
			for _, s := range sub {
				b.WriteString("(?:" + s.String() + ")")
			}
			return before + b.String() + after
		}
	}
	return any + "(?:" + pattern + ")" + any
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
