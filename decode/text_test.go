package decode

// Stop strings are never shown in part, and no id without text is drawn.

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/toys"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// shown pushes tokens until a stop string ends the text or they run out, and returns the pieces
// that were shown.
func shown(t *textStream, tokens []string) (pieces []string, stopped bool) {
	for _, token := range tokens {
		text, stopped := t.push(token)
		pieces = append(pieces, text)
		if stopped {
			return pieces, true
		}
	}
	return append(pieces, t.flush()), false
}

func TestAStopStringIsNeverShownInPart(t *testing.T) {
	for _, c := range []struct {
		about   string
		stops   []string
		tokens  []string
		want    string // pieces joined by |
		stopped bool
	}{
		{"no stop strings", nil, []string{"one", " two"}, "one| two|", false},
		{"inside one token", []string{"\n"}, []string{"a", "b\nc", "d"}, "a|b", true},
		{"across tokens", []string{"</end>"}, []string{"x<", "/e", "nd", ">y"}, "x|||", true},
		{"begun, then not", []string{"</end>"}, []string{"x<", "/e", "n!"}, "x||</en!|", false},
		{"begun at the end", []string{"</end>"}, []string{"x<", "/e"}, "x||</e", false},
		{"begun again inside itself", []string{"aab"}, []string{"a", "a", "a", "b"}, "||a|", true},
		{"the first complete one wins", []string{"bcd", "abcde"}, []string{"xabcde"}, "xa", true},
		{"the longest of those complete together", []string{"c", "abc"}, []string{"ab", "c"}, "|",
			true},
		{"one held for another that does not come", []string{"b", "ac"}, []string{"a", "b"}, "|a",
			true},
		{"a whole token", []string{"two"}, []string{"one", "two", "three"}, "one|", true},
		{"in the first bytes", []string{"a"}, []string{"abc"}, "", true},
		{"a rune across tokens", nil, []string{"h\xc3", "\xa9\xf0\x9f", "\x98\x80!"}, "h|é|😀!|",
			false},
		{"a rune that never ends", nil, []string{"h\xe2\x82"}, "h|\xe2\x82", false},
		{"bytes that are no rune", nil, []string{"\xff", "\x80", "\xe2\x82", "x"},
			"\xff|\x80||\xe2\x82x|", false},
		{"a stop string of bytes across runes", []string{"é"}, []string{"x\xc3", "\xa9y"}, "x|",
			true},
		{"a stop string that begins inside a rune", []string{"\xa9!"},
			[]string{"\xc3", "\xa9", "?"}, "||é?|", false},
	} {
		pieces, stopped := shown(newTextStream(c.stops, false, 0), c.tokens)
		if got := strings.Join(pieces, "|"); got != c.want || stopped != c.stopped {
			t.Errorf("%s: %q, stopped %v; want %q, %v", c.about, got, stopped, c.want, c.stopped)
		}
	}
}

