package schema

// Patterns: the automatons of those that strings must match.

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"picogpt/constrain/internal/automaton"
	"picogpt/internal/quote"
)

// table returns the automaton of strings that match all patterns, or nil if there are none.
func (c *compiler) table(from *schema, patterns []string, lo, hi int) *automaton.Table {
	for _, p := range patterns {
		c.charge(64 + 8*len(p))
	}
	patterns = sortedTexts(patterns)
	key, what := fmt.Sprintf("%q", patterns), from.at()
	own, ready := formatKeys()[key]
	t := c.once(key, ready, func(m *automaton.Meter) *automaton.Table {
		machines, ways := patternMachines(what, [][]string{patterns}, m)
		if m.Failed() != nil || ways == nil {
			return nil
		}
		return c.finished(automaton.NewTable(what, machines, true, m), m)
	})
	if t == nil || lo <= 0 && hi < 0 {
		return t
	}
	key = fmt.Sprintf("%s %d", key, hi)
	return c.once(key, ready && hi == own, func(m *automaton.Meter) *automaton.Table {
		return measured(t, what, hi, m)
	})
}

func (c *compiler) finished(t *automaton.Table, m *automaton.Meter) *automaton.Table {
	if !t.Finish(m, c.vocab.Plainly, func(int) bool { return true }) {
		return nil
	}
	return t
}

func measured(t *automaton.Table, what string, hi int, m *automaton.Meter) *automaton.Table {
	sized := *t
	sized.Measure(what, hi, m)
	return &sized
}

// tables returns automatons of strings that match all patterns of one of many ways: few of them.
func (c *compiler) tables(from *schema, ways [][]string, lo, hi int) (list []*automaton.Table) {
	what := from.at()
	machines, numbers := patternMachines(what, ways, c.meter)
	if !c.failed() {
		list = automaton.Either(what, machines, numbers, c.meter)
	}
	for i := range list {
		if list[i] = c.finished(list[i], c.meter); !c.failed() && (lo > 0 || hi >= 0) {
			list[i] = measured(list[i], what, hi, c.meter)
		}
	}
	return list
}

// once returns the automaton of a key, which it makes once for the schema; if it is one of a format,
// once for the vocabulary. That costs the same whether it is made or taken: so a schema is not
// refused for what was compiled before.
func (c *compiler) once(
	key string, ready bool, find func(*automaton.Meter) *automaton.Table,
) *automaton.Table {
	t, ok := c.ready[key]
	if ok {
		return t
	}
	if made, ok := c.vocab.ready.Load(key); ok {
		t = made.(*automaton.Table)
	} else {
		meter := c.meter
		if ready {
			meter = meter.Apart()
		}
		t = find(meter)
		if c.fail(meter.Failed()); c.failed() {
			return nil
		}
	}
	if ready {
		c.vocab.ready.Store(key, t)
		c.charge(t.Bytes() / 16)
	}
	c.ready[key] = t
	return t
}

// unlike is before a pattern that must not match.
const unlike = "\x00"

// patternMachines compiles the patterns of some ways, which may match anywhere in a string. It returns
// the numbers of those of each way, without ways of which one matches nothing.
func patternMachines(what string, ways [][]string, meter *automaton.Meter) (
	machines []*automaton.Machine, numbers [][]int,
) {
	const never = -1
	number := map[string]int{}
	for _, way := range ways {
		var list []int
		for _, p := range way {
			i, ok := number[p]
			if !ok {
				regex, not := strings.CutPrefix(p, unlike)
				m := automaton.Pattern(what+": pattern "+quote.Short(regex, 60), regex, meter)
				if m == nil && not { // nothing matches it
					not = false
					m = automaton.Pattern(what, "", meter)
				}
				if i = never; m != nil {
					m.Not, i, machines = not, len(machines), append(machines, m)
				}
				number[p] = i
			}
			list = append(list, i)
		}
		if !slices.Contains(list, never) {
			numbers = append(numbers, list)
		}
	}
	return machines, numbers
}

// Counted patterns: a number of characters of one kind. The number is counted beside the automaton.

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
		s.bound(sized[1], sized[2])
		s.patterns = append(s.patterns, "^.*$")
		pattern = "^" + pattern[len(sized[0]):]
	}
	parts := repeated().FindStringSubmatch(automaton.ECMAPlain(pattern))
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
	s.bound(parts[2], most)
	return plain
}

// bound adds bounds of the length to those of s; most may be empty.
func (s *stringWish) bound(least, most string) {
	n, _ := strconv.Atoi(least)
	s.min = max(s.min, n)
	if n, err := strconv.Atoi(most); err == nil {
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
