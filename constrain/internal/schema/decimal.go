package schema

// Decimal: the bounds of numbers, digit by digit as in JSON.

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

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
func (d *decimal) integer() string {
	switch {
	case d.point <= 0:
		return "0"
	case len(d.digits) >= d.point:
		return d.digits[:d.point]
	}
	return d.digits + strings.Repeat("0", d.point-len(d.digits))
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
	return a * d.cmpMagnitude(e)
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

func (d *decimal) cmpMagnitude(e *decimal) int {
	switch {
	case d.zero() || e.zero():
		return len(d.digits) - len(e.digits)
	case d.point != e.point:
		return d.point - e.point
	}
	return strings.Compare(d.digits, e.digits)
}

// rat returns the number as a fraction; its exponent must be small.
func (d *decimal) rat() *big.Rat {
	r, _ := new(big.Rat).SetString("0" + d.digits + "e" + strconv.Itoa(d.point-len(d.digits)))
	if d.neg {
		r.Neg(r)
	}
	return r
}

// neighbour returns the next float64 above or below a number, which is the bound that an exclusive
// one leaves.
func (d *decimal) neighbour(up bool) *decimal {
	text := "0." + d.digits + "0e" + strconv.Itoa(d.point)
	if d.neg {
		text = "-" + text
	}
	f, _ := strconv.ParseFloat(text, 64)
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

// round returns the next whole number, above or below, or the number itself if it is whole.
func (d *decimal) round(up bool) *decimal {
	switch {
	case d.whole():
		return d
	case up:
		return d.floor(1)
	}
	return d.floor(0)
}

// floor returns the greatest whole number that is not above a number, and more.
func (d *decimal) floor(more int64) *decimal {
	n, _ := new(big.Int).SetString(d.integer(), 10)
	if d.neg {
		n.Neg(n)
		if !d.whole() {
			more--
		}
	}
	r, _ := parseDecimal(n.Add(n, big.NewInt(more)).String())
	return r
}

// roundAt returns the next number with some digits after the point, or the number itself.
func (d *decimal) roundAt(digits int, up bool) *decimal {
	if d.zero() {
		return d
	}
	r := *(&decimal{d.neg, d.digits, d.point + digits}).round(up)
	if !r.zero() {
		r.point -= digits
	}
	return &r
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
