package schema

// Expand: references and combinations of schemas become alternatives of plain ones.

import (
	"fmt"
	"slices"
)

// expand returns the alternatives of a schema.
func (c *compiler) expand(s *schema) (alts []alternative, err error) {
	if alts, ok := c.expanded[s]; ok {
		return alts, nil
	}
	if c.expanding[s] {
		return nil, fmt.Errorf("%s: $ref leads back here without a part of the value between",
			s.at())
	}
	if err := c.deeper(s.from); err != nil {
		return nil, err
	}
	c.expanding[s] = true
	defer func() {
		c.depth--
		delete(c.expanding, s)
	}()
	if s.never {
		c.expanded[s] = nil
		return nil, nil
	}
	lists, err := c.lists(s)
	if err != nil {
		return nil, err
	}
	if alts, err = c.join(s, lists); err != nil {
		return nil, err
	}
	c.expanded[s] = alts
	return alts, c.exclude(s)
}

// lists returns lists of alternatives; one of each list must hold.
func (c *compiler) lists(s *schema) (lists [][]alternative, err error) {
	if s.plain() {
		lists = append(lists, []alternative{{s.id}})
	}
	if s.hasEnum {
		alts, err := c.enumerated(s.enum)
		if err != nil {
			return nil, err
		}
		lists = append(lists, alts)
	}
	all := slices.Clone(s.allOf)
	if s.ref != nil {
		all = append(all, s.ref)
	}
	all = append(all, s.also...)
	if s.not != nil {
		none, err := c.negate(c.open(s.not))
		if err != nil {
			return nil, err
		}
		all = append(all, none)
	}
	for _, part := range all {
		alts, err := c.expand(part)
		if err != nil {
			return nil, err
		}
		lists = append(lists, alts)
	}
	one, err := c.alone(s)
	if err != nil {
		return nil, err
	}
	cases, err := c.cases(s)
	if err != nil {
		return nil, err
	}
	for _, choice := range [][]*schema{s.anyOf, one, cases} {
		if choice == nil {
			continue
		}
		var union []alternative
		for _, part := range choice {
			alts, err := c.expand(part)
			if err != nil {
				return nil, err
			}
			if err := c.meter.Charge(4 + len(alts)); err != nil {
				return nil, err
			}
			union = append(union, alts...)
		}
		lists = append(lists, union)
	}
	return lists, nil
}

// alone returns the branches of a oneOf, each without those that could hold with it.
func (c *compiler) alone(s *schema) ([]*schema, error) {
	one := slices.Clone(s.oneOf)
	for i := range one {
		parts := []*schema{one[i]}
		for _, j := range c.overlaps[s.from][i] {
			n, err := c.negate(c.open(s.oneOf[j]))
			if err != nil {
				return nil, fmt.Errorf("%s: oneOf of which branches %d and %d can both hold: %w", s.at(),
					min(i, j), max(i, j), err)
			}
			parts = append(parts, n)
		}
		if len(parts) > 1 {
			one[i] = c.allOf(s.from, parts...)
		}
	}
	return one, nil
}

// cases returns the two alternatives of if: it holds with then, or does not hold with else.
func (c *compiler) cases(s *schema) ([]*schema, error) {
	if s.when == nil {
		return nil, nil
	}
	when := c.open(s.when)
	yes, no := []*schema{when}, []*schema{}
	if s.then != nil {
		yes = append(yes, s.then)
	}
	n, err := c.negate(when)
	if err != nil {
		return nil, err
	}
	if no = append(no, n); s.otherwise != nil {
		no = append(no, s.otherwise)
	}
	return []*schema{c.allOf(s.from, yes...), c.allOf(s.from, no...)}, nil
}

// exclude records that no two branches of a oneOf may hold together.
func (c *compiler) exclude(s *schema) error {
	if len(s.oneOf) < 2 {
		return nil
	}
	rest := *s                            // all other keywords
	rest.id, rest.oneOf = len(c.all), nil // the conditions too
	c.all = append(c.all, &rest)
	apart, pairs := c.tagged(s.oneOf), 0
	for i := range s.oneOf {
		for j := range i {
			if err := c.meter.Charge(2); err != nil {
				return err
			}
			if apart(i, j) {
				continue
			}
			if pairs++; pairs > maxPairs {
				return fmt.Errorf("%s: oneOf of %d branches, want a required property with another const "+
					"in each, or %d at most", s.at(), len(s.oneOf), maxBranches)
			}
			if slices.Contains(c.overlaps[s.from][i], j) {
				continue
			}
			both := c.valueOf(c.open(&rest), c.open(s.oneOf[i]), c.open(s.oneOf[j]))
			c.oneOf = append(c.oneOf, exclusive{s, j, i, both})
		}
	}
	return nil
}

// plain reports whether a schema itself restricts values.
func (s *schema) plain() bool {
	return s.types != 0 || s.hasTexts || s.fraction || s.minimum != nil || s.maximum != nil ||
		s.exclusiveMin != nil || s.exclusiveMax != nil || s.multiple != nil || s.minLength > 0 ||
		s.maxLength >= 0 || s.pattern != nil || s.unlike != "" || s.format != "" || s.isObject() || s.isArray()
}

func (s *schema) isObject() bool {
	return len(s.properties) > 0 || len(s.patterns) > 0 || s.additional != nil || s.names != nil ||
		len(s.required) > 0 || s.minProperties > 0 || s.maxProperties >= 0 || s.closes || s.opens
}

func (s *schema) isArray() bool {
	return len(s.prefix) > 0 || s.items != nil || s.minItems > 0 || s.maxItems >= 0 || s.unique
}
