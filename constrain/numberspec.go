package constrain

// The specs of numbers: the bounds and divisors of all schemas that must hold.

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
)

// newNumber returns the spec of numbers from lo to hi; nil means no bound.
func newNumber(lo, hi *decimal, whole bool, multiple uint64) *numberSpec {
	s := &numberSpec{whole: whole, multiple: multiple, reachable: map[numberState]bool{},
		figures: len(strconv.FormatUint(multiple, 10))}
	s.wide = lo == nil && hi == nil && !whole
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
	if whole {
		lo, hi = lo.round(true), hi.round(false)
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
	if s.neg != nil { // a number must follow a sign
		ok := false
		for _, b := range []byte("0123456789") {
			_, digit := s.step(numberState{phase: numberSign, neg: true}, b)
			ok = ok || digit
		}
		if !ok {
			s.neg = nil
		}
	}
	return s
}

// number adds the numbers of an alternative to a value.
func (c *schemaCompiler) number(v *value, a alternative, whole bool) error {
	var lo, hi *decimal
	multiple := big.NewRat(1, 1)
	var texts []string
	for _, id := range a {
		s := c.all[id]
		lo, hi = laterDecimal(lo, s.minimum, 1), laterDecimal(hi, s.maximum, -1)
		if s.multiple != nil && s.multiple.IsInt() {
			whole = true
		}
	}
	for _, id := range a {
		s := c.all[id]
		if s.exclusiveMin != nil {
			lo = laterDecimal(lo, exclusiveBound(s.exclusiveMin, whole, true), 1)
		}
		if s.exclusiveMax != nil {
			hi = laterDecimal(hi, exclusiveBound(s.exclusiveMax, whole, false), -1)
		}
		if s.multiple != nil {
			if !whole && !c.listed(a) {
				return wholeOnly(s)
			}
			if multiple = leastMultiple(multiple, s.multiple); tooLarge64(multiple) {
				return tooLargeDivisor(c.all[a[0]])
			}
			if err := c.meter.charge(1000); err != nil {
				return err
			}
		}
		if s.hasTexts && s.types == numberType {
			texts = intersectTexts(texts, s.texts)
		}
	}
	fraction := slices.IndexFunc(a, func(id int) bool { return c.all[id].fraction })
	switch {
	case fraction < 0 || texts != nil:
	case whole:
		return nil
	default: // which digits make a number whole depends on who reads it
		return fmt.Errorf("%s: keyword type integer is not supported under not, if, and in branches of "+
			"oneOf of which two can hold, unless the numbers are whole or listed", c.all[a[fraction]].at())
	}
	m := multiple.Num().Uint64()
	if texts != nil {
		return c.listedNumbers(v, a, texts, whole)
	}
	spec := c.anyNumber[whole]
	if err := c.meter.charge(400); err != nil {
		return err
	}
	if spec == nil || lo != nil || hi != nil || m != 1 {
		spec = newNumber(lo, hi, whole, m)
		if spec.any = lo == nil && hi == nil && m == 1; spec.any {
			c.anyNumber[whole] = spec
		}
	}
	if spec.possible() && !slices.Contains(v.numbers, spec) {
		v.numbers = append(v.numbers, spec)
	}
	return nil
}

// tooLarge64 reports whether a divisor is too large for the arithmetic of remainders.
func tooLarge64(m *big.Rat) bool { return !m.Num().IsUint64() || m.Num().Uint64() > 1e17 }
