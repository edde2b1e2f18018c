// Oracles: tiktoken-go for GPT-2's ids, package regexp for pieces, and BPE as openai/gpt-2's
// encoder.py has it.

package tokenizer

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
)

// tiktokenGo returns tiktoken-go's encoding with the embedded table's ranks, which
// TestEmbeddedTable proves.
var tiktokenGo = sync.OnceValue(func() *tiktoken.Tiktoken {
	ranks := map[string]int{}
	for id := range 50256 {
		token, _ := GPT2().tokens.token(id)
		ranks[token] = id
	}
	bpe, err := tiktoken.NewCoreBPE(ranks, map[string]int{tiktoken.ENDOFTEXT: 50256}, gpt2Pattern)
	if err != nil {
		panic(err)
	}
	return tiktoken.NewTiktoken(bpe, nil, nil)
})

// newer reports whether text has a letter or number that Go's Unicode tables, which both oracles go
// by, do not have.
func newer(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		kind, _ := classify(string(r))
		return (kind == letter) != unicode.IsLetter(r) || (kind == number) != unicode.IsNumber(r)
	})
}

// whiteSpace is \s in Unicode; package regexp's own is ASCII.
const whiteSpace = `\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`

var piecePattern = regexp.MustCompile(`^(?:'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^` +
	whiteSpace + `\p{L}\p{N}]+|[` + whiteSpace + `]+)`)
var spacePattern = regexp.MustCompile(`^[` + whiteSpace + `]+$`)

// oraclePieces splits text by piecePattern, which lacks the lookahead of \s+(?!\S): that is done by
// hand.
func oraclePieces(text string) []string {
	var pieces []string
	for text != "" {
		piece := piecePattern.FindString(text)
		if runes := []rune(piece); spacePattern.MatchString(piece) && len(piece) < len(text) &&
			len(runes) > 1 {
			piece = string(runes[:len(runes)-1])
		}
		pieces = append(pieces, piece)
		text = text[len(piece):]
	}
	return pieces
}

// oracleBPE merges a piece, its bytes given as tokens, on strings: the first of the pairs with the
// lowest rank.
func oracleBPE(parts []string, ranks map[[2]string]int) []string {
	for {
		best, at := len(ranks), -1
		for i := range len(parts) - 1 {
			if rank, ok := ranks[[2]string{parts[i], parts[i+1]}]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return parts
		}
		parts = append(append(append([]string{}, parts[:at]...), parts[at]+parts[at+1]),
			parts[at+2:]...)
	}
}

// corpus holds texts that have been trouble for tokenizers.
var corpus = []string{
	"", " ", "  ", "\n", " \n a", "a  b\t\tc\n\n\nd ", "Hello world",
	"it's we'll I'D 'S ''s 're' '", " 's", "'", "l'l", "'llama",
	"don't  stop", "ǅungla naïve Ünïcödé", "日本語のテキスト", "한국어 ﷽ العربية", "👨‍👩‍👧‍👦🏳️‍🌈",
	"½ Ⅷ ٣ 123,456.78", "\u00a0\u3000x\u2028y\u0085z",
	"\x00\x01\x7f", "\u200b\u200d\ufeff", "a\u0301e\u0301", "<|endoftext|>",
	"x<|endoftext|><|endoftext|>y", "<|endoftext", "\ufffd\ufffe",
	"    def f(x):\n        return x  # ok\n", strings.Repeat("a", 100), strings.Repeat("ab", 80),
	strings.Repeat("=", 77), strings.Repeat(" ", 99) + "x",
}

// broken holds texts that are not valid UTF-8.
var broken = []string{
	"\xff", "a\xffb", "\xe2\x82", "\xe2\x82a", " \x80\x80 ", "\xed\xa0\x80", "\xf0\x9f\x98",
	"\xc0\x80", "'\xff's", "x\xe2\x82\xac\x82", "!\xfe!", "\xf4\x90\x80\x80",
}

func FuzzSplit(f *testing.F) {
	for _, text := range append(corpus, broken...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// each byte that is not valid as U+FFFD, which is a symbol
		want := oraclePieces(string([]rune(text)))
		if newer(text) {
			want = nil // no oracle
		}
		rest := text
		for i := 0; rest != ""; i++ {
			n := pieceLen(rest)
			if n < 1 || n > len(rest) {
				t.Fatalf("%q: pieceLen %d", rest, n)
			}
			if want != nil && string([]rune(rest[:n])) != want[i] {
				t.Fatalf("%q: piece %d is %q, want %q", text, i, rest[:n], want[i])
			}
			rest = rest[n:]
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	for _, text := range append(corpus, broken...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tok := GPT2()
		ids := encode(t, tok, text)
		roundTrip(t, tok, text, ids)
		roundTrip(t, tok, text, encode(t, tok.WithSpecial(), text))
		if len(text) < 2000 && utf8.ValidString(text) && !newer(text) {
			if want := tiktokenGo().EncodeOrdinary(text); !equal(ids, want) {
				t.Fatalf("%q: %v, tiktoken-go %v", text, ids, want)
			}
		}
	})
}

// roundTrip checks that ids decode to text, at once and as a stream of whole runes.
func roundTrip(t *testing.T, tok *Tokenizer, text string, ids []int) {
	t.Helper()
	if got, err := tok.Decode(ids); err != nil || got != text {
		t.Fatalf("%q: %v decodes to %q, %v", text, ids, got, err)
	}
	streamed := ""
	for part, err := range tok.Stream(values(ids)) {
		if err != nil || part == "" {
			t.Fatalf("%q: streams %q, %v", text, part, err)
		}
		streamed += part
	}
	if streamed != text {
		t.Fatalf("%q: streams as %q", text, streamed)
	}
}
