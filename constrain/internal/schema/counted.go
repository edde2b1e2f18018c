package schema

// Counted patterns: a number of characters of one kind. The number is counted beside the automaton.

import (
	"regexp"
	"regexp/syntax"
	"strconv"
	"sync"

	"picogpt/constrain/internal/automaton"
)

// repeated matches ^X{m,n}$ and its parts.
var repeated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A\^(.+)\{([0-9]{1,9})(,([0-9]{0,9}))?\}\$\z`)
})

// lookedAt matches a lookahead at the beginning that is about the length of the text. What zod says
// of hosts lets a point follow the length: here it counts, so that some hosts with a point at their
// end are too long.
var lookedAt = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A\^\(\?=\.\{([0-9]{1,9}),([0-9]{0,9})\}(?:\\\.\?)?\$\)`)
})

// counted returns a pattern that, together with the lengths of s, which it changes, has the same
// meaning as pattern: ^[a-z]{3,500}$ becomes ^[a-z]*$ and lengths from 3 to 500.
func (s *stringWish) counted(pattern string) string {
	if sized := lookedAt().FindStringSubmatch(pattern); sized != nil {
		s.bound(sized[1], sized[2], sized[2] == "")
		s.patterns = append(s.patterns, "^.*$")
		pattern = "^" + pattern[len(sized[0]):]
	}
	parts := repeated().FindStringSubmatch(automaton.ECMAEscapes(pattern))
	if parts == nil {
		return pattern
	}
	plain := "^" + parts[1] + "*$"
	tree, err := syntax.Parse(plain, syntax.Perl)
	if err != nil || !isStar(tree) {
		return pattern
	}
	most := parts[4]
	if parts[3] == "" {
		most = parts[2]
	}
	s.bound(parts[2], most, most == "")
	return plain
}

// bound adds bounds of the length to those of s.
func (s *stringWish) bound(least, most string, open bool) {
	n, _ := strconv.Atoi(least)
	s.min = max(s.min, n)
	if n, _ = strconv.Atoi(most); !open {
		s.max = tighter(s.max, n)
	}
}

// isStar reports whether a pattern is any number of characters of one kind.
func isStar(tree *syntax.Regexp) bool {
	if tree.Op != syntax.OpConcat || len(tree.Sub) != 3 ||
		tree.Sub[0].Op != syntax.OpBeginText || tree.Sub[1].Op != syntax.OpStar ||
		tree.Sub[2].Op != syntax.OpEndText {
		return false
	}
	switch one := tree.Sub[1].Sub[0]; one.Op {
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		return len(one.Rune) == 1
	}
	return false
}
