// From ids back to text: the decoder of a vocabulary, as steps that each rewrite the tokens as they
// come. What a step needs to know of the tokens before is its state.

package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// decoding is how the tokens of a vocabulary are put together. Without steps, a text is its tokens
// joined.
type decoding struct {
	*tokens
	steps []decodeStep
}

// A decodeStep is a part of a decoder.
type decodeStep interface {
	// push takes the text of one token and returns what is certain.
	push(s *decodeState, text string) string
	// flush returns the rest at the end.
	flush(s *decodeState) string
}

// decodeState is what a step remembers of a text.
type decodeState struct {
	tokens int // before this one
	held   string
	last   rune // that came out
}

// decoder returns a decoder at the beginning of a text or, if begun, within one.
func (d *decoding) decoder(begun bool) Decoder {
	if len(d.steps) == 0 {
		return plainDecoder{d.tokens}
	}
	s := &stepDecoder{decoding: d, states: make([]decodeState, len(d.steps))}
	if begun {
		for i := range s.states {
			s.states[i].tokens = 1
		}
	}
	return s
}

// A plainDecoder gives each token as it is, so there is no state.
type plainDecoder struct{ *tokens }

func (d plainDecoder) Push(id int) (string, error) { return d.token(id) }
func (d plainDecoder) Flush() string               { return "" }
func (d plainDecoder) Fork() Decoder               { return d }

// A stepDecoder is a decoder under way.
type stepDecoder struct {
	*decoding
	states []decodeState // [steps]
}

func (d *stepDecoder) Push(id int) (string, error) {
	text, err := d.token(id)
	if err != nil {
		return "", err
	}
	for i, step := range d.steps {
		text = step.push(&d.states[i], text)
		d.states[i].tokens++
	}
	return text, nil
}

func (d *stepDecoder) Flush() string {
	text := ""
	for i, step := range d.steps {
		if text != "" {
			text = step.push(&d.states[i], text)
		}
		text += step.flush(&d.states[i])
	}
	return text
}

func (d *stepDecoder) Fork() Decoder {
	return &stepDecoder{d.decoding, slices.Clone(d.states)}
}

// eachToken is a step that rewrites a token by itself; first says that it is the first of the text.
type eachToken func(text string, first bool) string

func (f eachToken) push(s *decodeState, text string) string { return f(text, s.tokens == 0) }
func (eachToken) flush(*decodeState) string                 { return "" }

// spaced is no decoder: tokens with spaces between them.
func spaced(text string, first bool) string {
	if first {
		return text
	}
	return " " + text
}

// wordPieces is WordPiece's: a space before each token but those that go on with a word.
func wordPieces(prefix string, cleanup bool) eachToken {
	tidy := strings.NewReplacer
	steps := []*strings.Replacer{tidy(" .", "."), tidy(" ?", "?"), tidy(" !", "!"), tidy(" ,", ","),
		tidy(" ' ", "'"), tidy(" n't", "n't"), tidy(" 'm", "'m"), tidy(" do not", " don't"),
		tidy(" 's", "'s"), tidy(" 've", "'ve"), tidy(" 're", "'re")}
	if !cleanup {
		steps = nil
	}
	return func(text string, first bool) string {
		if rest, goesOn := strings.CutPrefix(text, prefix); goesOn && !first {
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

// metaspaces is Metaspace's: marks are spaces, but those of the first token go.
func metaspaces(mark string, scheme prepending) eachToken {
	return func(text string, first bool) string {
		if first && scheme != never {
			return strings.ReplaceAll(text, mark, "")
		}
		return strings.ReplaceAll(text, mark, " ")
	}
}

// byteTokens is ByteFallback's: <0xE4> is a byte.
func byteTokens(text string, _ bool) string {
	if b, ok := byteOf(text); ok {
		return string([]byte{b})
	}
	return text
}

// byteOf reads a token that is written <0xE4>.
func byteOf(token string) (b byte, ok bool) {
	if len(token) != 6 || token[:3] != "<0x" || token[5] != '>' {
		return 0, false
	}
	for _, c := range []byte(token[3:5]) {
		switch {
		case '0' <= c && c <= '9':
			b = b<<4 + (c - '0')
		case 'A' <= c && c <= 'F':
			b = b<<4 + (c - 'A' + 10)
		case 'a' <= c && c <= 'f':
			b = b<<4 + (c - 'a' + 10)
		default:
			return 0, false
		}
	}
	return b, true
}

// stripTokens is Strip's: a character at the ends of each token.
func stripTokens(content string, start, stop int) eachToken {
	return func(text string, _ bool) string {
		for range start {
			text = strings.TrimPrefix(text, content)
		}
		for range stop {
			text = strings.TrimSuffix(text, content)
		}
		return text
	}
}

// stripText is Strip's after Fuse: a character at the beginning of the whole text.
type stripText struct {
	content string
	start   int
}

func (t stripText) push(s *decodeState, text string) string {
	if s.tokens == 0 {
		s.held = strings.Repeat("x", t.start) // how many may still go
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

func (stripText) flush(*decodeState) string { return "" }

// suffixes is BPEDecoder's: the mark of a word's end is a space, but at the end of the text.
type suffixes string

func (t suffixes) push(s *decodeState, text string) string {
	before := strings.ReplaceAll(s.held, string(t), " ")
	s.held = ""
	if at := strings.Index(text, string(t)); at >= 0 && t != "" {
		text, s.held = text[:at], text[at:]
	}
	return before + text
}

func (t suffixes) flush(s *decodeState) string {
	rest := strings.ReplaceAll(s.held, string(t), "")
	s.held = ""
	return rest
}

// joinedCJK drops the spaces between Chinese, Japanese and full-width characters.
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

func (joinedCJK) flush(*decodeState) string { return "" }

// isWide reports whether a character is written without spaces around it.
func isWide(r rune) bool {
	return r >= 0x2E80 && (isChinese(r) || 0x2E80 <= r && r <= 0x312F || 0x31A0 <= r && r <= 0x33FF ||
		0xFE30 <= r && r <= 0xFE4F || 0xFF01 <= r && r <= 0xFFEF)
}

// isQuote reports whether a character is written so in Chinese, but not only there.
func isQuote(r rune) bool { return strings.ContainsRune("“”‘’…—·", r) }

// JoinCJK returns the same vocabulary with another rule: Decode puts no space between Chinese and
// Japanese characters and the punctuation of their width. WordPiece puts one before each token that
// begins a word, and each Chinese character is a word. Vocabularies of other kinds have no such
// spaces, and are returned as they are.
func (t *Tokenizer) JoinCJK() *Tokenizer {
	if t.kind != kindWordPiece {
		return t
	}
	joined := *t
	joined.decoding.steps = append(slices.Clone(t.decoding.steps), joinedCJK{})
	return &joined
}
