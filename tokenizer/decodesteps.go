// The steps of a decoder, which rewrite the tokens one by one. A step keeps what it needs to know
// of earlier tokens in its state.

package tokenizer

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// eachToken is a step that rewrites a token by itself; first is true for the first token of the
// text.
type eachToken func(text string, first bool) string

func (f eachToken) push(s *decodeState, text string) string {
	made := f(text, s.tokens == 0)
	s.bound.grow(len(made) - len(text))
	return made
}

func (f eachToken) fused() decodeStep {
	return wholeText(func(_ *decodeState, text string, first bool) string { return f(text, first) })
}

// A tokenStep is a step that has another form where all tokens before it were fused to one.
type tokenStep interface {
	decodeStep
	fused() decodeStep
}

// wholeText is a step that rewrites the whole text as one token, so that it waits for its end.
type wholeText func(s *decodeState, text string, first bool) string

func (f wholeText) push(s *decodeState, text string) string {
	s.first = s.first || s.tokens == 0
	s.all = append(s.all, text...)
	return ""
}

func (f wholeText) flush(s *decodeState) string {
	if len(s.all) == 0 {
		return ""
	}
	text := f(s, string(s.all), s.first)
	s.all = nil
	return text
}

// spaced is used if there is no decoder: tokens with spaces between them.
func spaced(text string, first bool) string {
	if first {
		return text
	}
	return " " + text
}

// wordPieces implements WordPiece: a space before each token, except those that continue a word.
func wordPieces(prefix string, cleanup bool) eachToken {
	tidy := strings.NewReplacer
	steps := []*strings.Replacer{tidy(" .", "."), tidy(" ?", "?"), tidy(" !", "!"), tidy(" ,", ","),
		tidy(" ' ", "'"), tidy(" n't", "n't"), tidy(" 'm", "'m"), tidy(" do not", " don't"),
		tidy(" 's", "'s"), tidy(" 've", "'ve"), tidy(" 're", "'re")}
	if !cleanup {
		steps = nil
	}
	return func(text string, first bool) string {
		if rest, continues := strings.CutPrefix(text, prefix); continues && !first {
			text = rest
		} else if !first {
			text = " " + text
		}
		for _, step := range steps {
			text = step.Replace(text)
		}
		return text
	}
}

// metaspaces implements Metaspace: marks become spaces, except that those of the first token are
// removed.
func metaspaces(mark string, scheme prepending) eachToken {
	return func(text string, first bool) string {
		if first && scheme != never {
			return strings.ReplaceAll(text, mark, "")
		}
		return strings.ReplaceAll(text, mark, " ")
	}
}

// byteTokens implements ByteFallback: <0xE4> is a byte.
func byteTokens(text string, _ bool) string {
	if b, ok := byteOf(text); ok {
		return string([]byte{b})
	}
	return text
}

// byteOf returns the byte of a token such as <0xE4>.
func byteOf(token string) (b byte, ok bool) {
	if len(token) != 6 || token[:3] != "<0x" || token[5] != '>' {
		return 0, false
	}
	n, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(n), err == nil
}

// stripTokens implements Strip: it removes a character at the ends of each token.
type stripTokens struct {
	content     string
	start, stop int
}

func (t stripTokens) push(_ *decodeState, text string) string {
	for i, found := 0, true; i < t.start && found; i++ {
		text, found = strings.CutPrefix(text, t.content)
	}
	for i, found := 0, true; i < t.stop && found; i++ {
		text, found = strings.CutSuffix(text, t.content)
	}
	return text
}

func (t stripTokens) fused() decodeStep {
	if t.stop == 0 {
		return stripText{t.content, t.start}
	}
	return wholeText(func(s *decodeState, text string, first bool) string {
		if !first {
			return stripTokens{t.content, 0, t.stop}.push(s, text)
		}
		return t.push(s, text)
	})
}

// replaceTokens implements Replace in each token.
type replaceTokens struct {
	pattern pattern
	with    string
}

func (t replaceTokens) push(s *decodeState, text string) string {
	return replacing(t).normalize(passage{text: text, bound: s.bound}, false).text
}

