package schema

// The specs of numbers: the bounds and divisors of all schemas that must hold.

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
)

// newNumber returns the spec of numbers from lo to hi that are multiples of multiple / 10^scale; a
// bound of nil is none.
func newNumber(lo, hi *decimal, whole bool, multiple uint64, scale int) *numberSpec {
	s := &numberSpec{whole: whole, multiple: multiple, scale: scale, reachable: map[numberState]bool{},
		figures: len(strconv.FormatUint(multiple, 10))}
	s.wide = lo == nil && hi == nil && !whole && scale == 0
	zero := &decimal{}
	most := ofFloat(math.MaxFloat64)
	least := &decimal{true, most.digits, most.point}
	if lo == nil || lo.cmp(least) < 0 {
		lo = least
	}
	if hi == nil || hi.cmp(most) > 0 {
		hi = most
	}
	lo, hi = lo.inReach(true), hi.inReach(false)
	if whole || scale > 0 {
		lo, hi = lo.roundAt(scale, true), hi.roundAt(scale, false)
	}
	abs := func(d *decimal) *decimal { return &decimal{digits: d.digits, point: d.point} }
	if lo.cmp(hi) > 0 {
		return s
	}
	if hi.sign() >= 0 {
		from := zero
		if lo.sign() > 0 {
			from = lo
		}
		s.pos = newBounds(abs(from), abs(hi))
	}
	if lo.sign() < 0 {
		from := zero
		if hi.sign() < 0 {
			from = hi
		}
		s.neg = newBounds(abs(from), abs(lo))
	}
	if s.neg != nil && !s.mayFollow(numberState{phase: numberSign, neg: true}) {
		s.neg = nil // no number follows a sign
	}
	return s
}

// number adds the numbers of an alternative to a value.
func (c *compiler) number(v *value, a alternative, whole bool) error {
	var lo, hi *decimal
	var texts []string
	multiple, scale, whole, err := c.multipleOf(a, whole)
	if err != nil {
		return err
	}
	for _, id := range a {
		s := c.all[id]
		lo, hi = laterDecimal(lo, s.minimum, 1), laterDecimal(hi, s.maximum, -1)
	}
	for _, id := range a {
		s := c.all[id]
		if s.exclusiveMin != nil {
			lo = laterDecimal(lo, exclusiveBound(s.exclusiveMin, whole, true), 1)
		}
		if s.exclusiveMax != nil {
			hi = laterDecimal(hi, exclusiveBound(s.exclusiveMax, whole, false), -1)
		}
		if s.hasTexts && s.types == numberType {
			texts = intersectTexts(texts, s.texts)
		}
	}
	fraction := slices.IndexFunc(a, func(id int) bool { return c.all[id].fraction })
	switch {
	case texts != nil:
		return c.listedNumbers(v, a, texts, whole)
	case fraction < 0:
	case whole:
		return nil
	default: // which digits make a number whole depends on who reads it
		return fmt.Errorf("%s: keyword type integer is not supported under not, if, and in branches of "+
			"oneOf of which two can hold, unless the numbers are whole or listed", c.all[a[fraction]].at())
	}
	if err := c.meter.Charge(400); err != nil {
		return err
	}
	spec := c.anyNumber[whole]
	free := lo == nil && hi == nil && multiple == 1 && scale == 0
	if spec == nil || !free {
		spec = newNumber(lo, hi, whole, multiple, scale)
		if spec.any = free; free {
			c.anyNumber[whole] = spec
		}
	}
	if spec.possible() && !slices.Contains(v.numbers, spec) {
		v.numbers = append(v.numbers, spec)
	}
	return nil
}

// multipleOf returns the least common multiple of the divisors of an alternative, as a multiple of
// 10^-scale, and whether the numbers must be whole.
func (c *compiler) multipleOf(a alternative, whole bool) (uint64, int, bool, error) {
	if c.listed(a) {
		whole = whole || slices.ContainsFunc(a, func(id int) bool {
			return c.all[id].multiple != nil && c.all[id].multiple.IsInt()
		})
		return 1, 0, whole, nil
	}
	var common *big.Rat // of all divisors, as fractions
	for _, id := range a {
		s := c.all[id]
		if s.multiple == nil {
			continue
		}
		if err := c.meter.Charge(1000); err != nil {
			return 0, 0, false, err
		}
		if common == nil {
			common = s.multiple
		} else {
			common = commonMultiple(common, s.multiple)
		}
		if len(common.Num().Bits())+len(common.Denom().Bits()) > 64 {
			return 0, 0, false, tooLargeDivisor(c.all[a[0]])
		}
	}
	if common == nil {
		return 1, 0, whole, nil
	}
	if whole = whole || common.IsInt(); whole {
		// a whole number is a multiple of a fraction if it is one of the numerator
		common = new(big.Rat).SetInt(common.Num())
	}
	multiple, scale, ten := new(big.Rat).Set(common), 0, big.NewRat(10, 1)
	for ; !multiple.IsInt(); scale++ {
		if multiple.Mul(multiple, ten); scale >= maxScale {
			return 0, 0, false, tooLargeDivisor(c.all[a[0]])
		}
	}
	if !multiple.Num().IsUint64() || multiple.Num().Uint64() > 1e17 { // for arithmetic of remainders
		return 0, 0, false, tooLargeDivisor(c.all[a[0]])
	}
	return multiple.Num().Uint64(), scale, whole, nil
}
