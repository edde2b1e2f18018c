package schema

// Lists of numbers, and divisors: the exact arithmetic of multipleOf, enum and const.

import (
	"fmt"
	"math/big"
	"slices"
)

// exclusiveBound returns the bound that an exclusive bound leaves: the next whole number, or the
// next float64, so that no text is equal to the bound when a program reads it as a float64.
func exclusiveBound(d *decimal, whole, lower bool) *decimal {
	if d.point > maxPoint { // beyond all numbers; its digits may be a million
		return d
	}
	if !whole {
		return d.neighbour(lower)
	}
	if !d.whole() {
		return d.round(lower)
	}
	if lower {
		return d.floor(1)
	}
	return d.floor(-1)
}

// commonMultiple returns the least common multiple of two fractions.
func commonMultiple(m, d *big.Rat) *big.Rat {
	num, denom := new(big.Int), new(big.Int)
	num.Mul(m.Num(), d.Num()).Div(num, new(big.Int).GCD(nil, nil, m.Num(), d.Num()))
	denom.GCD(nil, nil, m.Denom(), d.Denom())
	return new(big.Rat).SetFrac(num, denom)
}

func tooLargeDivisor(s *schema) error {
	return fmt.Errorf("%s: multipleOf: want numbers whose least common multiple has 17 digits at most",
		s.at())
}

// listed reports whether the numbers come from a list.
func (c *compiler) listed(a alternative) bool {
	return slices.ContainsFunc(a, func(id int) bool {
		return c.all[id].hasTexts && c.all[id].types == numberType
	})
}

// intersectTexts returns the texts that are in both lists; a nil list contains everything.
func intersectTexts(a, b []string) []string {
	both, in, seen := []string{}, map[string]bool{}, map[string]bool{}
	for _, text := range a {
		in[text] = true
	}
	for _, text := range b {
		if (a == nil || in[text]) && !seen[text] {
			seen[text] = true
			both = append(both, text)
		}
	}
	return both
}

// listedNumbers adds the numbers of a list for which the whole alternative holds.
func (c *compiler) listedNumbers(v *value, a alternative, texts []string, whole bool) error {
	var kept []string
	for _, text := range texts {
		if err := c.meter.Charge(64 + len(text)*(1+len(a))); err != nil {
			return err
		}
		d, err := parseDecimal(text)
		if err != nil {
			return err
		}
		if d.point > 4096 || d.point < -4096 {
			return fmt.Errorf("%s: number %.40s is too large or too small", c.all[a[0]].at(), text)
		}
		if (!whole || d.whole()) && c.holdsNumber(a, d) {
			kept = append(kept, text)
		}
	}
	if len(kept) > 0 {
		v.numbers = append(v.numbers, &numberSpec{texts: sortedTexts(kept)})
	}
	return nil
}

// holdsNumber reports whether the keywords for numbers hold for d.
func (c *compiler) holdsNumber(a alternative, d *decimal) bool {
	for _, id := range a {
		s := c.all[id]
		if s.multiple != nil { // a division of long numbers
			figures := len(d.digits) + max(d.point, -d.point)
			if c.meter.Charge(1000+figures*figures/2048) != nil {
				return false
			}
		}
		if s.fraction && d.whole() ||
			s.minimum != nil && d.cmp(s.minimum) < 0 || s.maximum != nil && d.cmp(s.maximum) > 0 ||
			s.exclusiveMin != nil && d.cmp(s.exclusiveMin) <= 0 ||
			s.exclusiveMax != nil && d.cmp(s.exclusiveMax) >= 0 {
			return false
		}
		if s.multiple != nil && !new(big.Rat).Quo(d.rat(), s.multiple).IsInt() {
			return false
		}
	}
	return true
}

func sortedTexts(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}
