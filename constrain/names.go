package constrain

// Names: propertyNames, as one more pattern that the names of an object match.

import (
	"fmt"
	"regexp"
	"strings"
)

// names returns the machine of the strings that a schema of names accepts; all and none say that
// there is no machine because it accepts all strings, or none.
func (c *schemaCompiler) names(s *schema) (m *machine, all, none bool, err error) {
	if known, ok := c.nameSets[s]; ok {
		return known.machine, known.all, known.none, nil
	}
	alts, err := c.expand(s)
	if err != nil {
		return nil, false, false, err
	}
	n := newNetwork(maxNodes, c.meter)
	var starts []int32
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
			starts = append(starts, t.addTo(n))
		}
	}
	if none = !all && len(starts) == 0; !all && !none {
		n.rules = []netRule{{"propertyNames", n.split(starts...)}}
		if m, err = newMachine(s.at(), nil, n, c.meter); err != nil {
			return nil, false, false, err
		}
		m.meter = c.meter
	}
	c.nameSets[s] = nameSet{m, all, none}
	return m, all, none, nil
}

type nameSet struct {
	machine   *machine
	all, none bool
}

// namePatterns returns the patterns of the strings of an alternative, with those of its lengths and
// lists.
func (c *schemaCompiler) namePatterns(a alternative) ([]string, *schema, error) {
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
	return w.patterns, w.from, c.meter.failed()
}

// addTo adds the strings of a table to a network, and returns the node at which they begin.
func (t *table) addTo(n *network) int32 {
	first := int32(len(n.nodes))
	for range t.kind {
		n.split()
	}
	end := n.add(netNode{kind: endNode})
	for s := range t.kind {
		sets := map[int32]charset{}
		row := t.row(int32(s))
		var order []int32
		for i, lo := range t.alpha.starts {
			to := row[t.alpha.class[i]]
			if to < 0 {
				continue
			}
			hi := rune(0x10ffff)
			if i+1 < len(t.alpha.starts) {
				hi = t.alpha.starts[i+1] - 1
			}
			set := sets[to]
			if set == nil {
				order = append(order, to)
			}
			if last := len(set) - 1; last >= 0 && set[last].hi == lo-1 {
				set[last].hi = hi
			} else {
				set = append(set, runeRange{lo, hi})
			}
			sets[to] = set
		}
		if n.meter.charge(4*len(t.alpha.starts)) != nil || len(n.nodes) > n.limit {
			break
		}
		var more []int32
		for _, to := range order {
			more = append(more, n.read(sets[to], first+to))
		}
		if t.kind[s] >= 0 {
			more = append(more, end)
		}
		n.nodes[first+int32(s)].more = more
	}
	return first
}
