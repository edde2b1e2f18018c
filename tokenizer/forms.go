// Unicode's normalization forms NFC, NFD, NFKC and NFKD, as in Hugging Face's library: by Unicode
// 9.0, which changes no later characters, and for runs of marks of any length.
//
// golang.org/x/text/unicode/norm has the tables of characters. Its own forms cannot be used for a
// text that changes: its tables are newer, and it breaks runs of more than 30 marks (UAX15-D4).

package tokenizer

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// form is one of the four forms.
type form struct{ norm.Form }

func (f form) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	for i := 0; i < len(p.text); {
		done := i
		if i += f.QuickSpanString(p.text[i:]); i == len(p.text) {
			break
		}
		for i > done && !f.begins(p.text[i:]) {
			_, size := utf8.DecodeLastRuneInString(p.text[:i])
			i -= size
		}
		end := f.segment(p.text, i)
		if now := f.rewritten(p.text[i:end]); now != p.text[i:end] {
			w.replace(i, end, now)
		}
		i = end
	}
	return w.result()
}

// segment returns the end of the characters from byte i on that may change together.
func (f form) segment(text string, i int) int {
	for {
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if i == len(text) || f.begins(text[i:]) {
			return i
		}
	}
}

// begins reports whether the first character of a text never changes together with the text before
// it. A compatibility jamo may, because of its decomposition.
func (f form) begins(text string) bool {
	is := f.PropertiesString(text)
	parts := is.Decomposition()
	return is.BoundaryBefore() && (parts == nil || f.Properties(parts).BoundaryBefore())
}

// A mark is a rune with its canonical combining class: 0 for one that begins a character.
type mark struct {
	rune  rune
	class uint8
}

// rewritten returns a segment in the form.
func (f form) rewritten(text string) string {
	if !utf8.ValidString(text) { // a single byte
		return text
	}
	list := make([]mark, 0, 2*len(text))
	for _, r := range text {
		list = f.decomposed(list, r)
	}
	for from := 0; from < len(list); from++ {
		to := from
		for to < len(list) && list[to].class > 0 {
			to++
		}
		if to-from > 1 {
			slices.SortStableFunc(list[from:to], func(a, b mark) int {
				return int(a.class) - int(b.class)
			})
		}
		from = max(from, to-1)
	}
	if f.Form == norm.NFC || f.Form == norm.NFKC {
		list = composed(list)
	}
	out := make([]byte, 0, len(text)+8)
	for _, m := range list {
		out = utf8.AppendRune(out, m.rune)
	}
	return string(out)
}

// Hangul syllables are composed by arithmetic (The Unicode Standard, 3.12).
const (
	hangulS, hangulL, hangulV, hangulT = 0xAC00, 0x1100, 0x1161, 0x11A7
	hangulLs, hangulVs, hangulTs       = 19, 21, 28
	hangulSs                           = hangulLs * hangulVs * hangulTs
)

// decomposed appends the decomposition of a rune.
func (f form) decomposed(list []mark, r rune) []mark {
	if propertyTable().of(r)&isLater != 0 {
		return append(list, mark{rune: r})
	}
	if s := r - hangulS; 0 <= s && s < hangulSs {
		list = append(list, mark{rune: hangulL + s/(hangulVs*hangulTs)},
			mark{rune: hangulV + s%(hangulVs*hangulTs)/hangulTs})
		if t := s % hangulTs; t > 0 {
			list = append(list, mark{rune: hangulT + t})
		}
		return list
	}
	is := f.PropertiesString(string(r))
	parts := is.Decomposition()
	if parts == nil {
		return append(list, mark{r, is.CCC()})
	}
	for _, part := range string(parts) {
		list = append(list, mark{part, f.PropertiesString(string(part)).CCC()})
	}
	return list
}

// composed composes the runes of a segment as in NFC.
func composed(list []mark) []mark {
	out := list[:0]
	starter := -1 // in out
	for _, m := range list {
		if starter >= 0 {
			last := out[len(out)-1]
			if next := starter == len(out)-1; next || last.class > 0 && last.class < m.class {
				if r := pair(out[starter].rune, m.rune); r != 0 {
					out[starter].rune = r
					continue
				}
			}
		}
		if m.class == 0 {
			starter = len(out)
		}
		out = append(out, m)
	}
	return out
}

// pair returns the character that composes a and b, or 0 if there is none.
func pair(a, b rune) rune {
	if l, v := a-hangulL, b-hangulV; 0 <= l && l < hangulLs && 0 <= v && v < hangulVs {
		return hangulS + (l*hangulVs+v)*hangulTs
	}
	if s, t := a-hangulS, b-hangulT; 0 <= s && s < hangulSs && s%hangulTs == 0 &&
		0 < t && t < hangulTs {
		return a + t
	}
	both := norm.NFC.String(string(a) + string(b))
	r, size := utf8.DecodeRuneInString(both)
	if size != len(both) || propertyTable().of(r)&isLater != 0 {
		return 0
	}
	return r
}
