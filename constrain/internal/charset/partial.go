package charset

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

// StartUTF8 begins a character with a byte of at least 0x80.
func StartUTF8(b byte) (p Partial, ok bool) {
	switch {
	case b >= 0xc2 && b <= 0xdf:
		return Partial{Form: UTF8of2, Left: 1, V: uint32(b & 0x1f)}, true
	case b >= 0xe0 && b <= 0xef:
		return Partial{Form: UTF8of3, Left: 2, V: uint32(b & 0x0f)}, true
	case b >= 0xf0 && b <= 0xf4:
		return Partial{Form: UTF8of4, Left: 3, V: uint32(b & 0x07)}, true
	}
	return p, false
}

// NextUTF8 adds a byte to a character; ok is false if no character has these bytes.
func (p Partial) NextUTF8(b byte) (q Partial, ok bool) {
	if b&0xc0 != 0x80 {
		return p, false
	}
	p.V = p.V<<6 | uint32(b&0x3f)
	p.Left--
	lo, hi := p.Runes()
	return p, lo <= hi
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
	return skipSurrogates(lo, hi)
}

func span(v uint32, bits uint8) (lo, hi rune) {
	return rune(v << bits), rune(v<<bits | (1<<bits - 1))
}

// skipSurrogates removes the surrogates at an end of a range of runes. No range that begins with a
// byte of UTF-8 has them in its middle.
func skipSurrogates(lo, hi rune) (rune, rune) {
	if lo >= 0xd800 && lo <= 0xdfff {
		lo = 0xe000
	}
	if hi >= 0xd800 && hi <= 0xdfff {
		hi = 0xd7ff
	}
	return lo, hi
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
