// Sets of characters: those that have names, and what brackets make of them.

package regex

import (
	_ "embed"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// setRanges is written by dev/gentables: the sets that have names in Oniguruma. An
// entry is the length of its names and these names, lower case, with spaces between; the length of
// its ranges; and for each range the distance from the end of the last one, and its number of
// characters. All numbers are uvarints.
//
//go:embed sets.bin
var setRanges string

// noRune is a byte that is no part of valid UTF-8: no named set has it.
const noRune = utf8.MaxRune + 1

// runeSet is a set of characters: ranges from first to last, ascending, with gaps between them.
type runeSet [][2]rune

// namedSet returns the set of a name, in lower case without _, - and spaces; ok is false if there
// is none.
func namedSet(name string) (set runeSet, ok bool) {
	rest := setRanges
	next := func() rune {
		n, size := binary.Uvarint([]byte(rest[:min(len(rest), binary.MaxVarintLen64)]))
		rest = rest[size:]
		return rune(n)
	}
	part := func() string {
		n := int(next())
		text := rest[:n]
		rest = rest[n:]
		return text
	}
	for rest != "" {
		names, ranges := part(), part()
		if !slices.Contains(strings.Fields(names), name) {
			continue
		}
		for rest = ranges; rest != ""; {
			from := next()
			if n := len(set); n > 0 {
				from += set[n-1][1] + 1
			}
			set = append(set, [2]rune{from, from + next() - 1})
		}
		return set, true
	}
	return nil, false
}

// with returns the characters of both sets.
func (s runeSet) with(other runeSet) runeSet {
	all := slices.Concat(s, other)
	slices.SortFunc(all, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	joined := all[:0]
	for _, r := range all {
		if n := len(joined); n > 0 && r[0] <= joined[n-1][1]+1 {
			joined[n-1][1] = max(joined[n-1][1], r[1])
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}

// negated returns all other characters.
func (s runeSet) negated() (others runeSet) {
	from := rune(0)
	for _, r := range s {
		if from < r[0] {
			others = append(others, [2]rune{from, r[0] - 1})
		}
		from = r[1] + 1
	}
	if from <= noRune {
		others = append(others, [2]rune{from, noRune})
	}
	return others
}

// and returns the characters that both sets have.
func (s runeSet) and(other runeSet) runeSet { return s.negated().with(other.negated()).negated() }

func (s runeSet) has(c rune) bool {
	i, found := slices.BinarySearchFunc(s, c, func(r [2]rune, c rune) int { return int(r[0] - c) })
	return found || i > 0 && c <= s[i-1][1]
}

// folded returns the set with the upper and lower case of its characters.
func (s runeSet) folded() runeSet {
	var others runeSet
	for _, orbit := range caseOrbits() {
		if slices.ContainsFunc(orbit, s.has) {
			for _, c := range orbit {
				others = append(others, [2]rune{c, c})
			}
		}
	}
	return s.with(others)
}

// caseOrbits returns the characters that differ only in case, and only those that have others.
var caseOrbits = sync.OnceValue(func() (orbits [][]rune) {
	for c := rune('A'); c <= 0x1FFFF; c++ {
		orbit := []rune{c}
		for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
			orbit = append(orbit, other)
		}
		if lower := laterLower(c); lower != c && len(orbit) == 1 {
			orbit = append(orbit, lower)
		}
		if len(orbit) > 1 && c == slices.Min(orbit) {
			orbits = append(orbits, orbit)
		}
	}
	return orbits
})

// Lower returns the lower case of a letter: that of Unicode 17.0 with any version of Go.
func Lower(r rune) rune {
	if lower := unicode.ToLower(r); lower != r {
		return lower
	}
	return laterLower(r)
}

// laterLower returns the lower case of letters that Unicode has had since 15.1.
func laterLower(r rune) rune {
	switch {
	case r == 0x1C89, r == 0xA7CC, r == 0xA7CE, r == 0xA7D2, r == 0xA7D4, r == 0xA7DA:
		return r + 1
	case r == 0xA7CB:
		return 0x264
	case r == 0xA7DC:
		return 0x19B
	case 0x10D50 <= r && r <= 0x10D65:
		return r + 0x20
	case 0x16EA0 <= r && r <= 0x16EB8:
		return r + 0x1B
	}
	return r
}

// A charset is a runeSet in a form that is asked fast.
type charset struct {
	few   runeSet // or pages
	pages [][4]uint64
	index []uint16 // of the page of each 256 characters
}

// fewRanges are compared one by one.
const fewRanges = 4

func newCharset(s runeSet) *charset {
	if len(s) <= fewRanges {
		return &charset{few: s}
	}
	c := &charset{index: make([]uint16, noRune>>8+1)}
	numbers := map[[4]uint64]uint16{}
	for i := range c.index {
		var page [4]uint64
		next, _ := slices.BinarySearchFunc(s, rune(i<<8), func(r [2]rune, c rune) int {
			return int(r[1] - c)
		})
		for ; next < len(s) && s[next][0] < rune(i+1)<<8; next++ {
			from, to := max(s[next][0]-rune(i)<<8, 0), min(s[next][1]-rune(i)<<8, 255)
			for word := from / 64; word <= to/64; word++ {
				least, most := max(from-64*word, 0), min(to-64*word, 63)
				page[word] |= ^uint64(0) << least & (^uint64(0) >> (63 - most))
			}
		}
		if i > 0 && page == c.pages[c.index[i-1]] {
			c.index[i] = c.index[i-1]
			continue
		}
		number, ok := numbers[page]
		if !ok {
			number = uint16(len(c.pages))
			numbers[page], c.pages = number, append(c.pages, page)
		}
		c.index[i] = number
	}
	return c
}

func (c *charset) has(r rune) bool {
	if c.index == nil {
		for _, of := range c.few {
			if r <= of[1] {
				return of[0] <= r
			}
		}
		return false
	}
	return c.pages[c.index[r>>8]][r&255/64]&(1<<(r&63)) != 0
}
