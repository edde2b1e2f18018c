package schema

// Alternatives: combinations of plain schemas that must hold together.

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// An alternative is the ids of plain schemas, ascending, all of which must hold. Their $ref, allOf,
// anyOf, oneOf, enum and const no longer count.
type alternative []int

// join returns the alternatives in which one of each list holds. Lists with only one entry come
// first, so that they are visited once and not with each combination.
func (c *compiler) join(s *schema, lists [][]alternative) ([]alternative, error) {
	common := alternative{}
	var choices [][]alternative
	for _, list := range lists {
		if len(list) == 1 {
			common = append(common, list[0]...)
		} else {
			choices = append(choices, list)
		}
	}
	if err := c.meter.Charge(8 + 8*len(common) + 2*len(lists)); err != nil {
		return nil, err
	}
	slices.Sort(common)
	common = slices.Compact(common)
	if allowed, _ := c.typesOf(common); allowed == 0 {
		return nil, nil
	}
	alts := []alternative{common}
	for _, list := range choices {
		var err error
		if alts, err = c.cross(s, alts, list); err != nil {
			return nil, err
		}
	}
	return alts, nil
}

// cross returns the alternatives in which one of a and one of b hold.
func (c *compiler) cross(s *schema, a, b []alternative) (both []alternative, err error) {
	left := make([]types, len(b))
	for j, y := range b {
		left[j], _ = c.typesOf(y)
		if err := c.meter.Charge(8 + len(y)); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for _, x := range a {
		allowed, _ := c.typesOf(x)
		if err := c.meter.Charge(len(x) + len(b)); err != nil {
			return nil, err
		}
		for j, y := range b {
			if allowed&left[j] == 0 {
				continue
			}
			if err := c.meter.Charge(16 + 2*len(x) + 2*len(y)); err != nil {
				return nil, err
			}
			z := x.and(y)
			if key := z.key(); !seen[key] {
				seen[key] = true
				both = append(both, z)
			}
			if len(both) > maxAlternatives {
				return nil, fmt.Errorf("%s: more than %d combinations of alternatives", s.at(),
					maxAlternatives)
			}
		}
	}
	return both, nil
}

// and returns the ids of both, ascending.
func (a alternative) and(b alternative) alternative {
	both := make(alternative, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		id := min(a[0], b[0])
		both = append(both, id)
		if a[0] == id {
			a = a[1:]
		}
		if b[0] == id {
			b = b[1:]
		}
	}
	return append(append(both, a...), b...)
}

// key returns a string that is the same for equal alternatives and differs for others.
func (a alternative) key() string {
	b := make([]byte, 0, 4*len(a))
	for _, id := range a {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return string(b)
}

// typesOf returns the types that all schemas of an alternative allow, without integerType, and
// whether numbers must be whole.
func (c *compiler) typesOf(a alternative) (allowed types, whole bool) {
	allowed = nullType | booleanType | numberType | stringType | arrayType | objectType
	for _, id := range a {
		t := c.all[id].types
		if t == 0 {
			continue
		}
		if t&integerType != 0 && t&numberType == 0 {
			whole = true
			t |= numberType
		}
		allowed &= t &^ integerType
	}
	return allowed, whole
}
