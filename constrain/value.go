package constrain

// Value: the allowed JSON values, compiled from the schemas that must hold.

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A value is a set of JSON values, by their type.
type value struct {
	conj     []*schema // the schemas that it is compiled from
	null     bool
	yes, no  bool
	numbers  []*numberSpec
	strings  []*stringSpec
	arrays   []*arraySpec
	objects  []*objectSpec
	possible bool // there is such a value
}

// SchemaOptions decide what a schema leaves open about the text of JSON.
type SchemaOptions struct {
	// Space is the white space between the parts of the text. 0 means at most one space after each
	// colon and each comma. NoSpace means none. n above 0 means up to n spaces, tabs and newlines
	// wherever JSON allows them, except at the beginning and the end of the text.
	Space int

	// Closed forbids properties that neither properties nor patternProperties contains, in objects
	// whose schema has one of the two and no additionalProperties; it has the effect of
	// additionalProperties false. If required names such a property, there is no such object.
	Closed bool

	// Strict refuses schemas of which [Constraint.Notes] would say something.
	Strict bool
}

// NoSpace is the SchemaOptions.Space of text without white space.
const NoSpace = -1

// JSONSchema returns the constraint that a text is JSON that a schema of draft 2020-12 accepts. The
// package comment lists the supported keywords; others that restrict are errors.
func JSONSchema(v *Vocabulary, text []byte, o SchemaOptions) (*Constraint, error) {
	return Compiler{Vocabulary: v}.JSONSchema(context.Background(), text, o)
}

func jsonSchema(v *Vocabulary, text []byte, o SchemaOptions, m *meter) (*Constraint, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("schema: %d bytes, want %d at most", len(text), maxSchemaBytes)
	}
	if o.Space < NoSpace || o.Space > maxSpace {
		return nil, fmt.Errorf("white space %d: want from %d to %d", o.Space, NoSpace, maxSpace)
	}
	root, err := parseJSON(string(text), m)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	overlaps := map[*jsonValue]map[int][]int{}
	for {
		c := &schemaCompiler{options: o, root: root, meter: m, plain: v.plainly, overlaps: overlaps,
			schemas: map[*jsonValue]*schema{}, constants: map[*jsonValue]*schema{},
			expanded: map[*schema][]alternative{}, expanding: map[*schema]bool{},
			negated: map[*schema]*schema{}, nameSets: map[*schema]nameSet{},
			values: map[string]*value{}, tables: map[string]*table{},
			anyString: &stringSpec{max: -1}, anyNumber: map[bool]*numberSpec{}}
		first, err := c.compile()
		if err != nil {
			return nil, fmt.Errorf("schema: %w", err)
		}
		if !c.overlapping() {
			return &Constraint{newJSON(v, first, c.order, o), c.notes}, nil
		}
	}
}

// overlapping records the branches of oneOf that can hold together, and reports whether there are
// new ones: then the schema is compiled again, and such a branch excludes the other.
func (c *schemaCompiler) overlapping() (found bool) {
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
func (c *schemaCompiler) compile() (*value, error) {
	s, err := c.schemaOf(c.root)
	if err != nil {
		return nil, err
	}
	first := c.valueOf(s)
	for len(c.todo) > 0 {
		v := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		if err := c.build(v); err != nil {
			return nil, err
		}
		if err := c.meter.failed(); err != nil {
			return nil, err
		}
		if len(c.values) > maxValues {
			return nil, fmt.Errorf("more than %d kinds of values", maxValues)
		}
	}
	if err := c.satisfy(); err != nil {
		return nil, err
	}
	switch {
	case !first.possible && c.missing != "":
		return nil, fmt.Errorf("no value is valid under it: %s", c.missing)
	case !first.possible:
		return nil, errors.New("no value is valid under it")
	}
	return first, nil
}

// valueOf returns the value for which all of some schemas hold; build completes it later.
func (c *schemaCompiler) valueOf(conj ...*schema) *value {
	c.meter.charge(24 + 8*len(conj))
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

// trivial reports whether a schema accepts everything.
func (s *schema) trivial() bool {
	return !s.never && !s.plain() && !s.hasEnum && s.ref == nil && s.allOf == nil &&
		s.anyOf == nil && s.oneOf == nil && s.also == nil && s.not == nil && s.when == nil
}

// build completes a value.
func (c *schemaCompiler) build(v *value) (err error) {
	var of *schema // for errors
	var lists [][]alternative
	for _, s := range v.conj {
		alts, err := c.expand(s)
		if err != nil {
			return err
		}
		of, lists = s, append(lists, alts)
	}
	alts, err := c.join(of, lists)
	if err != nil {
		return err
	}
	for _, a := range alts {
		if err := c.add(v, a); err != nil {
			return err
		}
	}
	return nil
}

// add adds what an alternative allows to a value.
func (c *schemaCompiler) add(v *value, a alternative) error {
	if err := c.meter.charge(16 + 8*len(a)); err != nil {
		return err
	}
	allowed, whole := c.typesOf(a)
	v.null = v.null || allowed&nullType != 0
	if allowed&booleanType != 0 {
		v.yes = v.yes || c.allows(a, "true")
		v.no = v.no || c.allows(a, "false")
	}
	if allowed&numberType != 0 {
		if err := c.number(v, a, whole); err != nil {
			return err
		}
	}
	if allowed&stringType != 0 {
		if err := c.str(v, a); err != nil {
			return err
		}
	}
	if allowed&arrayType != 0 {
		c.array(v, a)
	}
	if allowed&objectType != 0 {
		return c.object(v, a)
	}
	return nil
}

// allows reports whether the lists of an alternative contain a word.
func (c *schemaCompiler) allows(a alternative, word string) bool {
	for _, id := range a {
		s := c.all[id]
		c.meter.charge(len(s.texts))
		if s.hasTexts && !slices.Contains(s.texts, word) {
			return false
		}
	}
	return true
}

// An arraySpec says which arrays are allowed.
type arraySpec struct {
	prefix   []*value
	items    *value
	min, max int // max -1: any number
	unique   bool
	from     *schema // for errors
}

// item returns the value of the i-th item.
func (s *arraySpec) item(i int) *value {
	if i < len(s.prefix) {
		return s.prefix[i]
	}
	return s.items
}

// array adds the arrays of an alternative to a value.
func (c *schemaCompiler) array(v *value, a alternative) {
	s := &arraySpec{max: -1}
	prefix := 0
	for _, id := range a {
		p := c.all[id]
		s.min = max(s.min, p.minItems)
		if p.unique {
			s.unique, s.from = true, p
		}
		if p.maxItems >= 0 && (s.max < 0 || p.maxItems < s.max) {
			s.max = p.maxItems
		}
		prefix = max(prefix, len(p.prefix))
	}
	if s.max >= 0 && s.min > s.max {
		return
	}
	for i := range prefix + 1 {
		if c.meter.charge(4+4*len(a)) != nil {
			return // build returns the error
		}
		var conj []*schema
		for _, id := range a {
			switch p := c.all[id]; {
			case i < len(p.prefix):
				conj = append(conj, p.prefix[i])
			case p.items != nil:
				conj = append(conj, p.items)
			}
		}
		if item := c.valueOf(conj...); i < prefix {
			s.prefix = append(s.prefix, item)
		} else {
			s.items = item
		}
	}
	v.arrays = append(v.arrays, s)
}
