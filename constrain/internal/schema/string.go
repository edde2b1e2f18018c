package schema

// Strings: the lengths, patterns and lists of all schemas that must hold; and the allowed JSON
// strings, byte by byte with their escapes.

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"picogpt/constrain/internal/automaton"
)

// A stringSpec says which strings are allowed: of some length, matching patterns.
type stringSpec struct {
	table    *automaton.Table // nil: any characters
	min, max int              // characters; max -1: any number
	escapes  escapes
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
	automaton.Partial
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

// goesOnIf is the verdict on a byte after which a string goes on, if it does.
func goesOnIf(is bool) verdict {
	if is {
		return goesOn
	}
	return impossible
}

// step returns the state after a byte.
func (s *stringSpec) step(st stringState, b byte) (stringState, verdict) {
	switch st.Form {
	case automaton.Border:
		if plainByte(b) {
			return s.complete(st, rune(b))
		}
		return s.stepBorder(st, b)
	case automaton.UTF8of2, automaton.UTF8of3, automaton.UTF8of4:
		return s.stepUTF8(st, b)
	case automaton.Escape:
		return s.stepEscape(st, b)
	case automaton.HighEscape:
		if st.Left == 2 && b == '\\' {
			st.Left = 1
			return st, goesOn
		}
		if st.Left == 1 && b == 'u' {
			st.Form, st.Left, st.V = automaton.LowHex, 4, 0
			return st, goesOn
		}
		return st, impossible
	}
	d, ok := automaton.HexDigit(b)
	if !ok {
		return st, impossible
	}
	p := st.Partial
	p.V, p.Left = p.V<<4|d, p.Left-1
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
		st.Partial = automaton.Partial{Form: automaton.Escape}
		if s.escapes != fewEscapes {
			return st, goesOnIf(s.reaches(st, 0, unicode.MaxRune))
		}
		return st, goesOnIf(s.reaches(st, 0, 0x1f) || s.reaches(st, '"', '"') ||
			s.reaches(st, '\\', '\\'))
	case b < 0x20:
		return st, impossible
	}
	return s.stepUTF8(st, b)
}

// stepUTF8 adds a part of a character of UTF-8.
func (s *stringSpec) stepUTF8(st stringState, b byte) (stringState, verdict) {
	p, ok := st.NextUTF8(b)
	if !ok {
		return st, impossible
	}
	lo, hi := p.Runes()
	if p.Left == 0 {
		return s.complete(st, lo)
	}
	st.Partial = p
	return st, goesOnIf(s.reaches(st, lo, hi))
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
	case 'u':
		p := automaton.Partial{Form: automaton.HexDigits, Left: 4}
		if s.escapes == looseEscapes {
			p.Form = automaton.LooseHex
		}
		return s.arriveHex(st, p)
	}
	if i := strings.IndexByte("bfnrt", b); i >= 0 {
		return s.complete(st, rune("\b\f\n\r\t"[i]))
	}
	return st, impossible
}

// arriveHex adds some of the four digits of an escape.
func (s *stringSpec) arriveHex(st stringState, p automaton.Partial) (stringState, verdict) {
	st.Partial = p
	if p.Form == automaton.LooseHex {
		if p.Left == 0 {
			return s.complete(st, 0xfffd)
		}
		return st, goesOn
	}
	lo, hi := p.Runes()
	if p.Form == automaton.LowHex {
		if p.Left == 0 && lo <= hi {
			return s.complete(st, lo)
		}
		return st, goesOnIf(s.reaches(st, lo, hi))
	}
	if s.escapes == fewEscapes {
		hi = min(hi, 0x1f)
	}
	if p.Left == 0 && lo <= hi && (lo < 0xd800 || lo > 0xdfff) {
		return s.complete(st, lo)
	}
	first, last := max(lo, 0xd800), min(hi, 0xdbff) // the first halves of pairs
	pair := first <= last &&
		s.reaches(st, (first-0xd800)<<10+0x10000, (last-0xd800)<<10+0x103ff)
	if p.Left == 0 && pair {
		st.Partial = automaton.Partial{Form: automaton.HighEscape, Left: 2, High: uint16(lo)}
		return st, goesOn
	}
	return st, goesOnIf(p.Left > 0 && (pair || s.reaches(st, lo, min(hi, 0xd7ff)) ||
		s.reaches(st, max(lo, 0xe000), hi)))
}

// complete adds a complete character.
func (s *stringSpec) complete(st stringState, r rune) (stringState, verdict) {
	st.Partial = automaton.Partial{}
	st.n++
	if t := s.table; t != nil {
		st.at = t.Step(st.at, t.Alpha.Of(r))
	}
	return st, goesOnIf(s.live(st))
}