func (t replaceTokens) fused() decodeStep {
	if text, ok := t.pattern.(literal); ok {
		return replaceText{string(text), t.with}
	}
	return wholeText(func(s *decodeState, text string, _ bool) string { return t.push(s, text) })
}

// replaceText implements Replace after Fuse: it replaces a text that may begin in one token and end
// in another.
type replaceText struct{ text, with string }

func (t replaceText) push(s *decodeState, text string) string {
	var out strings.Builder
	text = s.held + text
	for {
		before, after, found := strings.Cut(text, t.text)
		if !found || !s.bound.grow(len(t.with)-len(t.text)) {
			break
		}
		out.WriteString(before + t.with)
		text = after
	}
	held := min(len(text), len(t.text)-1)
	for !strings.HasSuffix(text, t.text[:held]) {
		held--
	}
	out.WriteString(text[:len(text)-held])
	s.held = text[len(text)-held:]
	return out.String()
}

func (replaceText) flush(s *decodeState) string {
	rest := s.held
	s.held = ""
	return rest
}

// stripText implements Strip after Fuse: it removes a character at the beginning of the whole text.
type stripText struct {
	content string
	start   int
}

func (t stripText) push(s *decodeState, text string) string {
	if s.tokens == 0 {
		s.held = strings.Repeat("x", t.start) // as many characters as may still be removed
	}
	for s.held != "" && text != "" {
		rest, found := strings.CutPrefix(text, t.content)
		if text = rest; !found {
			s.held = ""
		} else {
			s.held = s.held[1:]
		}
	}
	return text
}

// suffixes implements BPEDecoder: the mark of a word's end becomes a space, except at the end of
// the text.
type suffixes string

func (t suffixes) push(s *decodeState, text string) string {
	before := ""
	if s.first { // a token is held
		before = strings.ReplaceAll(s.held, string(t), " ")
		s.bound.grow(len(before) - len(s.held))
	}
	certain, _, _ := strings.Cut(text, string(t))
	s.first, s.held = true, text[len(certain):]
	return before + certain
}

func (t suffixes) flush(s *decodeState) string {
	rest := strings.ReplaceAll(s.held, string(t), "")
	s.first, s.held = false, ""
	return rest
}

// fused: the only token is the last, so that nothing becomes a space.
func (t suffixes) fused() decodeStep {
	if t == "" {
		return eachToken(func(text string, _ bool) string { return text })
	}
	return replaceText{string(t), ""}
}

// joinedCJK removes the spaces between Chinese, Japanese and full-width characters.
type joinedCJK struct{}

func (joinedCJK) push(s *decodeState, text string) string {
	if rest, ok := strings.CutPrefix(text, " "); ok && rest != "" && s.tokens > 0 {
		next, _ := utf8.DecodeRuneInString(rest)
		if wide, other := isWide(s.last), isWide(next); wide && other ||
			wide && isQuote(next) || other && isQuote(s.last) {
			text = rest
		}
	}
	if text != "" {
		s.last, _ = utf8.DecodeLastRuneInString(text)
	}
	return text
}

// isWide reports whether a character is written without spaces around it.
func isWide(r rune) bool {
	return r >= 0x2E80 && (isChinese(r) || r <= 0x312F || 0x31A0 <= r && r <= 0x33FF ||
		0xFE30 <= r && r <= 0xFE4F || 0xFF01 <= r && r <= 0xFFEF)
}

// isQuote reports whether a character is Chinese punctuation that other languages use too.
func isQuote(r rune) bool { return strings.ContainsRune("“”‘’…—·", r) }

// JoinCJK returns the same vocabulary with another rule: Decode puts no spaces between Chinese and
// Japanese characters and their full-width punctuation. WordPiece puts a space before each token
// that begins a word, and each Chinese character is a word. Vocabularies of other kinds have no
// such spaces, and are returned unchanged.
func (t *Tokenizer) JoinCJK() *Tokenizer {
	if t.kind != kindWordPiece {
		return t
	}
	joined := *t
	joined.decoding.steps = append(slices.Clone(t.decoding.steps), joinedCJK{})
	return &joined
}
