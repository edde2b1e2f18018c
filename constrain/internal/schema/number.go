package schema

// Number: the numbers of JSON between two bounds, digit by digit; and whether the digits so far are
// a number of the spec, or can become one.

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"sync"

	"picogpt/constrain/internal/automaton"
)

// A numberSpec says which numbers are allowed: within bounds, perhaps whole, perhaps multiples.
//
// Whole numbers are written in digits. Others have a point or, below 1e-6, one digit before the
// point and an exponent, as encoding/json writes them. Without bounds any JSON number is allowed if
// a float64 can hold its value.
type numberSpec struct {
	whole     bool
	wide      bool // no bounds: any exponent
	any       bool // no bounds, no divisor
	pos, neg  *bounds
	besides   []uint64 // in the same units, what they are no multiples of
	modulus   uint64   // the least common multiple of all these
	multiple  uint64   // 1 or more, for whole numbers and those of a scale
	scale     int      // digits after the point at most; multiple is of 10^-scale; 0 for others
	figures   int      // digits of multiple
	mu        sync.Mutex
	reachable map[numberState]bool // results of multiples
}

// bounds are those of a magnitude, lo ≤ x ≤ hi.
type bounds struct{ lo, hi *decimal }

// holds reports whether some number with this point that begins with the digits so far, one of which
// is not 0, is within the bounds.
func (b *bounds) holds(st numberState, point int) bool {
	return (b.lo.zero() || point > b.lo.point || point == b.lo.point && st.lo >= 0) &&
		!b.hi.zero() && (point < b.hi.point || point == b.hi.point && st.hi <= 0)
}

// A numberState is the state within a number. The zero value is before its first byte. What differs
// in nothing that matters is one state: zeros and digits are counted up to where bounds end.
type numberState struct {
	phase  phase
	neg    bool
	point  int16  // the number is 0.digits times ten to it, while no digit follows before its point
	digits uint16 // from the first that is not 0 on
	lo, hi int8   // the digits compared with those of the bounds: -1, 0, 1
	at     uint8  // number of digits after the point, if there is a scale
	expNeg bool
	exp    uint16
	expLen uint8
	rest   uint64 // the value modulo modulus
}

type phase uint8

const (
	numberStart   phase = iota
	numberSign          // - was read
	numberDigits        // digits, the first is not 0
	numberZero          // 0
	numberPoint         // the point
	numberDecimal       // digits after it
	numberExp           // e
	numberExpSign       // its sign
	numberExpEnd        // its digits
)

const (
	leastPower = 7   // encoding/json writes exponents from e-7
	mostPower  = 324 // the least float64 is 5e-324
)

func (s *numberSpec) side(st numberState) *bounds {
	if st.neg {
		return s.neg
	}
	return s.pos
}

// step returns the state after a byte; ok is false if no number continues like this.
func (s *numberSpec) step(st numberState, b byte) (next numberState, ok bool) {
	switch {
	case st.phase == numberStart && b == '-':
		if s.neg == nil {
			return st, false
		}
		return numberState{phase: numberSign, neg: true}, true
	case st.phase <= numberDecimal && st.phase != numberZero && b >= '0' && b <= '9':
		next, ok = s.digit(st, b)
	case (st.phase == numberDigits || st.phase == numberZero) && b == '.' && !s.whole:
		next, ok = st, true
		if next.phase = numberPoint; s.wide { // then nothing else matters
			next = numberState{phase: numberPoint, neg: st.neg, point: st.point}
		}
	case b == 'e' || b == 'E' && s.wide:
		return s.exponent(st)
	case st.phase == numberExp && (b == '-' || b == '+' && s.wide):
		st.phase, st.expNeg = numberExpSign, b == '-'
		return st, true
	case (st.phase == numberExp && s.wide || st.phase >= numberExpSign) && b >= '0' && b <= '9':
		return s.exponentDigit(st, b)
	}
	return next, ok && s.live(next)
}

// digit reads a digit before or after the point.
func (s *numberSpec) digit(st numberState, b byte) (numberState, bool) {
	side, after := s.side(st), st.phase >= numberPoint
	switch {
	case side == nil || after && s.scale > 0 && int(st.at) >= s.scale:
		return st, false
	case after:
		st.phase = numberDecimal
		if s.wide {
			return st, true
		}
		if s.scale > 0 {
			st.at++
		}
	case b == '0' && st.digits == 0:
		st.phase = numberZero
	default:
		st.phase = numberDigits
		st.point++
	}
	if s.modulus > 1 {
		st.rest = (st.rest*10 + uint64(b-'0')) % s.modulus
	}
	if st.digits == 0 && b == '0' {
		if after && (s.scale > 0 || int(st.point) >= min(side.lo.point, side.hi.point)) {
			st.point--
		}
		return st, true
	}
	if i := int(st.digits); st.lo == 0 {
		st.lo = against(b, side.lo.digits, i)
	}
	if i := int(st.digits); st.hi == 0 {
		st.hi = against(b, side.hi.digits, i)
	}
	st.digits = min(st.digits+1, uint16(max(len(side.lo.digits), len(side.hi.digits), 1)))
	return st, true
}

