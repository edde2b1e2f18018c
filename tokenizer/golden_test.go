// What is known to be right: tiktoken's ids, OpenAI's published hashes, and the classes of all code
// points.

package tokenizer

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"picogpt/dev/fixture"
	"picogpt/tokenizer/r50k"
)

func equal(a, b []int) bool { return slices.Equal(a, b) }

// values yields ids without errors.
func values(ids []int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	}
}

// TestGoldens compares with what OpenAI's tiktoken (npm package 1.0.22) gave for 1,510 texts.
func TestGoldens(t *testing.T) {
	texts, err := fixture.Tiktoken()
	if err != nil || len(texts) != 1510 {
		t.Fatalf("%d texts, %v", len(texts), err)
	}
	tok := GPT2()
	for _, want := range texts {
		if got := encode(t, tok, want.Text); !equal(got, want.IDs) {
			t.Errorf("%.80q: %v, want %v", want.Text, got, want.IDs)
		}
		if got := encode(t, tok.WithSpecial(), want.Text); !equal(got, want.IDsSpecial) {
			t.Errorf("%.80q: special %v, want %v", want.Text, got, want.IDsSpecial)
		}
		roundTrip(t, tok, want.Text, want.IDs)
	}
}

// TestEmbeddedTable writes OpenAI's own files from the embedded table and compares their SHA-256
// with those that OpenAI publishes in tiktoken (tiktoken_ext/openai_public.py): so all tokens,
// their ids, and all merges are GPT-2's.
func TestEmbeddedTable(t *testing.T) {
	hash := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	if got, want := hash(r50k.Table()), "b3515ab51c5bf27366b31118aa4b453a3add43cfbb5d25e6dc49a6c75f1ea023"; got != want {
		t.Errorf("r50k.bin: %s, want %s", got, want)
	}
	var ranks strings.Builder
	for id := range 50256 {
		token, err := GPT2().Text(id)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&ranks, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(token)), id)
	}
	if got, want := hash(ranks.String()), "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"; got != want {
		t.Errorf("as r50k_base.tiktoken: %s, want %s", got, want)
	}
	_, merges := gpt2Files()
	if got, want := hash("#version: 0.2\n"+merges),
		"1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"; got != want {
		t.Errorf("as vocab.bpe: %s, want %s", got, want)
	}
	if id, ok := GPT2().EndOfText(); id != 50256 || !ok || GPT2().Size() != GPT2Size ||
		id != GPT2Size-1 {
		t.Errorf("end of text %d, %t; size %d", id, ok, GPT2().Size())
	}
}

// TestEveryTokenIsItsOwnEncoding is why merging pairs of ids, as GPT-2 did, gives the same as
// merging any neighbours whose bytes together are a token, as tiktoken does. Suppose neighbours a,
// b are a token t but not the pair that makes it, and no merge of a lower rank is left. All merges
// so far within their bytes are those that encoding t alone begins with, so that encoding would get
// stuck at a, b, too, and not end as t.
func TestEveryTokenIsItsOwnEncoding(t *testing.T) {
	tok := GPT2()
	for id := range 50256 {
		token, _ := tok.tokens.token(id)
		if got := levelOf(tok).appendPiece(nil, token); !equal(got, []int{id}) {
			t.Errorf("%q: %v, want %d", token, got, id)
		}
	}
}

// TestClasses holds the classes of all code points to those of OpenAI's tiktoken (npm package
// 1.0.22). The hash was made without this package: for each code point c, tiktoken's ids of c
// followed by 't tell symbols, which take the apostrophe into their piece, from the rest, and
// Node's \p{L}, \p{N} and \p{White_Space} tell the rest apart.
func TestClasses(t *testing.T) {
	all := make([]byte, 0, unicode.MaxRune+1)
	var count [4]int
	for r := rune(0); r <= unicode.MaxRune; r++ {
		kind := symbol
		if utf8.ValidRune(r) {
			var size int
			if kind, size = classify(string(r)); size != len(string(r)) {
				t.Fatalf("%U: class %d, %d bytes", r, kind, size)
			}
		}
		all = append(all, byte(kind))
		count[kind]++
	}
	const want = "ba830e7f669dd0fcc40141409e2c8be621eead74b1d0d659dc89185f117d69c8"
	if got := fmt.Sprintf("%x", sha256.Sum256(all)); got != want ||
		count != [4]int{971148, 141028, 1911, 25} {
		t.Errorf("classes: %s, want %s; %d symbols, letters, numbers, spaces", got, want, count)
	}
}

// TestUnicode16 has letters and numbers that Unicode 15.1 and 16.0 added, with tiktoken's ids; then
// what is no letter in 16.0: an arrow that came in 16.0, and a code point that has no character.
func TestUnicode16(t *testing.T) {
	for text, want := range map[string][]int{
		"\U00013c06't":  {172, 241, 108, 228, 470},
		"\U0002ebf0'll": {172, 106, 107, 108, 1183},
		"\u1c89's":      {157, 110, 231, 338},
		"\U00011bf0've": {172, 239, 107, 108, 1053},
		"x\ua7cb'd \U00016d6a\U00016d70're": {87, 166, 253, 233, 1549, 220, 172, 244, 113, 103, 172,
			244, 113, 108, 821},
		"\U0001e5d0\U0001e5f1'm": {172, 252, 245, 238, 172, 252, 245, 109, 1101},
		"\U0001f8b2's":           {8582, 95, 110, 6, 82},
		"\U00032400't":           {172, 110, 238, 222, 6, 83},
	} {
		if got := encode(t, GPT2(), text); !equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
