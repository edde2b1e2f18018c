package constrain

// Counted patterns: a number of characters of one kind. The number is counted beside the automaton.

import (
	"regexp"
	"regexp/syntax"
	"strconv"
)

// repeated matches ^X{m,n}$ and its parts.
var repeated = regexp.MustCompile(`\A\^(.+)\{([0-9]{1,9})(,([0-9]{0,9}))?\}\$\z`)

// counted returns a pattern that, together with the lengths of s, which it changes, has the same
// meaning as pattern: ^[a-z]{3,500}$ becomes ^[a-z]*$ and lengths from 3 to 500.
func (s *stringWish) counted(pattern string) string {
	parts := repeated.FindStringSubmatch(ecmaEscapes(pattern))
	if parts == nil {
		return pattern
	}
	plain := "^" + parts[1] + "*$"
	tree, err := syntax.Parse(plain, syntax.Perl)
	if err != nil || !isStar(tree) {
		return pattern
	}
	least, _ := strconv.Atoi(parts[2])
	most := least
	if parts[3] != "" {
		most = -1
		if parts[4] != "" {
			most, _ = strconv.Atoi(parts[4])
		}
	}
	s.min = max(s.min, least)
	if most >= 0 && (s.max < 0 || most < s.max) {
		s.max = most
	}
	return plain
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