// against compares a digit with the i-th digit of digits, after which zeros follow.
func against(b byte, digits string, i int) int8 {
	d := byte('0')
	if i < len(digits) {
		d = digits[i]
	}
	return int8(cmp.Compare(b, d))
}

// ended returns the state of a number without more digits.
func (s *numberSpec) ended(st numberState) numberState {
	if st.lo == 0 && int(st.digits) < len(s.side(st).lo.digits) {
		st.lo = -1
	}
	return st
}

// exponent reads e.
func (s *numberSpec) exponent(st numberState) (numberState, bool) {
	switch st.phase {
	case numberDigits, numberZero, numberDecimal:
	default:
		return st, false
	}
	if s.wide {
		return numberState{phase: numberExp, neg: st.neg, point: st.point}, true
	}
	st = s.ended(st)
	lo, hi := s.powers(st)
	return numberState{phase: numberExp, neg: st.neg, point: st.point, lo: st.lo, hi: st.hi}, lo <= hi
}

// powers returns the range of n for which the digits, with the point after the first of them, times
// ten to the power -n are within the bounds, for some continuation of the digits. There is none if
// the number is not written so.
func (s *numberSpec) powers(st numberState) (lo, hi int) {
	side := s.side(st)
	if s.whole || s.scale > 0 || st.point != 1 || side.hi.zero() {
		return 1, 0
	}
	lo, hi = leastPower, mostPower
	if !side.lo.zero() { // lo is digits times ten to the power point-1
		n := 1 - side.lo.point
		if st.lo < 0 {
			n--
		}
		hi = min(hi, n)
	}
	n := 1 - side.hi.point
	if st.hi > 0 {
		n++
	}
	return max(lo, n), hi
}

// exponentDigit reads a digit of the exponent.
func (s *numberSpec) exponentDigit(st numberState, b byte) (numberState, bool) {
	if st.expLen == 3 || !s.wide && st.expLen == 0 && b == '0' {
		return st, false
	}
	st.phase = numberExpEnd
	st.expLen++
	st.exp = st.exp*10 + uint16(b-'0')
	if s.wide {
		most := mostPower
		if !st.expNeg {
			most = max(0, 308-max(1, int(st.point)))
		}
		return st, int(st.exp) <= most
	}
	lo, hi := s.powers(st)
	for least, most := int(st.exp), int(st.exp); least <= hi; least, most = least*10, most*10+9 {
		if most >= lo {
			return st, true
		}
	}
	return st, false
}

// live reports whether a number can still end within the bounds.
func (s *numberSpec) live(st numberState) bool {
	side, point := s.side(st), int(st.point)
	switch {
	case s.wide: // only numbers that no float64 can hold are left out
		return point < side.hi.point || point == side.hi.point && st.hi <= 0
	case s.modulus > 1 || s.scale > 0:
		return s.multiples(st)
	case st.digits == 0 && st.phase == numberZero:
		return side.lo.zero() || !s.whole && side.lo.point <= 0
	case st.digits == 0:
		return side.lo.zero() || side.lo.point <= point
	}
	if lo, hi := s.powers(st); lo <= hi {
		return true
	}
	if st.phase != numberDigits {
		return side.holds(st, point)
	}
	for point = max(point, side.lo.point); point <= side.hi.point; point++ { // of the first three, or none
		if side.holds(st, point) {
			return true
		}
	}
	return false
}

