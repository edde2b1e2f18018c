package schema

// Number: whether the digits so far are a number of the spec, or can become one.

import (
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

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
	if s.multiple > 1 {
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
	if side := s.side(st); st.phase == numberDigits { // a length that does not reach the bounds
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
// are those of the bounds that are clipped.
func (s *numberSpec) anyMultiple(
	rest uint64, side *bounds, digits, more int, clippedLo, clippedHi bool,
) bool {
	if !clippedLo && !clippedHi {
		// 10^more consecutive numbers; the first of them is rest*10^more modulo multiple.
		room, first := uint64(1), rest
		for range more {
			if room >= s.multiple {
				return true
			}
			room *= 10
			hi, lo := bits.Mul64(first, 10)
			first = bits.Rem64(hi, lo, s.multiple)
		}
		return (s.multiple-first)%s.multiple < room
	}
	lo, hi := s.scaled(side.loInt, side.loFrac), s.scaled(side.hiInt, side.hiFrac)
	prefix := hi[:digits]
	if clippedLo {
		prefix = lo[:digits]
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(more)), nil)
	from, _ := new(big.Int).SetString(prefix, 10)
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
	return last.Cmp(from) >= 0
}

// scaled returns the digits of a bound times 10^scale, which is whole.
func (s *numberSpec) scaled(whole, fraction string) string {
	return whole + fraction + strings.Repeat("0", s.scale-len(fraction))
}

// isMultiple reports whether the digits so far are a multiple.
func (s *numberSpec) isMultiple(st numberState) bool {
	if s.multiple <= 1 {
		return true
	}
	rest := st.rest
	for range s.scale - int(st.at) {
		rest = rest * 10 % s.multiple
	}
	return rest == 0
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
