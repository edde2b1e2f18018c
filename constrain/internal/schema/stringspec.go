package schema

// The specs of strings: the lengths, patterns and lists of all schemas that must hold.

import (
	"fmt"
	"slices"
	"strings"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/meter"
	"picogpt/internal/quote"
)

// A stringWish is what all schemas of an alternative say of strings.
type stringWish struct {
	min, max int // characters; max -1: any number
	patterns []string
	texts    []string // nil: no list
	from     *schema  // one of the schemas, for errors
}

// tighter returns the tighter of two upper bounds; -1 is none.
func tighter(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// wanted collects what an alternative says of strings. An error of the meter stays with it.
func (c *compiler) wanted(a alternative) *stringWish {
	s := &stringWish{max: -1}
	for _, id := range a {
		p := c.all[id]
		if s.from == nil || p.pattern != nil || p.unlike != "" || p.format != "" {
			s.from = p
		}
		s.min = max(s.min, p.minLength)
		s.max = tighter(s.max, p.maxLength)
		if p.pattern != nil {
			if c.meter.Charge(64+64*len(*p.pattern)) != nil {
				return s
			}
			s.patterns = append(s.patterns, s.counted(*p.pattern))
		}
		if p.unlike != "" {
			s.patterns = append(s.patterns, unlike+p.unlike)
		}
		if p.format != "" {
			f := formats()[p.format]
			if s.patterns = append(s.patterns, f.patterns...); f.max > 0 {
				s.max = tighter(s.max, f.max)
			}
		}
		if p.hasTexts {
			if c.meter.Charge(8*len(s.texts)+16*len(p.texts)) != nil {
				return s
			}
			s.texts = intersectTexts(s.texts, p.texts)
		}
	}
	return s
}

// str adds the strings of an alternative to a value.
func (c *compiler) str(v *value, a alternative) error {
	w := c.wanted(a)
	if err := c.meter.Failed(); err != nil {
		return err
	}
	s := &stringSpec{min: w.min, max: w.max}
	patterns, texts, from := w.patterns, w.texts, w.from
	if s.max >= 0 && s.min > s.max || s.min >= automaton.Unbounded {
		return nil
	}
	if len(patterns) == 0 && texts == nil && s.min == 0 && s.max < 0 {
		s = c.anyString
	}
	if len(patterns) > 0 {
		t, err := c.table(from, patterns, s.min, s.max)
		if t == nil || err != nil {
			return err
		}
		s.table = t
	}
	switch {
	case s == c.anyString:
	case len(patterns) > 0:
		s.escapes = fewEscapes
	default:
		s.escapes = allEscapes
	}
	if !s.live(stringState{}) {
		return nil
	}
	if texts != nil {
		s = s.list(texts, c.meter)
		if len(s.texts) == 0 {
			return nil
		}
	}
	if !slices.Contains(v.strings, s) {
		v.strings = append(v.strings, s)
	}
	return nil
}

// list returns the spec of the texts that s allows.
func (s *stringSpec) list(texts []string, m *meter.Meter) *stringSpec {
	l := &stringSpec{texts: []string{}}
	for _, text := range texts {
		if m.Charge(32+4*len(text)) != nil {
			break
		}
		if s.has(text) {
			l.texts = append(l.texts, text)
			l.escaped = append(l.escaped, escapeJSON(text))
		}
	}
	l.escaped = sortedTexts(l.escaped)
	return l
}

// table returns the automaton of strings that match all patterns, or nil if there are none.
func (c *compiler) table(from *schema, patterns []string, lo, hi int) (*automaton.Table, error) {
	for _, p := range patterns {
		c.meter.Charge(64 + 8*len(p))
	}
	patterns = sortedTexts(patterns)
	key := fmt.Sprintf("%q %d %d", patterns, lo, hi)
	if t, ok := c.tables[key]; ok {
		return t, nil
	}
	what := from.at()
	machines, err := c.patterns(what, patterns)
	if err != nil || machines == nil {
		return nil, err
	}
	t, err := automaton.NewTable(what, machines, true, c.meter)
	if err != nil {
		return nil, err
	}
	switch ok, err := t.Finish(c.meter, c.plain, func(int) bool { return true }); {
	case err != nil:
		return nil, err
	case !ok:
		t = nil
	case lo > 0 || hi >= 0:
		if err := t.Measure(what, hi, c.meter); err != nil {
			return nil, err
		}
	}
	c.tables[key] = t
	return t, nil
}

// unlike is before a pattern that must not match.
const unlike = "\x00"

// patterns compiles patterns, which may match anywhere in a string. It returns nil if one of them
// matches nothing.
func (c *compiler) patterns(
	what string, patterns []string,
) (machines []*automaton.Machine, err error) {
	for _, p := range patterns {
		p, not := strings.CutPrefix(p, unlike)
		m, err := automaton.Pattern(what+": pattern "+quote.Short(p, 60), p, c.meter)
		if err != nil {
			return nil, err
		}
		if m == nil && !not {
			return nil, nil
		}
		if m == nil { // nothing matches it
			if m, err = automaton.Pattern(what, "", c.meter); err != nil {
				return nil, err
			}
			not = false
		}
		m.Not = not
		machines = append(machines, m)
	}
	return machines, nil
}