// multiples is live for multiples: it reports whether one of them begins with the digits so far.
func (s *numberSpec) multiples(st numberState) bool {
	side, point := s.side(st), int(st.point)
	// a length that does not reach the bounds
	if st.phase == numberDigits && s.besides == nil {
		most := side.hi.point - 1
		if most > max(1, side.lo.point) && most-point >= s.figures {
			return true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if live, ok := s.reachable[st]; ok {
		return live
	}
	live := false
	if st.phase != numberDigits {
		live = s.anyMultiple(st, side, point, s.scale-int(st.at))
	}
	for n := max(point, side.lo.point); st.phase == numberDigits && n <= side.hi.point && !live; n++ {
		live = s.anyMultiple(st, side, n, n-point+s.scale)
	}
	if len(s.reachable) < maxReachable {
		s.reachable[st] = live
	}
	return live
}

// anyMultiple reports whether a multiple with this point has the digits so far and more ones. Of
// digits that are those of no bound, only their rest matters.
func (s *numberSpec) anyMultiple(st numberState, side *bounds, point, more int) bool {
	power, width := 1%s.modulus, uint64(1) // ten to the power more, modulo modulus and if it is less than 2^63
	for range more {
		power = power * 10 % s.modulus
		width = min(width, math.MaxInt64/10) * 10
	}
	hi, lo := bits.Mul64((st.rest+1)%s.modulus, power)
	last, known := (bits.Rem64(hi, lo, s.modulus)+s.modulus-1)%s.modulus, &decimal{} // modulo modulus
	switch {
	case st.digits == 0:
	case !side.holds(st, point):
		return false
	case st.lo == 0 && point == side.lo.point:
		known = side.lo
	case st.hi == 0 && point == side.hi.point:
		known = side.hi
	default:
		known = nil
	}
	if known != nil {
		first := known.units(int(st.point) + int(st.at))
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(more)), nil)
		first.Mul(first, ten)
		to := ten.Add(first, ten).Sub(ten, big.NewInt(1))
		if lo := side.lo.units(side.lo.point + s.scale); lo.Cmp(first) > 0 {
			first = lo
		}
		if hi := side.hi.units(side.hi.point + s.scale); hi.Cmp(to) < 0 {
			to = hi
		}
		last = new(big.Int).Mod(to, new(big.Int).SetUint64(s.modulus)).Uint64()
		if width = 0; to.Cmp(first) >= 0 {
			width = math.MaxInt64
			if to.Sub(to, first).IsInt64() {
				width = to.Uint64() + 1
			}
		}
	}
	below := last % s.multiple // what the multiple that is tried is below the last number
	for tried := 0; below < width && tried < maxTried; tried++ {
		if s.holds((last + s.modulus - below%s.modulus) % s.modulus) {
			return true
		}
		below += s.multiple
	}
	return false
}

// maxTried is the number of multiples among which one must be that is no multiple of besides: what
// leads to others only is not followed.
const maxTried = 256

// holds reports whether a value modulo modulus is a multiple, and of none of besides.
func (s *numberSpec) holds(rest uint64) bool {
	return rest%s.multiple == 0 &&
		!slices.ContainsFunc(s.besides, func(m uint64) bool { return rest%m == 0 })
}

// isMultiple reports whether the digits so far are a multiple.
func (s *numberSpec) isMultiple(st numberState) bool {
	if s.modulus <= 1 {
		return true
	}
	rest := st.rest
	for range s.scale - int(st.at) {
		rest = rest * 10 % s.modulus
	}
	return s.holds(rest)
}

// accepts reports whether the text is a number of the spec.
func (s *numberSpec) accepts(st numberState) bool {
	switch st.phase {
	case numberDigits, numberZero, numberDecimal:
		return s.wide || s.isMultiple(st) && (st.digits == 0 && s.side(st).lo.zero() ||
			st.digits > 0 && s.side(st).holds(s.ended(st), int(st.point)))
	case numberExpEnd:
		if s.wide {
			return true
		}
		lo, hi := s.powers(st)
		return lo <= int(st.exp) && int(st.exp) <= hi
	}
	return false
}

// longer reports whether a number may have as many digits as another, and more, whatever these are: it
// has more before the point than its lower bound, and fewer than the other.
func (s *numberSpec) longer(st, than numberState) bool {
	return s.modulus <= 1 && s.scale == 0 && st.point < than.point && st.neg == than.neg &&
		(s.any || st.point > 1 && int(st.point) > s.side(st).lo.point)
}

// possible reports whether there is any number.
func (s *numberSpec) possible() bool {
	st, ok := s.step(numberState{}, '-')
	return s.mayFollow(numberState{}) || ok && s.mayFollow(st)
}

// mayFollow reports whether any digit may follow.
func (s *numberSpec) mayFollow(st numberState) bool {
	return slices.ContainsFunc([]byte("0123456789"), func(b byte) bool {
		_, ok := s.step(st, b)
		return ok
	})
}

// size returns the number of whole numbers of a spec; -1 if there are more than a billion.
func (s *numberSpec) size() int {
	n, most := new(big.Int), big.NewInt(automaton.Unbounded)
	for i, side := range []*bounds{s.pos, s.neg} {
		if side == nil {
			continue
		}
		lo, hi := side.lo.units(side.lo.point), side.hi.units(side.hi.point)
		m := new(big.Int).SetUint64(s.multiple)
		if lo.Sign() > 0 {
			lo.Sub(lo, big.NewInt(1))
			n.Sub(n, lo.Div(lo, m))
		} else if i == 0 {
			n.Add(n, big.NewInt(1)) // 0, which is not counted below it
		}
		n.Add(n, hi.Div(hi, m))
	}
	if n.Cmp(most) > 0 {
		return -1
	}
	return int(n.Int64())
}

// canonicalWhole returns a whole number in digits as it is kept: -0 is 0.
func canonicalWhole(text string) string {
	if text == "-0" {
		return "0"
	}
	return text
}
