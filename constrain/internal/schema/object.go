package schema

// Objects: the possible names, and the value of each.

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"picogpt/constrain/internal/automaton"
	"picogpt/internal/quote"
)

// An objectSpec says which objects are allowed.
type objectSpec struct {
	names    []objectName // those of properties in order, then those without order
	ordered  int          // number of names with an order
	index    map[string]int
	sorted   []int32 // the names, sorted by their bytes in JSON
	min, max int     // properties; max -1: any number

	unknown *stringSpec  // other names, whatever their values
	others  []otherNames // those whose values are possible: first all, then those that are of some kinds
	somes   int          // number of properties that must be of a kind, each of its own
	inOther int          // number of names that others contains too

	neededFrom               []int // number of required names from each ordered name on
	possibleFrom             []int // number of possible names from each ordered name on
	neededFree, possibleFree int   // the same for the names without order

	costs []int  // of each name, the tokens of ,"name":
	tail  []size // of each ordered name on, the required ones with their values
	dear  size   // what a property needs at most

	wide *objectSpec // of a closed one: the same with other names
	from *schema     // which closes it
}

type objectName struct {
	name     string
	text     string // in JSON
	value    *value
	required bool
	claims   []claim // what it can be: first its value, then so that it is of some kinds
}

// object adds the objects of an alternative to a value.
func (c *compiler) object(v *value, a alternative) {
	s := &objectSpec{max: -1, index: map[string]int{}}
	var sources []*schema // the schemas that name properties
	for _, id := range a {
		p := c.all[id]
		c.charge(8*len(p.properties) + 8*len(p.required))
		s.min = max(s.min, p.minProperties)
		s.max = tighter(s.max, p.maxProperties)
		if len(p.properties) > 0 && !p.beside {
			sources = append(sources, p)
		}
	}
	if s.max >= 0 && s.min > s.max || c.failed() {
		return
	}
	for _, p := range sources {
		for _, property := range p.properties {
			s.name(property.name)
		}
		if len(sources) == 1 && !p.free && !c.options.AnyOrder {
			s.ordered = len(s.names)
		}
	}
	for _, id := range a {
		if p := c.all[id]; p.beside {
			for _, property := range p.properties {
				s.name(property.name)
			}
		}
		for _, name := range c.all[id].required {
			s.names[s.name(name)].required = true
		}
		if p := c.all[id]; p.closes {
			for _, name := range p.dependents {
				s.name(name)
			}
		}
	}
	c.objectValues(s, a)
	for i := range s.names {
		s.sorted = append(s.sorted, int32(i))
	}
	slices.SortFunc(s.sorted, func(i, j int32) int {
		return strings.Compare(s.names[i].text, s.names[j].text)
	})
	c.charge(16 * len(s.names))
	v.objects = append(v.objects, c.close(s, a))
}

// name returns the index of a name. It adds a new name.
func (s *objectSpec) name(name string) int {
	i, ok := s.index[name]
	if !ok {
		i = len(s.names)
		s.index[name] = i
		s.names = append(s.names, objectName{name: name, text: `"` + escapeJSON(name) + `"`})
	}
	return i
}