// FuzzStop compares the stream with the definition on the whole text, for all token borders: the
// earliest end of a stop string, and of those that end there the longest.
func FuzzStop(f *testing.F) {
	f.Add("once upon a time", "n a", "tim", uint64(0x123456789))
	f.Add("aaaaab", "aab", "ab", uint64(0))
	f.Add("h\xc3\xa9llo \xf0\x9f\x98\x80", "\xa9", "o \xf0\x9f\x98\x80", ^uint64(0))
	f.Add("\xff\xfe\xe2\x82", "\xe2\x82\xac", "x", uint64(7))
	f.Fuzz(func(t *testing.T, text, stop1, stop2 string, borders uint64) {
		var stops []string
		for _, s := range []string{stop1, stop2} {
			if s != "" {
				stops = append(stops, s)
			}
		}
		want, kept, wantStopped := text, text, false
		for end := 0; end <= len(text) && !wantStopped; end++ {
			for _, s := range stops {
				if strings.HasSuffix(text[:end], s) && (!wantStopped || end-len(s) < len(want)) {
					want, kept, wantStopped = text[:end-len(s)], text[:end], true
				}
			}
		}
		var tokens []string
		last := 0
		for i := 1; i <= len(text); i++ {
			if i == len(text) || borders>>(i%64)&1 == 1 {
				tokens = append(tokens, text[last:i])
				last = i
			}
		}

		pieces, stopped := shown(newTextStream(stops, false, 0), tokens)
		if got := strings.Join(pieces, ""); got != want || stopped != wantStopped {
			t.Fatalf("%q cut by %x with stops %q: %q, stopped %v; want %q, %v", text, borders,
				stops, got, stopped, want, wantStopped)
		}
		pieces, stopped = shown(newTextStream(stops, true, 0), tokens)
		if got := strings.Join(pieces, ""); got != kept || stopped != wantStopped {
			t.Fatalf("%q cut by %x after stops %q: %q, stopped %v; want %q, %v", text, borders,
				stops, got, stopped, kept, wantStopped)
		}
		pieces, _ = shown(newTextStream(stops, false, 0), tokens)
		if utf8.ValidString(want) {
			for i, p := range pieces {
				if !utf8.ValidString(p) {
					t.Fatalf("%q with stops %q: piece %d, %q, splits a rune", text, stops, i, p)
				}
			}
		}
		// nothing was held back for longer than a stop string and a rune could need
		if !stopped && len(stops) > 0 {
			held := newTextStream(stops, false, 0)
			for _, token := range tokens {
				held.push(token)
			}
			if n := max(len(stop1), len(stop2)) + utf8.UTFMax - 2; len(held.held) > n {
				t.Fatalf("%q with stops %q: %d bytes held back, want at most %d", text, stops,
					len(held.held), n)
			}
		}
	})
}

type (
	letters = toys.Letters
	words   = toys.Words
)

var sized = cases.Sized

// spelled is letters with the text of each token by itself.
type spelled struct{ letters }

func (s spelled) Text(id int) (string, error) { return s.Push(id) }

// pieces is a vocabulary of any bytes.
type pieces []string

func (p pieces) Size() int { return len(p) }

func (p pieces) NewDecoder([]int) tokenizer.Decoder { return p }

func (p pieces) Push(id int) (string, error) { return p[id], nil }

func (pieces) Flush() string { return "" }

func (p pieces) Fork() tokenizer.Decoder { return p }

func TestTheTextOfAVocabularyWithState(t *testing.T) {
	vocabulary := words{"one", "two", "three", "four", "five"}
	for _, c := range []struct {
		about  string
		stop   []string
		max    int
		end    []int    // ids
		want   []string // the tokens' texts
		finish string
	}{
		{"to its end", nil, 4, nil, []string{"", " two", " three", " four five"}, FinishLength},
		{"a stop string across words", []string{"o th"}, 4, nil,
			[]string{"", " tw", ""}, FinishStop},
		{"a stop string in what is certain at the end", []string{"ve"}, 4, nil,
			[]string{"", " two", " three", " four fi"}, FinishStop},
		{"a stop string in what the end of text makes certain", []string{"ur"}, 4, []int{4},
			[]string{"", " two", " three", " fo"}, FinishEndOfText},
	} {
		s := &script{rule: counting(len(vocabulary))}
		l := small
		l.endOfText = c.end
		tokens, err := play(s, l, []int{0},
			Options{MaxTokens: c.max, Vocabulary: vocabulary, Stop: c.stop})
		var texts []string
		for _, token := range tokens {
			texts = append(texts, token.Text)
		}
		if err != nil || !slices.Equal(texts, c.want) || tokens[len(tokens)-1].Finish != c.finish {
			t.Errorf("%s: %q, %v; want %q, %s", c.about, texts, tokens[len(tokens)-1], c.want,
				c.finish)
		}
	}
}

// gapped is letters without some of them.
type gapped struct {
	letters
	gaps []int
}

func (g gapped) Gaps() []int { return g.gaps }

func demoTokenizer(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	ck, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ck.Close()
	tok, err := ck.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}
