// Package schema has the forms whose texts are JSON that a schema accepts. Its files, in the order
// of the work:
//
//   - A schema's text is read as a tree (jsonvalue.go), which knows its draft and what a $ref names
//     (document.go), and parsed keyword by keyword (schema.go, format.go).
//   - Combinations become alternatives of plain schemas (alternative.go), not and its like become
//     what they leave (negation.go); unevaluated is what no schema beside says (leftover.go).
//   - [Compile] makes values of the alternatives, sets of JSON values by their type (value.go):
//     numbers (numberspec.go, number.go), strings (string.go, pattern.go), arrays (array.go) and
//     objects (object.go, closed.go).
//   - A [Form] reads a text as parts of values in frames (part.go, frame.go, form.go, name.go), and
//     has the masks: of each part, the ids that may follow (mask.go, lexmask.go), or those after
//     which the text can end in time (intime.go): it knows the least values (least.go) and what
//     containers still need (ends.go, needed.go), and finds the ends of strings and numbers
//     (shortest.go), and of what must differ (apart.go).
package schema

// Compile: the text of a schema becomes values; and the bounds of all of it.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"picogpt/constrain/internal/automaton"
)

// Options are constrain.SchemaOptions.
type Options struct {
	Space                                      int
	Comma, Colon, Indent                       string
	Closed, AnyOrder, Strict, OpenAPI, Earlier bool
	Refs                                       map[string][]byte
}

// exact reports whether the text has an exact layout.
func (o *Options) exact() (bool, error) {
	comma, ok := strings.CutPrefix(o.Comma, ",")
	colon, too := strings.CutPrefix(o.Colon, ":")
	switch {
	case o.Comma+o.Colon+o.Indent == "":
		return false, nil
	case !ok || !too || strings.Trim(comma+colon+o.Indent, " \n\t") != "" ||
		max(len(comma), len(colon), len(o.Indent)) > maxSpace:
		return false, fmt.Errorf("layout: want a comma, a colon, and white space of %d characters at "+
			"most after each and as indent; found %q, %q and %q", maxSpace, o.Comma, o.Colon, o.Indent)
	}
	return true, nil
}

// NoSpace is constrain.NoSpace.
const NoSpace = -1

// Bounds on the result of compiling.
const (
	maxSpace        = 64
	maxSchemaBytes  = 4 << 20
	maxPointer      = 1 << 14 // bytes of the JSON pointer to a part of a schema
	maxDepth        = 20000   // of schemas within schemas and behind $ref
	maxAlternatives = 2048    // combinations of alternatives
	maxValues       = 20000   // kinds of values
	maxBranches     = 100     // of oneOf, without a tag
	maxPairs        = maxBranches * (maxBranches - 1) / 2
	maxFew          = 1000 // values of the items of an array with uniqueItems
	maxNotes        = 20
	maxScale        = 17  // digits after the point of a divisor
	maxPoint        = 400 // digits before the point of numbers of JSON: float64 ends at 309
)

// Bounds on the matching of a text.
const (
	maxVisits    = 1 << 25 // nodes of tries that are visited for one mask of a schema
	maxParts     = 4096    // ways to read one text of JSON
	maxReachable = 1 << 12 // results of the arithmetic of one divisor that are stored
	maxLexBytes  = 8 << 20 // of masks that a schema or a vocabulary stores
)

// A compiler compiles the values of a schema.
type compiler struct {
	options   Options
	all       []*schema
	schemas   map[reached]*schema
	way       *way // to the schema that is read
	ways      map[way]*way
	constants map[*jsonValue]*schema
	expanded  map[*schema][]alternative
	expanding map[*schema]bool
	negated   map[*schema]*schema
	nameSets  map[*schema]nameSet
	names     map[string]*automaton.Table  // by their patterns, of all kinds
	overlaps  map[*jsonValue]map[int][]int // of oneOf, the branches that can hold with another one
	values    map[string]*value
	order     []*value // the values in the order of their creation: a value before its parts
	todo      []*value
	oneOf     []exclusive
	ready     map[string]*automaton.Table
	anyString *stringSpec
	document  *document
	notes     []string
	opened    map[*schema]*schema
	none      *schema // which accepts nothing
	depth     int
	vocab     *Vocabulary
	meter     *automaton.Meter
}

// fail keeps an error, if it is the first.
func (c *compiler) fail(err error) { c.meter.Fail(err) }

// failed reports whether there was an error, or the meter has ended the work.
func (c *compiler) failed() bool { return c.meter.Failed() != nil }

// charge counts steps of work, and reports whether there may be more of it.
func (c *compiler) charge(steps int) bool { return c.meter.Charge(steps) == nil }

// An exclusive is two branches of a oneOf with what holds for both: no value may be in it.
type exclusive struct {
	of   *schema
	i, j int
	both *value
}

