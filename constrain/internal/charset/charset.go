// Package charset has sets of characters, the classes that an automaton distinguishes, and
// characters of which only some bytes are known.
package charset

import (
	"sort"
	"unicode"
)

// A Range is the characters from lo to hi, both included.
type Range struct{ Lo, Hi rune }

// A Set is a list of ranges of characters in ascending order. Between two ranges there is at
// least one character.
type Set []Range

// Normal sorts ranges and joins those that overlap or touch.
func Normal(ranges []Range) Set {
	sort.Slice(ranges, func(i, j int) bool { return ranges[i].Lo < ranges[j].Lo })
	var s Set
	for _, r := range ranges {
		if n := len(s); n > 0 && r.Lo <= s[n-1].Hi+1 {
			s[n-1].Hi = max(s[n-1].Hi, r.Hi)
		} else if r.Lo <= r.Hi {
			s = append(s, r)
		}
	}
	return s
}

// Of returns the set of some characters.
func Of(runes ...rune) Set {
	ranges := make([]Range, len(runes))
	for i, r := range runes {
		ranges[i] = Range{r, r}
	}
	return Normal(ranges)
}

// Any returns the set of all characters.
func Any() Set { return Set{{0, unicode.MaxRune}} }

// Not returns the set of all other characters.
func (s Set) Not() Set {
	var other Set
	from := rune(0)
	for _, r := range s {
		if r.Lo > from {
			other = append(other, Range{from, r.Lo - 1})
		}
		from = r.Hi + 1
	}
	if from <= unicode.MaxRune {
		other = append(other, Range{from, unicode.MaxRune})
	}
	return other
}

// And returns the set of the characters of both sets.
func (s Set) And(t Set) Set {
	var both Set
	for i, j := 0, 0; i < len(s) && j < len(t); {
		if lo, hi := max(s[i].Lo, t[j].Lo), min(s[i].Hi, t[j].Hi); lo <= hi {
			both = append(both, Range{lo, hi})
		}
		if s[i].Hi < t[j].Hi {
			i++
		} else {
			j++
		}
	}
	return both
}

// Key returns a string that is the same for equal sets and differs for others.
func (s Set) Key() string {
	b := make([]byte, 0, 6*len(s))
	for _, r := range s {
		b = append(b, byte(r.Lo>>16), byte(r.Lo>>8), byte(r.Lo),
			byte(r.Hi>>16), byte(r.Hi>>8), byte(r.Hi))
	}
	return string(b)
}
