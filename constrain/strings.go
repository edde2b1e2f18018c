package constrain

// Strings: the allowed JSON strings, byte by byte with their escapes.

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A stringSpec says which strings are allowed: of some length, matching patterns, or from a list.
type stringSpec struct {
	table    *table // nil: any characters
	min, max int    // characters; max -1: any number
	escapes  escapes
	texts    []string // nil: no list
	escaped  []string // texts in JSON, without the quotes, sorted
}

// escapes says which escapes a string may have.
type escapes uint8

const (
	looseEscapes escapes = iota // all of JSON's; a lone \ud800 stands for U+FFFD
	allEscapes                  // all that stand for characters
	fewEscapes                  // only for characters that must be escaped
)

// A stringState is the state within a string, after its first quote.
type stringState struct {
	partial
	at int32 // state of the table
	n  int32 // characters so far
}

// verdict is the effect of a byte on a string.
type verdict uint8

const (
	impossible verdict = iota
	goesOn
	closes
)

// step returns the state after a byte.
func (s *stringSpec) step(st stringState, b byte) (stringState, verdict) {
	switch st.form {
	case border:
		if plainByte(b) {
			return s.complete(st, rune(b))
		}
		return s.stepBorder(st, b)
	case utf8of2, utf8of3, utf8of4:
		p, ok := st.nextUTF8(b)
		if !ok {
			return st, impossible
		}
		return s.arrive(st, p)
	case escape:
		return s.stepEscape(st, b)
	case highEscape:
		if st.left == 2 && b == '\\' {
			st.left = 1
			return st, goesOn
		}
		if st.left == 1 && b == 'u' {
			st.form, st.left, st.v = lowHex, 4, 0
			return st, goesOn
		}
		return st, impossible
	}
	d, ok := digit(b)
	if !ok {
		return st, impossible
	}
	p := st.partial
	p.v, p.left = p.v<<4|d, p.left-1
	return s.arriveHex(st, p)
}

// plainByte reports whether a byte of a string is a character that stands for itself.
func plainByte(b byte) bool { return b >= 0x20 && b < 0x80 && b != '"' && b != '\\' }

func (s *stringSpec) stepBorder(st stringState, b byte) (stringState, verdict) {
	switch {
	case b == '"':
		if s.mayEnd(st) {
			return st, closes
		}
		return st, impossible
	case b == '\\':
		p := partial{form: escape}
		st.partial = p
		if s.escapes == fewEscapes {
			if s.reaches(st, 0, 0x1f) || s.reaches(st, '"', '"') || s.reaches(st, '\\', '\\') {
				return st, goesOn
			}
			return st, impossible
		}
		if s.reaches(st, 0, unicode.MaxRune) {
			return st, goesOn
		}
		return st, impossible
	case b < 0x20:
		return st, impossible
	}
	p, ok := startUTF8(b)
	if !ok {
		return st, impossible
	}
	return s.arrive(st, p)
}

// arrive adds a part of a character of UTF-8.
func (s *stringSpec) arrive(st stringState, p partial) (stringState, verdict) {
	lo, hi := p.runes()
	if p.left == 0 {
		return s.complete(st, lo)
	}
	st.partial = p
	if lo <= hi && s.reaches(st, lo, hi) {
		return st, goesOn
	}
	return st, impossible
}

func (s *stringSpec) stepEscape(st stringState, b byte) (stringState, verdict) {
	switch b {
	case '"', '\\':
		return s.complete(st, rune(b))
	case '/':
		if s.escapes == fewEscapes {
			return st, impossible
		}
		return s.complete(st, '/')
	case 'b':
		return s.complete(st, '\b')
	case 'f':
		return s.complete(st, '\f')
	case 'n':
		return s.complete(st, '\n')
	case 'r':
		return s.complete(st, '\r')
	case 't':
		return s.complete(st, '\t')
	case 'u':
		p := partial{form: hexDigits, left: 4}
		if s.escapes == looseEscapes {
			p.form = looseHex
		}
		return s.arriveHex(st, p)
	}
	return st, impossible
}

