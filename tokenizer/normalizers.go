// Normalizers change a text before it is split: by Hugging Face's rules, BERT's, and Unicode's
// normalization forms. sentencepiece's rules are in spiece.go.

package tokenizer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"picogpt/tokenizer/internal/regex"
)

// A normalizer rewrites a text. With track, the result knows its origin.
type normalizer interface {
	normalize(p passage, track bool) passage
}

// lowercase implements Lowercase: each character by itself, without the rule for the final sigma.
type lowercase struct{}

func (lowercase) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	for i := 0; i < len(p.text); {
		r, size := utf8.DecodeRuneInString(p.text[i:])
		if size > 1 || r != utf8.RuneError {
			if r < utf8.RuneSelf {
				if 'A' <= r && r <= 'Z' {
					w.replace(i, i+1, lowerASCII[r-'A':r-'A'+1])
				}
			} else if lower := lowerOf(r); lower != "" {
				w.replace(i, i+size, lower)
			}
		}
		i += size
	}
	return w.result()
}

const lowerASCII = "abcdefghijklmnopqrstuvwxyz"

// lowerOf returns the lower case of a rune, or "" if that is the rune itself.
func lowerOf(r rune) string {
	if r == 'İ' {
		return "i̇"
	}
	if lower := regex.Lower(r); lower != r {
		return string(lower)
	}
	return ""
}

// strip implements Strip: it removes white space at the ends.
type strip struct{ left, right bool }

func (s strip) normalize(p passage, track bool) passage {
	from, to := 0, len(p.text)
	if s.left {
		from = to - len(strings.TrimLeftFunc(p.text, unicode.IsSpace))
	}
	if s.right {
		to = max(from, len(strings.TrimRightFunc(p.text, unicode.IsSpace)))
	}
	return p.slice(from, to)
}

// dropping removes the characters with a property, for StripAccents.
type dropping struct{ what property }

func (d dropping) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	table := propertyTable()
	for i := 0; i < len(p.text); {
		_, is, size := table.next(p.text[i:])
		if is&d.what != 0 {
			w.replace(i, i+size, "")
		}
		i += size
	}
	return w.result()
}

// replacing implements Replace: a text replaces each match of a pattern.
type replacing struct {
	pattern pattern
	with    string
}

func (s replacing) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	p.bound.fail(s.pattern.matches(p, func(from, to int) { w.replace(from, to, s.with) }))
	return w.result()
}

// prepend implements Prepend: it puts a text before one that is not empty.
type prepend string

func (s prepend) normalize(p passage, track bool) passage {
	if p.text == "" {
		return p
	}
	w := rewrite(p, track)
	w.replace(0, 0, string(s))
	return w.result()
}

// nmt implements Nmt, sentencepiece's rules for machine translation: it removes control characters,
// and turns unusual spaces into one space.
type nmt struct{}

func (nmt) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	for i := 0; i < len(p.text); {
		r, size := utf8.DecodeRuneInString(p.text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
		case 1 <= r && r <= 8, r == 0xB, 0xE <= r && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
			w.replace(i, i+size, "")
		case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, 0x200B <= r && r <= 0x200F,
			r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
			w.replace(i, i+size, " ")
		}
		i += size
	}
	return w.result()
}

// bertNormalizer implements BertNormalizer. Its steps run in the order of the fields.
type bertNormalizer struct{ clean, chinese, accents, lower bool }

func (b bertNormalizer) normalize(p passage, track bool) passage {
	if b.clean || b.chinese {
		p = b.tidied(p, track)
	}
	if b.accents {
		p = dropping{isBertAccent}.normalize(form{norm.NFD}.normalize(p, track), track)
	}
	if b.lower {
		p = lowercase{}.normalize(p, track)
	}
	return p
}

// tidied removes what clean_text removes, turns all white space into spaces, and puts a space on
// each side of a Chinese character.
func (b bertNormalizer) tidied(p passage, track bool) passage {
	w := rewrite(p, track)
	table := propertyTable()
	for i := 0; i < len(p.text); {
		r, is, size := table.next(p.text[i:])
		switch {
		case b.clean && is&isBertDropped != 0:
			w.replace(i, i+size, "")
		case b.clean && is&isSpace != 0 && r != ' ':
			w.replace(i, i+size, " ")
		case b.chinese && r >= 0x3400 && isChinese(r):
			w.replace(i, i, " ")
			w.copyTo(i + size)
			w.replace(i+size, i+size, " ")
		}
		i += size
	}
	return w.result()
}

// isChinese reports whether BERT counts a character as Chinese. BERT does not count 2B820.
func isChinese(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0x3400 <= r && r <= 0x4DBF ||
		0x20000 <= r && r <= 0x2A6DF || 0x2A700 <= r && r <= 0x2B73F ||
		0x2B740 <= r && r <= 0x2B81F || 0x2B920 <= r && r <= 0x2CEAF ||
		0xF900 <= r && r <= 0xFAFF || 0x2F800 <= r && r <= 0x2FA1F
}

// form is one of Unicode's normalization forms NFC, NFD, NFKC and NFKD, as in Hugging Face's
// library: by Unicode 9.0, which changes no later characters, and for runs of marks of any length.
// The package norm has the tables of characters. Its own forms cannot be used for a text that
// changes: its tables are newer, and it breaks runs of more than 30 marks (UAX15-D4).
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