// objectValues finds the values of all names.
func (c *compiler) objectValues(s *objectSpec, a alternative) {
	var patterns []string
	var from *schema
	var named []*schema // whose names are those of patterns, or of a schema
	for _, id := range a {
		named = append(named, c.all[id])
		for _, m := range c.all[id].somes {
			named = append(named, m.in)
		}
	}
	for _, p := range named {
		for _, of := range p.patterns {
			patterns, from = append(patterns, of.name), p
		}
	}
	all := len(patterns)
	patterns = sortedTexts(patterns)
	machines, number := []*automaton.Machine{}, map[string]int{}
	var key []byte // of the machines
	for _, p := range patterns {
		m := automaton.Pattern(from.at()+": patternProperties "+quote.Short(p, 60), p, c.meter)
		if m != nil { // nil matches no name
			number[p] = len(machines)
			machines, key = append(machines, m), strconv.AppendQuote(key, p)
		}
	}
	for _, p := range named {
		if _, ok := number[p.namesKey()]; p.names == nil || ok {
			continue
		}
		switch m, all := c.nameSet(p.names); {
		case m != nil:
			number[p.namesKey()] = len(machines)
			machines, from = append(machines, m), p
			key = append(key, p.namesKey()...)
		case !all:
			number[p.namesKey()] = -1
		}
	}
	t := c.names[string(key)]
	if t == nil && len(machines) > 0 && !c.failed() {
		t = automaton.NewTable(from.at(), machines, false, c.meter)
		c.names[string(key)] = t
	}
	somes := c.somesOf(s, a, t, number)
	for i := range s.names {
		name := &s.names[i]
		work := 4 + len(machines)*(8+2*len(name.name)) + 8*len(a) + all
		if !c.charge(work) {
			return
		}
		matches := make([]bool, len(machines))
		for j, m := range machines {
			matches[j] = m.Matches(name.name)
		}
		conj := c.named(a, name.name, true, matches, number)
		name.claims = c.claims(somes, conj, name.name, true, matches, number)
		name.value = name.claims[0].value
	}
	s.unknown = &stringSpec{max: -1, escapes: allEscapes}
	kinds := [][]bool{nil}
	if t != nil {
		s.unknown.table, s.unknown.escapes, kinds = t, fewEscapes, t.Kinds
	}
	for kind, matches := range kinds {
		if !c.charge(4 + 8*len(a) + all) {
			return
		}
		conj := c.named(a, "", false, matches, number)
		s.claim(kind, len(kinds), c.claims(somes, conj, "", false, matches, number))
	}
}

// namesKey is the key of propertyNames among the patterns of names.
func (s *schema) namesKey() string { return fmt.Sprintf("\x00%d", s.id) }

// named returns the schemas that hold for the value of a name, which properties may contain and
// which matches some patterns.
func (c *compiler) named(a alternative, name string, known bool, matches []bool,
	number map[string]int) (conj []*schema) {
	for _, id := range a {
		p := c.all[id]
		found := false
		if known {
			if value := p.property(name); value != nil {
				conj, found = append(conj, value), true
			}
		}
		for _, property := range p.patterns {
			if i, ok := number[property.name]; ok && matches[i] {
				conj, found = append(conj, property.value), true
			}
		}
		if p.names != nil {
			if i, ok := number[p.namesKey()]; ok && (i < 0 || !matches[i]) {
				conj = append(conj, c.nothing())
			}
		}
		if !found && p.additional != nil {
			conj = append(conj, p.additional)
		}
		if l := p.left; l != nil && l.properties != nil &&
			!slices.ContainsFunc(l.within, func(id int) bool {
				return c.all[id].evaluates(name, known, matches, number)
			}) {
			conj = append(conj, l.properties)
		}
	}
	return conj
}

// nameSet returns the machine of the strings that a schema of names accepts; nil if it accepts all
// strings, or none.
func (c *compiler) nameSet(s *schema) (m *automaton.Machine, all bool) {
	if known, ok := c.nameSets[s]; ok {
		return known.machine, known.all
	}
	var tables []*automaton.Table
	for _, a := range c.expand(s) {
		if allowed, _ := c.typesOf(a); allowed&stringType == 0 {
			continue
		}
		patterns, from := c.namePatterns(a)
		if all = len(patterns) == 0; all || c.failed() {
			break
		}
		if t := c.table(from, patterns, 0, -1); t != nil {
			tables = append(tables, t)
		}
	}
	if !all && len(tables) > 0 && !c.failed() {
		m = automaton.Union(s.at(), tables, c.meter)
	}
	c.nameSets[s] = nameSet{m, all}
	return m, all
}

type nameSet struct {
	machine *automaton.Machine
	all     bool
}

// namePatterns returns the patterns of the strings of an alternative, with those of its lengths and
// lists, and one of its schemas.
func (c *compiler) namePatterns(a alternative) ([]string, *schema) {
	w := c.wanted(a)
	if w.max >= 0 || w.min > 0 {
		const most = 1000 // the greatest repetition of a regex
		if w.max > most || w.min > most {
			c.fail(fmt.Errorf("%s: propertyNames: want lengths of %d characters at most",
				w.from.at(), most))
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
	return w.patterns, w.from
}