// live reports whether a string can still end.
func (s *stringSpec) live(st stringState) bool {
	if st.at < 0 || s.max >= 0 && int(st.n) > s.max {
		return false
	}
	if s.table == nil || s.table.Lengths == nil {
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
	return s.table.Ends(st.at, s.min-int(st.n), hi)
}

// roomy reports whether the length bounds allow all strings that continue with at most chars
// characters: each of them can end at an allowed length.
func (s *stringSpec) roomy(st stringState, chars int) bool {
	// the string is too short to end; whole says that it can continue
	t, more := s.table, int(st.n) < s.min
	if s.max < 0 {
		return !more || t.Whole[st.at]
	}
	return int(st.n)+chars+t.Far <= s.max && (!more || t.Whole[st.at] && s.min+t.Far <= s.max)
}

// mayEnd reports whether the string may end here.
func (s *stringSpec) mayEnd(st stringState) bool {
	return int(st.n) >= s.min && (s.table == nil || s.table.Kind[st.at] >= 0)
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
	row := s.table.Row(st.at)
	return s.table.Alpha.Any(lo, hi, func(class uint16) bool {
		after.at = row[class]
		return s.live(after)
	})
}

// has reports whether the spec allows a text.
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

// endless reports whether after any beginning of a string there are infinitely many.
func (s *stringSpec) endless() bool {
	if s.max >= 0 {
		return false
	}
	return s.table == nil || !slices.ContainsFunc(s.table.Count, func(n int) bool {
		return n < automaton.Unbounded
	})
}

// escapeJSON returns a text as in JSON, without quotes and with only the necessary escapes.
func escapeJSON(s string) string {
	b, _ := jsontext.AppendQuote(nil, s) // invalid bytes are U+FFFD
	return string(b[1 : len(b)-1])
}

// unescapeJSON returns the characters of a string of JSON, without its quotes.
func unescapeJSON(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	b, _ := jsontext.AppendUnquote(nil, `"`+raw+`"`)
	return string(b)
}

// A stringWish is what all schemas of an alternative say of strings.
type stringWish struct {
	min, max int // characters; max -1: any number
	patterns []string
	texts    []string // nil: no list
	from     *schema  // one of the schemas, for errors
}

// tighter returns the tighter of two upper bounds; -1 is none.
func tighter(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// wanted collects what an alternative says of strings.
func (c *compiler) wanted(a alternative) *stringWish {
	s := &stringWish{max: -1}
	for _, id := range a {
		p := c.all[id]
		if s.from == nil || p.pattern != nil || p.unlike != "" || p.format != "" {
			s.from = p
		}
		s.min = max(s.min, p.minLength)
		s.max = tighter(s.max, p.maxLength)
		if p.pattern != nil {
			if !c.charge(64 + 64*len(*p.pattern)) {
				return s
			}
			s.patterns = append(s.patterns, s.counted(*p.pattern))
		}
		if p.unlike != "" {
			s.patterns = append(s.patterns, unlike+p.unlike)
		}
		if p.format != "" {
			f := formats()[p.format]
			if s.patterns = append(s.patterns, f.patterns...); f.max > 0 {
				s.max = tighter(s.max, f.max)
			}
		}
		if p.hasTexts {
			if !c.charge(8*len(s.texts) + 16*len(p.texts)) {
				return s
			}
			s.texts = intersectTexts(s.texts, p.texts)
		}
	}
	return s
}

// strs adds the strings of some alternatives to a value. Many that match patterns, in the same lengths,
// become a few specs, so that a text is not read for each.
func (c *compiler) strs(v *value, wishes []*stringWish) {
	const few = 2
	type lengths struct{ min, max int }
	alike, made := map[lengths][][]string{}, map[lengths]bool{}
	for _, w := range wishes {
		if len(w.patterns) > 0 && w.texts == nil {
			is := lengths{w.min, w.max}
			alike[is] = append(alike[is], w.patterns)
		}
	}
	for _, w := range wishes {
		is := lengths{w.min, w.max}
		ways := alike[is]
		if len(w.patterns) == 0 || w.texts != nil || len(ways) <= few {
			c.str(v, w)
		} else if !made[is] {
			made[is] = true
			for _, t := range c.tables(w.from, ways, w.min, w.max) {
				v.add(stringPart(&stringSpec{table: t, min: w.min, max: w.max, escapes: fewEscapes}))
			}
		}
	}
}

// str adds the strings of an alternative to a value.
func (c *compiler) str(v *value, w *stringWish) {
	s := &stringSpec{min: w.min, max: w.max}
	if c.failed() || s.max >= 0 && s.min > s.max || s.min >= automaton.Unbounded {
		return
	}
	switch {
	case len(w.patterns) > 0:
		if s.table, s.escapes = c.table(w.from, w.patterns, s.min, s.max), fewEscapes; s.table == nil {
			return
		}
	case w.texts == nil && s.min == 0 && s.max < 0:
		s = c.anyString
	default:
		s.escapes = allEscapes
	}
	if !s.live(stringState{}) {
		return
	}
	if w.texts == nil {
		v.add(stringPart(s))
		return
	}
	var texts []string
	for _, text := range w.texts {
		if c.charge(32+4*len(text)) && s.has(text) {
			texts = append(texts, `"`+escapeJSON(text)+`"`)
		}
	}
	v.addTexts(texts)
}

// stringPart returns the part of a string before its quote.
func stringPart(s *stringSpec) part { return part{kind: partString, str: s, rest: `"`} }
