// Sets of characters, the classes that an automaton distinguishes, and characters of which only some
// bytes are known.

package automaton

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"unicode"
)

// A Range is the characters from lo to hi, both included.
type Range struct{ Lo, Hi rune }

// A Set is a list of ranges of characters in ascending order. Between two ranges there is at
// least one character.
type Set []Range

// NormalSet sorts ranges and joins those that overlap or touch.
func NormalSet(ranges []Range) Set {
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

// SetOf returns the set of some characters.
func SetOf(runes ...rune) Set {
	ranges := make([]Range, len(runes))
	for i, r := range runes {
		ranges[i] = Range{r, r}
	}
	return NormalSet(ranges)
}

// AnyRune returns the set of all characters.
func AnyRune() Set { return Set{{0, unicode.MaxRune}} }

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

// An Alphabet gives each character a class: characters of one class are in the same charsets.
type Alphabet struct {
	ASCII   [128]uint16
	starts  []rune   // the first character of each piece, a run of characters of one class
	class   []uint16 // the class of each piece
	Members []rune   // one character of each class
}

// maxClasses bounds the kinds of characters that an alphabet may distinguish.
const maxClasses = 1 << 12

// NewAlphabet returns the coarsest alphabet for some charsets.
func NewAlphabet(what string, sets []Set, m *Meter) *Alphabet {
	type event struct {
		at  rune
		set int32
	}
	var events []event
	for i, s := range sets {
		m.Charge(4 + 24*len(s)) // the cost of sorting
		for _, r := range s {
			events = append(events, event{r.Lo, int32(i)}, event{r.Hi + 1, int32(i)})
		}
	}
	sort.Slice(events, func(i, j int) bool { return events[i].at < events[j].at })
	a := &Alphabet{}
	in := make([]byte, (len(sets)+7)/8) // the sets that contain the piece
	known := map[string]uint16{}
	piece := func(at rune) {
		c, ok := known[string(in)]
		if !ok {
			c = uint16(len(a.Members))
			known[string(in)] = c
			a.Members = append(a.Members, at)
		}
		if n := len(a.class); n == 0 || a.class[n-1] != c {
			a.starts, a.class = append(a.starts, at), append(a.class, c)
		}
	}
	if len(events) == 0 || events[0].at > 0 || m.Failed() != nil {
		piece(0)
	}
	for i := 0; i < len(events) && m.Failed() == nil; m.Charge(8 + len(in)/8) {
		at := events[i].at
		for ; i < len(events) && events[i].at == at; i++ {
			in[events[i].set/8] ^= 1 << (events[i].set % 8)
		}
		if at <= unicode.MaxRune {
			piece(at)
		}
		if len(a.Members) > maxClasses {
			m.Fail(fmt.Errorf("%s: more than %d kinds of characters", what, maxClasses))
		}
	}
	for r := range a.ASCII {
		a.ASCII[r] = a.class[a.piece(rune(r))]
	}
	return a
}

// piece returns the piece that contains a character.
func (a *Alphabet) piece(r rune) int {
	return sort.Search(len(a.starts), func(i int) bool { return a.starts[i] > r }) - 1
}

// Of returns the class of a character.
func (a *Alphabet) Of(r rune) uint16 {
	if r < 128 {
		return a.ASCII[r]
	}
	return a.beyond(r)
}

// beyond is of for characters beyond ASCII: so short, of is inlined.
func (a *Alphabet) beyond(r rune) uint16 { return a.class[a.piece(r)] }

// Any reports whether a property holds for the class of a character from lo to hi.
func (a *Alphabet) Any(lo, hi rune, holds func(class uint16) bool) bool {
	return lo <= hi && slices.ContainsFunc(a.Classes(lo, hi), holds)
}

// Classes returns the classes of the pieces from lo to hi.
func (a *Alphabet) Classes(lo, hi rune) []uint16 { return a.class[a.piece(lo) : a.piece(hi)+1] }

// Pieces yields the runs of characters of one class from lo to hi.
func (a *Alphabet) Pieces(lo, hi rune) iter.Seq2[Range, uint16] {
	return func(yield func(Range, uint16) bool) {
		for i := a.piece(lo); i < len(a.starts) && a.starts[i] <= hi; i++ {
			last := hi
			if i+1 < len(a.starts) {
				last = min(hi, a.starts[i+1]-1)
			}
			if !yield(Range{max(lo, a.starts[i]), last}, a.class[i]) {
				return
			}
		}
	}
}

// Size returns the number of pieces.
func (a *Alphabet) Size() int { return len(a.starts) }

// Those returns the classes of the characters of a set.
func (a *Alphabet) Those(set Set) (list []uint16) {
	in := make([]bool, len(a.Members))
	for _, r := range set {
		for _, class := range a.Classes(r.Lo, r.Hi) {
			if !in[class] {
				in[class] = true
				list = append(list, class)
			}
		}
	}
	return list
}

// Incomplete characters: a token may end in the middle of a character.

// A Partial is the known part of an incomplete character: bytes of UTF-8, or of an escape in a JSON
// string. The zero value is the border between two characters.
type Partial struct {
	Form form
	Left uint8  // number of missing bytes or digits
	High uint16 // the first half of a surrogate pair
	V    uint32 // the known bits
}

type form uint8

const (
	Border  form = iota
	UTF8of2      // the first byte of a character of two, three, four bytes was read
	UTF8of3
	UTF8of4
	Escape     // \ was read
	HexDigits  // \u and 4-left digits
	HighEscape // \ud800 to \udbff; left is 2 before \u, 1 before u
	LowHex     // \ud800\u and 4-left digits, or fewer
	LooseHex   // \u and 4-left digits, in a string that allows any digit
)

// NextUTF8 adds a byte to a character, or begins one with a byte of at least 0x80; ok is false if no
// character has these bytes.
func (p Partial) NextUTF8(b byte) (q Partial, ok bool) {
	switch {
	case p.Form != Border:
		p.V = p.V<<6 | uint32(b&0x3f)
		p.Left--
		lo, hi := p.Runes()
		return p, b&0xc0 == 0x80 && lo <= hi
	case b >= 0xc2 && b <= 0xdf:
		return Partial{Form: UTF8of2, Left: 1, V: uint32(b & 0x1f)}, true
	case b >= 0xe0 && b <= 0xef:
		return Partial{Form: UTF8of3, Left: 2, V: uint32(b & 0x0f)}, true
	case b >= 0xf0 && b <= 0xf4:
		return Partial{Form: UTF8of4, Left: 3, V: uint32(b & 0x07)}, true
	}
	return p, false
}

// Runes returns the first and the last rune that an incomplete character can become; lo > hi if
// there is none.
func (p Partial) Runes() (lo, hi rune) {
	if p.Form >= Escape {
		lo, hi = span(p.V, 4*p.Left)
		if p.Form == LowHex {
			lo, hi = max(lo, 0xdc00), min(hi, 0xdfff)
			base := (rune(p.High)-0xd800)<<10 + 0x10000
			return base + lo - 0xdc00, base + hi - 0xdc00
		}
		return lo, hi
	}
	lo, hi = span(p.V, 6*p.Left)
	switch p.Form {
	case UTF8of2:
		lo = max(lo, 0x80)
	case UTF8of3:
		lo = max(lo, 0x800)
	case UTF8of4:
		lo, hi = max(lo, 0x10000), min(hi, 0x10ffff)
	}
	if lo >= 0xd800 && lo <= 0xdfff { // no range that begins with a byte of UTF-8 has them in its middle
		lo = 0xe000
	}
	if hi >= 0xd800 && hi <= 0xdfff {
		hi = 0xd7ff
	}
	return lo, hi
}

func span(v uint32, bits uint8) (lo, hi rune) {
	return rune(v << bits), rune(v<<bits | (1<<bits - 1))
}

// HexDigit returns the value of a hexadecimal digit.
func HexDigit(b byte) (v uint32, ok bool) {
	switch {
	case b >= '0' && b <= '9':
		return uint32(b - '0'), true
	case b >= 'a' && b <= 'f':
		return uint32(b-'a') + 10, true
	case b >= 'A' && b <= 'F':
		return uint32(b-'A') + 10, true
	}
	return 0, false
}
