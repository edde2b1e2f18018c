package constrain

// Sets of characters.

import (
	"sort"
	"unicode"
)

// A runeRange is the characters from lo to hi, both included.
type runeRange struct{ lo, hi rune }

// A charset is a list of ranges of characters in ascending order. Between two ranges there is at
// least one character.
type charset []runeRange

// normal sorts ranges and joins those that overlap or touch.
func normal(ranges []runeRange) charset {
	sort.Slice(ranges, func(i, j int) bool { return ranges[i].lo < ranges[j].lo })
	var s charset
	for _, r := range ranges {
		if n := len(s); n > 0 && r.lo <= s[n-1].hi+1 {
			s[n-1].hi = max(s[n-1].hi, r.hi)
		} else if r.lo <= r.hi {
			s = append(s, r)
		}
	}
	return s
}

// setOf returns the set of some characters.
func setOf(runes ...rune) charset {
	ranges := make([]runeRange, len(runes))
	for i, r := range runes {
		ranges[i] = runeRange{r, r}
	}
	return normal(ranges)
}

// anyRune returns the set of all characters.
func anyRune() charset { return charset{{0, unicode.MaxRune}} }

// not returns the set of all other characters.
func (s charset) not() charset {
	var other charset
	from := rune(0)
	for _, r := range s {
		if r.lo > from {
			other = append(other, runeRange{from, r.lo - 1})
		}
		from = r.hi + 1
	}
	if from <= unicode.MaxRune {
		other = append(other, runeRange{from, unicode.MaxRune})
	}
	return other
}

// and returns the set of the characters of both sets.
func (s charset) and(t charset) charset {
	var both charset
	for i, j := 0, 0; i < len(s) && j < len(t); {
		if lo, hi := max(s[i].lo, t[j].lo), min(s[i].hi, t[j].hi); lo <= hi {
			both = append(both, runeRange{lo, hi})
		}
		if s[i].hi < t[j].hi {
			i++
		} else {
			j++
		}
	}
	return both
}

// key returns a string that is the same for equal sets and differs for others.
func (s charset) key() string {
	b := make([]byte, 0, 6*len(s))
	for _, r := range s {
		b = append(b, byte(r.lo>>16), byte(r.lo>>8), byte(r.lo),
			byte(r.hi>>16), byte(r.hi>>8), byte(r.hi))
	}
	return string(b)
}