// Compile returns the form of texts of JSON that a schema accepts, and notes about what restricts
// nothing.
func Compile(
	v *Vocabulary, text []byte, o Options, m *automaton.Meter,
) (*Form, []string, error) {
	if len(text) > maxSchemaBytes {
		return nil, nil, fmt.Errorf("schema: %d bytes, want %d at most", len(text), maxSchemaBytes)
	}
	if o.Space < NoSpace || o.Space > maxSpace {
		return nil, nil, fmt.Errorf("white space %d: want from %d to %d", o.Space, NoSpace, maxSpace)
	}
	exact, err := o.exact()
	if err != nil {
		return nil, nil, err
	}
	root, err := parseJSON(string(text), m)
	if err != nil {
		return nil, nil, fmt.Errorf("schema: %w", err)
	}
	overlaps := map[*jsonValue]map[int][]int{}
	doc := readDocument(root, o.Earlier, m)
	if err := doc.add(o.Refs, o.Earlier, m); err != nil {
		return nil, nil, err
	}
	for {
		c := &compiler{options: o, document: doc, meter: m, vocab: v, overlaps: overlaps,
			schemas: map[reached]*schema{}, ways: map[way]*way{}, constants: map[*jsonValue]*schema{},
			expanded: map[*schema][]alternative{}, expanding: map[*schema]bool{},
			negated: map[*schema]*schema{}, opened: map[*schema]*schema{}, nameSets: map[*schema]nameSet{},
			names:  map[string]*automaton.Table{},
			values: map[string]*value{}, ready: map[string]*automaton.Table{},
			anyString: &stringSpec{max: -1}}
		first := c.compile()
		if c.failed() {
			return nil, nil, fmt.Errorf("schema: %w", m.Failed())
		}
		if !c.overlapping() {
			return newJSON(v, first, c.order, o, exact), c.notes, nil
		}
	}
}

// overlapping records the branches of oneOf that can hold together, and reports whether there are
// new ones: then the schema is compiled again, and such a branch excludes the other.
func (c *compiler) overlapping() (found bool) {
	for _, x := range c.oneOf {
		if !x.both.possible {
			continue
		}
		found = true
		of := c.overlaps[x.of.from]
		if of == nil {
			of = map[int][]int{}
			c.overlaps[x.of.from] = of
		}
		of[x.i], of[x.j] = append(of[x.i], x.j), append(of[x.j], x.i)
	}
	return found
}

// compile compiles all values that are reachable from the root.
func (c *compiler) compile() *value {
	first := c.valueOf(c.schemaOf(c.document.root))
	for len(c.todo) > 0 && !c.failed() {
		v := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		if c.build(v); len(c.values) > maxValues {
			c.fail(fmt.Errorf("more than %d kinds of values", maxValues))
		}
	}
	if c.satisfy(); !first.possible {
		c.fail(errors.New("no value is valid under it"))
	}
	return first
}

// valueOf returns the value for which all of some schemas hold; build completes it later.
func (c *compiler) valueOf(conj ...*schema) *value {
	c.charge(24 + 8*len(conj))
	conj = slices.DeleteFunc(slices.Clone(conj), func(s *schema) bool { return s.trivial() })
	slices.SortFunc(conj, func(a, b *schema) int { return a.id - b.id })
	conj = slices.Compact(conj)
	a := make(alternative, len(conj))
	for i, s := range conj {
		a[i] = s.id
	}
	key := a.key()
	v := c.values[key]
	if v == nil {
		v = &value{conj: conj}
		c.values[key] = v
		c.order = append(c.order, v)
		c.todo = append(c.todo, v)
	}
	return v
}

// build completes a value.
func (c *compiler) build(v *value) {
	var of *schema // for errors
	var lists [][]alternative
	for _, s := range v.conj {
		of, lists = s, append(lists, c.expand(s))
	}
	var strings []*stringWish
	alts := c.join(of, lists)
	for i := range words {
		if slices.ContainsFunc(alts, func(a alternative) bool { return c.allows(a, words[i][0]) }) {
			v.add(listPart(&words[i]))
		}
	}
	for _, a := range alts {
		if !c.charge(16 + 8*len(a)) {
			return
		}
		c.add(v, a)
		if allowed, _ := c.typesOf(a); allowed&stringType != 0 {
			strings = append(strings, c.wanted(a))
		}
	}
	c.strs(v, strings)
}

// add adds what an alternative allows to a value.
func (c *compiler) add(v *value, a alternative) {
	allowed, whole := c.typesOf(a)
	if allowed&numberType != 0 {
		c.number(v, a, whole)
	}
	if allowed&arrayType != 0 {
		c.array(v, a)
	}
	if allowed&objectType != 0 {
		c.object(v, a)
	}
}

// leftOut notes which texts are left out though they are valid.
func (c *compiler) leftOut(what string) {
	if !slices.Contains(c.notes, what) && len(c.notes) < maxNotes {
		c.notes = append(c.notes, what)
	}
}

// note keeps what is said of a schema; with Strict it is an error.
func (c *compiler) note(what, effect string) {
	if c.options.Strict {
		c.fail(errors.New(what))
	} else if len(c.notes) < maxNotes {
		c.notes = append(c.notes, what+", "+effect)
	}
}
