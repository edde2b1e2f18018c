package schema

// The specs of numbers: the bounds, divisors and lists of all schemas that must hold, in exact
// arithmetic.

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"picogpt/internal/quote"
)

// A decimal is a number: 0.digits times ten to the power of point. The first and the last digit are
// not 0; zero has no digits.
type decimal struct {
	neg    bool
	digits string
	point  int
}

// parseDecimal reads a number in JSON's syntax.
func parseDecimal(text string) (*decimal, error) {
	d := &decimal{}
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(text[i+1:]); err != nil || exponent > 1e6 || exponent < -1e6 {
			return nil, fmt.Errorf("number %s: want exponents within a million",
				quote.Short(text, 40))
		}
		mantissa = text[:i]
	}
	if len(mantissa) > 4096 {
		return nil, fmt.Errorf("number %s: want 4096 digits at most", quote.Short(text, 40))
	}
	mantissa, d.neg = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	d.point = len(whole) + exponent - (len(whole) + len(fraction) - len(digits))
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		d.point = 0
	}
	return d, nil
}

func (d *decimal) zero() bool { return d.digits == "" }

func (d *decimal) whole() bool { return len(d.digits) <= d.point }

// integer returns the digits before the point, at least one.
func (d *decimal) integer() string { return d.first(d.point) }

// first returns the first n digits, after which zeros follow; 0 if there are none.
func (d *decimal) first(n int) string {
	if n <= 0 {
		return "0"
	}
	digits := d.digits[:min(n, len(d.digits))]
	return digits + strings.Repeat("0", n-len(digits))
}

// units returns the number of the first n digits.
func (d *decimal) units(n int) *big.Int {
	r, _ := new(big.Int).SetString(d.first(n), 10)
	return r
}

// fraction returns the digits after the point.
func (d *decimal) fraction() string {
	switch {
	case len(d.digits) <= d.point:
		return ""
	case d.point >= 0:
		return d.digits[d.point:]
	}
	return strings.Repeat("0", -d.point) + d.digits
}

// cmp compares two decimals.
func (d *decimal) cmp(e *decimal) int {
	a, b := d.sign(), e.sign()
	if a != b || a == 0 {
		return a - b
	}
	return a * cmp.Or(d.point-e.point, strings.Compare(d.digits, e.digits))
}

