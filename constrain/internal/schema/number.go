package schema

// Number: the numbers of JSON between two bounds, digit by digit; and whether the digits so far are
// a number of the spec, or can become one.

import (
	"math/big"
	"slices"
	"strings"
	"sync"

	"picogpt/constrain/internal/automaton"
)

// A numberSpec says which numbers are allowed: within bounds, perhaps whole, perhaps multiples, or
// one of a list.
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
	texts     []string // nil: no list
	mu        sync.Mutex
	reachable map[numberState]bool // results of multiples
}

// bounds are those of a magnitude, lo ≤ x ≤ hi.
type bounds struct {
	lo, hi       *decimal
	loInt, hiInt string // the digits before the point
	loFrac       string
	hiFrac       string
}

func newBounds(lo, hi *decimal) *bounds {
	return &bounds{lo, hi, lo.integer(), hi.integer(), lo.fraction(), hi.fraction()}
}

// A numberState is the state within a number. The zero value is before its first byte.
type numberState struct {
	phase  phase
	neg    bool
	plain  bool   // the digits may be a number without an exponent
	power  bool   // the digits may be those before a negative exponent
	digits uint16 // number of digits before the point
	at     uint16 // number of digits after the point
	lo, hi int8   // the digits compared with those of the bounds: -1, 0, 1
	mlo    int8   // the digits compared with the bounds' digits, without regard to the points
	mhi    int8
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
	case st.phase <= numberSign && b >= '0' && b <= '9':
		next, ok = s.first(st, b)
	case st.phase == numberDigits && b >= '0' && b <= '9':
		next, ok = s.digit(st, b)
	case (st.phase == numberDigits || st.phase == numberZero) && b == '.' && !s.whole:
		next, ok = s.point(st)
	case (st.phase == numberPoint || st.phase == numberDecimal) && b >= '0' && b <= '9':
		next, ok = s.decimal(st, b)
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

// first reads the first digit.
func (s *numberSpec) first(st numberState, b byte) (numberState, bool) {
	side := s.side(st)
	if side == nil {
		return st, false
	}
	st.plain = true
	st.phase = numberDigits
	if b == '0' {
		st.phase = numberZero
	}
	st.digits = 1
	st.lo, st.hi = against(b, side.loInt, 0), against(b, side.hiInt, 0)
	if !s.whole && !s.wide && s.scale == 0 && b != '0' {
		st.power = true
		st.mlo, st.mhi = against(b, side.lo.digits, 0), against(b, side.hi.digits, 0)
	}
	if s.modulus > 1 {
		st.rest = uint64(b-'0') % s.modulus
	}
	return st, true
}

// against compares a digit with the i-th digit of digits, after which zeros follow.
func against(b byte, digits string, i int) int8 {
	d := byte('0')
	if i < len(digits) {
		d = digits[i]
	}
	switch {
	case b < d:
		return -1
	case b > d:
		return 1
	}
	return 0
}

// digit reads another digit before the point.
func (s *numberSpec) digit(st numberState, b byte) (numberState, bool) {
	side := s.side(st)
	i := int(st.digits)
	if i >= len(side.hiInt) {
		return st, false
	}
	if st.lo == 0 && i < len(side.loInt) {
		st.lo = against(b, side.loInt, i)
	}
	if st.hi == 0 {
		st.hi = against(b, side.hiInt, i)
	}
	st.digits++
	st.power, st.mlo, st.mhi = false, 0, 0
	if s.modulus > 1 {
		st.rest = (st.rest*10 + uint64(b-'0')) % s.modulus
	}
	return st, true
}

// point reads the point.
func (s *numberSpec) point(st numberState) (numberState, bool) {
	side := s.side(st)
	k := int(st.digits)
	switch {
	case k < len(side.loInt) || k > len(side.hiInt):
		st.plain = false
	case k == len(side.loInt) && st.lo < 0 || k == len(side.hiInt) && st.hi > 0:
		st.plain = false
	}
	if k > len(side.loInt) {
		st.lo = 1
	}
	if k < len(side.hiInt) {
		st.hi = -1
	}
	if !st.plain {
		st.lo, st.hi = 0, 0
	}
	if !s.wide {
		st.digits = 0
	}
	st.phase = numberPoint
	return st, true
}

// decimal reads a digit after the point.
func (s *numberSpec) decimal(st numberState, b byte) (numberState, bool) {
	side := s.side(st)
	i := int(st.at)
	st.phase = numberDecimal
	if s.scale > 0 {
		if i >= s.scale {
			return st, false
		}
		st.rest = (st.rest*10 + uint64(b-'0')) % s.modulus
	}
	if st.plain && st.lo == 0 {
		st.lo = against(b, side.loFrac, i)
	}
	if st.plain && st.hi == 0 {
		st.hi = against(b, side.hiFrac, i)
	}
	if st.lo < 0 || st.hi > 0 {
		st.plain, st.lo, st.hi = false, 0, 0
	}
	if st.power && st.mlo == 0 {
		st.mlo = against(b, side.lo.digits, i+1)
	}
	if st.power && st.mhi == 0 {
		st.mhi = against(b, side.hi.digits, i+1)
	}
	most := max(s.scale, len(side.loFrac), len(side.hiFrac), len(side.lo.digits), len(side.hi.digits))
	if st.at = min(st.at+1, uint16(most)); s.wide {
		st.at = 0
	}
	return st, true
}

// exponent reads e.
func (s *numberSpec) exponent(st numberState) (numberState, bool) {
	switch st.phase {
	case numberDigits, numberZero, numberDecimal:
	default:
		return st, false
	}
	if s.wide {
		return numberState{phase: numberExp, neg: st.neg, digits: st.digits}, true
	}
	side := s.side(st)
	if st.power && st.mlo == 0 && int(st.at)+1 < len(side.lo.digits) {
		st.mlo = -1
	}
	if st.power && st.mhi == 0 && int(st.at)+1 < len(side.hi.digits) {
		st.mhi = -1
	}
	lo, hi := s.powers(st)
	next := numberState{phase: numberExp, neg: st.neg, mlo: st.mlo, mhi: st.mhi}
	return next, st.power && lo <= hi
}

// powers returns the range of n for which the digits times ten to the power -n are within the
// bounds, for some continuation of the digits.
func (s *numberSpec) powers(st numberState) (lo, hi int) {
	side := s.side(st)
	lo, hi = leastPower, mostPower
	if !side.lo.zero() { // lo is digits times ten to the power point-1
		n := 1 - side.lo.point
		if st.mlo < 0 {
			n--
		}
		hi = min(hi, n)
	}
	if side.hi.zero() {
		return 1, 0
	}
	n := 1 - side.hi.point
	if st.mhi > 0 {
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
			most = max(0, 308-int(st.digits))
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
	if s.wide { // only numbers that no float64 can hold are left out
		return int(st.digits) < len(s.pos.hiInt) || st.hi <= 0
	}
	if s.scale > 0 {
		return st.plain && s.multiples(st)
	}
	if st.power {
		if lo, hi := s.powers(st); lo <= hi {
			return true
		}
	}
	if st.phase == numberPoint || st.phase == numberDecimal {
		return st.plain
	}
	if !st.plain {
		return false
	}
	if s.modulus > 1 {
		return s.multiples(st)
	}
	side := s.side(st)
	k := int(st.digits)
	if st.phase == numberZero {
		return len(side.loInt) == 1 && st.lo == 0
	}
	least, most := len(side.loInt), len(side.hiInt)
	switch {
	case k > most:
		return false
	case least == most:
		return st.lo >= 0 && st.hi <= 0
	case k < most && least < most-1:
		return true // a length between the bounds' lengths
	}
	return k <= least && st.lo >= 0 || st.hi <= 0
}

// multiples is live for multiples of whole numbers: it reports whether one of them begins with the
// digits so far.
func (s *numberSpec) multiples(st numberState) bool {
	// a length that does not reach the bounds
	if side := s.side(st); st.phase == numberDigits && s.besides == nil {
		most := len(side.hiInt) - 1
		if most > len(side.loInt) && most-int(st.digits) >= s.figures {
			return true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if live, ok := s.reachable[st]; ok {
		return live
	}
	side := s.side(st)
	live := false
	most := len(side.hiInt)
	switch st.phase {
	case numberZero:
		most = 1
	case numberPoint, numberDecimal:
		live, most = s.multipleAfterPoint(st, side), -1
	}
	for n := max(int(st.digits), len(side.loInt)); n <= most && !live; n++ {
		live = s.multipleOfLength(st, side, n)
	}
	if len(s.reachable) < maxReachable {
		s.reachable[st] = live
	}
	return live
}

// multipleOfLength reports whether a number of n digits in total before its point is a multiple
// within the bounds.
func (s *numberSpec) multipleOfLength(st numberState, side *bounds, n int) bool {
	clippedLo := n == len(side.loInt) && st.lo <= 0
	clippedHi := n == len(side.hiInt) && st.hi >= 0
	if clippedLo && st.lo < 0 || clippedHi && st.hi > 0 {
		return false
	}
	return s.anyMultiple(st.rest, side, int(st.digits), n-int(st.digits)+s.scale, clippedLo, clippedHi)
}

// multipleAfterPoint does the same for a number whose point was read.
func (s *numberSpec) multipleAfterPoint(st numberState, side *bounds) bool {
	digits := len(side.loInt)
	if st.lo != 0 {
		digits = len(side.hiInt)
	}
	return s.anyMultiple(st.rest, side, digits+int(st.at), s.scale-int(st.at), st.lo == 0, st.hi == 0)
}

// anyMultiple reports whether a multiple has the digits so far and more ones. The digits so far
// are those of the bounds that are clipped; of others, only their rest matters.
func (s *numberSpec) anyMultiple(
	rest uint64, side *bounds, digits, more int, clippedLo, clippedHi bool,
) bool {
	lo, hi := s.scaled(side.loInt, side.loFrac), s.scaled(side.hiInt, side.hiFrac)
	from := new(big.Int).SetUint64(rest)
	switch {
	case clippedLo:
		from.SetString(lo[:digits], 10)
	case clippedHi:
		from.SetString(hi[:digits], 10)
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(more)), nil)
	from.Mul(from, ten)
	to := new(big.Int).Sub(new(big.Int).Add(from, ten), big.NewInt(1))
	if clippedLo {
		from.SetString(lo, 10)
	}
	if clippedHi {
		to.SetString(hi, 10)
	}
	m := new(big.Int).SetUint64(s.multiple)
	last := new(big.Int).Mul(new(big.Int).Div(to, m), m)
	modulus, tried := new(big.Int).SetUint64(s.modulus), 0
	for ; last.Cmp(from) >= 0 && tried < maxTried; tried++ {
		if s.holds(new(big.Int).Mod(last, modulus).Uint64()) {
			return true
		}
		last.Sub(last, m)
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

// scaled returns the digits of a bound times 10^scale, which is whole.
func (s *numberSpec) scaled(whole, fraction string) string {
	return whole + fraction + strings.Repeat("0", s.scale-len(fraction))
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
	case numberDigits, numberZero:
		if s.wide {
			return true
		}
		side, k := s.side(st), int(st.digits)
		above := k > len(side.loInt) || k == len(side.loInt) &&
			(st.lo > 0 || st.lo == 0 && side.loFrac == "")
		below := k < len(side.hiInt) || k == len(side.hiInt) && st.hi <= 0
		return st.plain && above && below && s.isMultiple(st)
	case numberDecimal:
		if s.wide {
			return true
		}
		return st.plain && (st.lo > 0 || int(st.at) >= len(s.side(st).loFrac)) &&
			(s.scale == 0 || s.isMultiple(st))
	case numberExpEnd:
		if s.wide {
			return true
		}
		lo, hi := s.powers(st)
		return lo <= int(st.exp) && int(st.exp) <= hi
	}
	return false
}

// possible reports whether there is any number.
func (s *numberSpec) possible() bool {
	if s.texts != nil {
		return len(s.texts) > 0
	}
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
		lo, _ := new(big.Int).SetString(side.loInt, 10)
		hi, _ := new(big.Int).SetString(side.hiInt, 10)
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
