package schema

// Names: propertyNames, as one more pattern that the names of an object match.

import (
	"fmt"
	"regexp"
	"strings"

	"picogpt/constrain/internal/automaton"
)

// names returns the machine of the strings that a schema of names accepts; all and none say that
// there is no machine because it accepts all strings, or none.
func (c *compiler) names(s *schema) (m *automaton.Machine, all, none bool, err error) {
	if known, ok := c.nameSets[s]; ok {
		return known.machine, known.all, known.none, nil
	}
	alts, err := c.expand(s)
	if err != nil {
		return nil, false, false, err
	}
	var tables []*automaton.Table
	for _, a := range alts {
		if allowed, _ := c.typesOf(a); allowed&stringType == 0 {
			continue
		}
		patterns, from, err := c.namePatterns(a)
		if err != nil {
			return nil, false, false, err
		}
		if len(patterns) == 0 {
			all = true
			break
		}
		t, err := c.table(from, patterns, 0, -1)
		if err != nil {
			return nil, false, false, err
		}
		if t != nil {
			tables = append(tables, t)
		}
	}
	if none = !all && len(tables) == 0; !all && !none {
		if m, err = automaton.Union(s.at(), tables, c.meter); err != nil {
			return nil, false, false, err
		}
	}
	c.nameSets[s] = nameSet{m, all, none}
	return m, all, none, nil
}

type nameSet struct {
	machine   *automaton.Machine
	all, none bool
}

// namePatterns returns the patterns of the strings of an alternative, with those of its lengths and
// lists.
func (c *compiler) namePatterns(a alternative) ([]string, *schema, error) {
	w := c.wanted(a)
	if w.max >= 0 || w.min > 0 {
		const most = 1000 // the greatest repetition of a regex
		if w.max > most || w.min > most {
			return nil, nil, fmt.Errorf("%s: propertyNames: want lengths of %d characters at most",
				w.from.at(), most)
		}
		upper := ""
		if w.max >= 0 {
			upper = fmt.Sprint(w.max)
		}
		if w.max >= 0 && w.min > w.max {
			upper = fmt.Sprint(w.min)
			w.patterns = append(w.patterns, "$.^")
		}
		w.patterns = append(w.patterns, fmt.Sprintf("^(?s:.{%d,%s})$", w.min, upper))
	}
	if w.texts != nil {
		quoted := []string{}
		for _, text := range w.texts {
			quoted = append(quoted, regexp.QuoteMeta(text))
		}
		if len(quoted) == 0 {
			quoted = []string{"$."}
		}
		w.patterns = append(w.patterns, "^(?:"+strings.Join(quoted, "|")+")$")
	}
	return w.patterns, w.from, c.meter.Failed()
}