func (d *decimal) sign() int {
	switch {
	case d.zero():
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// text returns the number as 0.digits, with an exponent.
func (d *decimal) text() string {
	sign := ""
	if d.neg {
		sign = "-"
	}
	return sign + "0." + d.digits + "0e" + strconv.Itoa(d.point)
}

// rat returns the number as a fraction; its exponent must be small.
func (d *decimal) rat() *big.Rat {
	r, _ := new(big.Rat).SetString(d.text())
	return r
}

// neighbour returns the next float64 above or below a number, which is the bound that an exclusive
// one leaves.
func (d *decimal) neighbour(up bool) *decimal {
	f, _ := strconv.ParseFloat(d.text(), 64)
	if math.IsInf(f, 0) {
		return d
	}
	f = math.Nextafter(f, map[bool]float64{true: math.Inf(1), false: math.Inf(-1)}[up])
	return ofFloat(f)
}

func ofFloat(f float64) *decimal {
	f = max(-math.MaxFloat64, min(f, math.MaxFloat64))
	d, _ := parseDecimal(strconv.FormatFloat(f, 'e', -1, 64))
	return d
}

// next returns the nearest number with so many digits after the point, above or below: d itself, if it
// is one and need not differ.
func (d *decimal) next(digits int, up, differs bool) *decimal {
	scaled := &decimal{d.neg, d.digits, d.point + digits}
	if scaled.whole() && !differs {
		return d
	}
	n, step := scaled.units(scaled.point), int64(-1) // of the digits before the point
	if d.neg {
		n.Neg(n)
	}
	if up {
		step = 1
	}
	if scaled.whole() || up != d.neg {
		n.Add(n, big.NewInt(step))
	}
	r, _ := parseDecimal(n.String())
	if !r.zero() {
		r.point -= digits
	}
	return r
}

// inReach returns the bound itself or, if that is so near to 0 that no float64 is between, the next
// float64: no text of a number has a million zeros.
func (d *decimal) inReach(lower bool) *decimal {
	if d.zero() || d.point > -maxPoint {
		return d
	}
	if d.neg == lower { // a lower bound below 0, an upper one above it
		return &decimal{}
	}
	return &decimal{neg: d.neg, digits: "5", point: 1 - mostPower}
}

// laterDecimal returns the number that is further in the direction of a sign; nil is none.
func laterDecimal(a, b *decimal, sign int) *decimal {
	if a == nil || b != nil && sign*b.cmp(a) > 0 {
		return b
	}
	return a
}

// newNumber returns the spec of numbers from lo to hi that are multiples of multiple / 10^scale; a
// bound of nil is none. They are multiples of none of besides / 10^scale.
func newNumber(
	lo, hi *decimal, whole bool, multiple uint64, scale int, besides []uint64,
) *numberSpec {
	s := &numberSpec{whole: whole, multiple: multiple, scale: scale, reachable: map[numberState]bool{},
		besides: besides, modulus: multiple, figures: len(strconv.FormatUint(multiple, 10))}
	for _, m := range besides {
		s.modulus = s.modulus / new(big.Int).GCD(nil, nil, new(big.Int).SetUint64(s.modulus),
			new(big.Int).SetUint64(m)).Uint64() * m
	}
	s.any = lo == nil && hi == nil && multiple == 1 && scale == 0 && besides == nil
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
		lo, hi = lo.next(scale, true, false), hi.next(scale, false, false)
	}
	abs := func(d *decimal) *decimal { return &decimal{digits: d.digits, point: d.point} }
	if lo.cmp(hi) > 0 {
		return s
	}
	if hi.sign() >= 0 {
		s.pos = &bounds{abs(laterDecimal(zero, lo, 1)), abs(hi)}
	}
	if lo.sign() < 0 {
		s.neg = &bounds{abs(laterDecimal(zero, hi, -1)), abs(lo)}
	}
	if s.neg != nil && !s.mayFollow(numberState{phase: numberSign, neg: true}) {
		s.neg = nil // no number follows a sign
	}
	return s
}

// anyNumber has the numbers without bounds, by whether they are whole.
var anyNumber = sync.OnceValue(func() map[bool]*numberSpec {
	return map[bool]*numberSpec{false: newNumber(nil, nil, false, 1, 0, nil), true: newNumber(nil, nil, true, 1, 0, nil)}
})

// number adds the numbers of an alternative to a value.
func (c *compiler) number(v *value, a alternative, whole bool) {
	var lo, hi *decimal
	var texts []string
	for _, id := range a {
		s := c.all[id]
		lo, hi = laterDecimal(lo, s.minimum, 1), laterDecimal(hi, s.maximum, -1)
		if s.hasTexts && s.types == numberType {
			texts = intersectTexts(texts, s.texts)
		}
	}
	if texts != nil {
		c.listedNumbers(v, a, texts, whole)
		return
	}
	multiple, besides, scale, whole := c.divisors(a, whole)
	if !c.charge(400) || slices.Contains(besides, 1) && whole {
		return
	}
	for _, id := range a {
		s := c.all[id]
		if s.exclusiveMin != nil {
			lo = laterDecimal(lo, exclusiveBound(s.exclusiveMin, whole, true), 1)
		}
		if s.exclusiveMax != nil {
			hi = laterDecimal(hi, exclusiveBound(s.exclusiveMax, whole, false), -1)
		}
	}
	if besides != nil { // see maxExact
		i := slices.IndexFunc(a, func(id int) bool { return c.all[id].besides != nil })
		c.leftOut(fmt.Sprintf("%s: numbers that must not be whole, or no multiples, have %d digits at "+
			"most", c.all[a[i]].at(), maxExact))
		most := &decimal{digits: strings.Repeat("9", maxExact-scale), point: maxExact - scale}
		lo = laterDecimal(lo, &decimal{true, most.digits, most.point}, 1)
		hi = laterDecimal(hi, most, -1)
	}
	spec := anyNumber()[whole]
	if lo != nil || hi != nil || multiple != 1 || scale != 0 || besides != nil {
		spec = newNumber(lo, hi, whole, multiple, scale, besides)
	}
	if spec.possible() {
		v.add(part{kind: partNumber, number: spec})
	}
}

// Numbers that must not be multiples have so many digits in all, and in a fraction so many after
// the point. Every float64 holds them, and no program takes a quotient for a whole number.
const (
	maxExact   = 15
	exactPoint = 6
)

// divisors returns what the numbers of an alternative are multiples of, the least common multiple, and
// of what they are none, in units of 10^-scale; and whether they must be whole.
func (c *compiler) divisors(
	a alternative, whole bool,
) (multiple uint64, besides []uint64, scale int, is bool) {
	tooLarge := func() (uint64, []uint64, int, bool) {
		c.fail(fmt.Errorf("%s: multipleOf: want numbers whose least common multiple has 17 digits at most",
			c.all[a[0]].at()))
		return 0, nil, 0, false
	}
	of := big.NewRat(1, 1)
	var divisors, not []*big.Rat
	for _, id := range a {
		s := c.all[id]
		if not = append(not, s.besides...); s.multiple == nil {
			continue
		}
		c.charge(1000)
		if divisors = append(divisors, s.multiple); len(divisors) == 1 {
			of = s.multiple
		} else {
			of = commonMultiple(of, s.multiple)
		}
		if len(of.Num().Bits())+len(of.Denom().Bits()) > 64 {
			return tooLarge()
		}
	}
	most := maxScale
	if whole = whole || divisors != nil && of.IsInt(); !whole && not != nil {
		scale, most = exactPoint, maxExact-1
	}
	power := func(n int) *big.Int {
		return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
	}
	units := func(d *big.Rat) *big.Rat {
		if whole { // it is a multiple of a fraction if it is one of the numerator
			return new(big.Rat).SetInt(d.Num())
		}
		return new(big.Rat).Mul(d, new(big.Rat).SetInt(power(scale)))
	}
	rest := func(d *big.Rat) bool { return !units(d).IsInt() }
	for slices.ContainsFunc(not, rest) || divisors != nil && rest(of) {
		if scale++; scale > most {
			return tooLarge()
		}
	}
	if divisors != nil {
		of = units(of)
	}
	all := of
	for _, d := range not {
		d = units(d)
		all, besides = commonMultiple(all, d), append(besides, d.Num().Uint64())
	}
	if !of.Num().IsUint64() || all.Num().Cmp(power(maxScale)) > 0 { // for arithmetic of remainders
		return tooLarge()
	}
	c.charge(1000 * len(not))
	return of.Num().Uint64(), besides, scale, whole
}

// exclusiveBound returns the bound that an exclusive bound leaves: the next whole number, or the
// next float64, so that no text is equal to the bound when a program reads it as a float64.
func exclusiveBound(d *decimal, whole, lower bool) *decimal {
	if d.point > maxPoint { // beyond all numbers; its digits may be a million
		return d
	}
	if !whole {
		return d.neighbour(lower)
	}
	return d.next(0, lower, true)
}

// commonMultiple returns the least common multiple of two fractions.
func commonMultiple(m, d *big.Rat) *big.Rat {
	num, denom := new(big.Int), new(big.Int)
	num.Mul(m.Num(), d.Num()).Div(num, new(big.Int).GCD(nil, nil, m.Num(), d.Num()))
	denom.GCD(nil, nil, m.Denom(), d.Denom())
	return new(big.Rat).SetFrac(num, denom)
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
func (c *compiler) listedNumbers(v *value, a alternative, texts []string, whole bool) {
	var kept []string
	for _, text := range texts {
		d, err := parseDecimal(text)
		if c.charge(64 + len(text)*(1+len(a))); err == nil && (d.point > 4096 || d.point < -4096) {
			err = fmt.Errorf("%s: number %.40s is too large or too small", c.all[a[0]].at(), text)
		}
		if c.fail(err); c.failed() {
			return
		}
		if (!whole || d.whole()) && c.holdsNumber(a, d) {
			kept = append(kept, text)
		}
	}
	v.addTexts(kept)
}

// holdsNumber reports whether the keywords for numbers hold for d.
func (c *compiler) holdsNumber(a alternative, d *decimal) bool {
	for _, id := range a {
		s := c.all[id]
		if s.multiple != nil || s.besides != nil { // a division of long numbers
			figures := len(d.digits) + max(d.point, -d.point)
			if !c.charge(1000 + figures*figures/2048) {
				return false
			}
		}
		is := func(m *big.Rat) bool { return new(big.Rat).Quo(d.rat(), m).IsInt() }
		if slices.ContainsFunc(s.besides, is) ||
			s.minimum != nil && d.cmp(s.minimum) < 0 || s.maximum != nil && d.cmp(s.maximum) > 0 ||
			s.exclusiveMin != nil && d.cmp(s.exclusiveMin) <= 0 ||
			s.exclusiveMax != nil && d.cmp(s.exclusiveMax) >= 0 ||
			s.multiple != nil && !is(s.multiple) {
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