// arriveHex adds some of the four digits of an escape.
func (s *stringSpec) arriveHex(st stringState, p partial) (stringState, verdict) {
	st.partial = p
	if p.form == looseHex {
		if p.left == 0 {
			return s.complete(st, 0xfffd)
		}
		return st, goesOn
	}
	lo, hi := p.runes()
	if p.form == lowHex {
		switch {
		case lo > hi:
			return st, impossible
		case p.left == 0:
			return s.complete(st, lo)
		case s.reaches(st, lo, hi):
			return st, goesOn
		}
		return st, impossible
	}
	if s.escapes == fewEscapes {
		hi = min(hi, 0x1f)
	}
	if p.left == 0 && lo <= hi && (lo < 0xd800 || lo > 0xdfff) {
		return s.complete(st, lo)
	}
	first, last := max(lo, 0xd800), min(hi, 0xdbff) // the first halves of pairs
	pair := first <= last &&
		s.reaches(st, (first-0xd800)<<10+0x10000, (last-0xd800)<<10+0x103ff)
	if p.left == 0 && pair {
		st.partial = partial{form: highEscape, left: 2, high: uint16(lo)}
		return st, goesOn
	}
	if p.left > 0 && (pair || s.reaches(st, lo, min(hi, 0xd7ff)) ||
		s.reaches(st, max(lo, 0xe000), hi)) {
		return st, goesOn
	}
	return st, impossible
}

// complete adds a complete character.
func (s *stringSpec) complete(st stringState, r rune) (stringState, verdict) {
	st.partial = partial{}
	st.n++
	if t := s.table; t != nil {
		class := uint16(0)
		if r < 128 {
			class = t.alpha.ascii[r]
		} else {
			class = t.alpha.of(r)
		}
		st.at = t.next[int(st.at)*t.classes+int(class)]
	}
	if !s.live(st) {
		return st, impossible
	}
	return st, goesOn
}

// live reports whether a string can still end.
func (s *stringSpec) live(st stringState) bool {
	if st.at < 0 || s.max >= 0 && int(st.n) > s.max {
		return false
	}
	if s.table == nil || s.table.lengths == nil {
		return true
	}
	return s.ends(st)
}

// ends reports whether a string of an allowed length continues from a state.
func (s *stringSpec) ends(st stringState) bool {
	hi := -1
	if s.max >= 0 {
		hi = s.max - int(st.n)
	}
	return s.table.ends(st.at, s.min-int(st.n), hi)
}

// roomy reports whether the length bounds allow all strings that continue with at most chars
// characters: each of them can end at an allowed length.
func (s *stringSpec) roomy(st stringState, chars int) bool {
	// the string is too short to end; whole says that it can continue
	t, more := s.table, int(st.n) < s.min
	if s.max < 0 {
		return !more || t.whole[st.at]
	}
	return int(st.n)+chars+t.far <= s.max && (!more || t.whole[st.at] && s.min+t.far <= s.max)
}

// mayEnd reports whether the string may end here.
func (s *stringSpec) mayEnd(st stringState) bool {
	return int(st.n) >= s.min && (s.table == nil || s.table.kind[st.at] >= 0)
}

// reaches reports whether a character from lo to hi may follow.
func (s *stringSpec) reaches(st stringState, lo, hi rune) bool {
	if lo > hi {
		return false
	}
	after := stringState{n: st.n + 1}
	if s.table == nil {
		return s.live(after)
	}
	row := s.table.row(st.at)
	return s.table.alpha.any(lo, hi, func(class uint16) bool {
		after.at = row[class]
		return s.live(after)
	})
}

// has reports whether the spec, without its list, allows a text.
func (s *stringSpec) has(text string) bool {
	st := stringState{}
	for _, r := range text {
		var v verdict
		if st, v = s.complete(st, r); v == impossible {
			return false
		}
	}
	return s.mayEnd(st)
}

// escapeJSON returns a text as in JSON, with only the necessary escapes.
func escapeJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\b', r == '\f', r == '\n', r == '\r', r == '\t':
			b.WriteString(map[rune]string{'\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`,
				'\t': `\t`}[r])
		case r < 0x20:
			b.WriteString(`\u00`)
			b.WriteByte("0123456789abcdef"[r>>4])
			b.WriteByte("0123456789abcdef"[r&15])
		case r == utf8.RuneError:
			b.WriteString("\ufffd")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
