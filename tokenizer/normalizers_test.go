// Normalization forms compared with package norm, except where Hugging Face's library differs.

package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"picogpt/dev/cases"
)

func TestForms(t *testing.T) {
	cases.NotShort(t)
	for _, test := range []struct {
		form       norm.Form
		text, want string
	}{
		{norm.NFKC, "ㅎㅏ", "하"}, // compatibility jamo are composed
		{norm.NFKC, "ᄒㅏ", "하"},
		{norm.NFC, "각", "각"},
		{norm.NFD, "각", "\u1100\u1161\u11a8"},
		{norm.NFC, "a\u0301\u0323", "ạ\u0301"},
		{norm.NFKC, "㋿ﬁ", "㋿fi"}, // Unicode 12.1's is inert
		{norm.NFC, "a\xff\u0301", "a\xff\u0301"},
		{norm.NFC, "e" + strings.Repeat("\u0301", 100), "é" + strings.Repeat("\u0301", 99)},
		{norm.NFD, "é" + strings.Repeat("\u0323", 40), "e" + strings.Repeat("\u0323", 40) + "\u0301"},
	} {
		if got := (form{test.form}).normalize(passage{text: test.text}, false).text; got != test.want {
			t.Errorf("%+q: %+q, want %+q", test.text, got, test.want)
		}
	}
	random := rand.New(rand.NewPCG(11, 12))
	ranges := [][2]rune{{'a', 'z'}, {0xc0, 0x17f}, {0x300, 0x345}, {0x1100, 0x11ff}, {0x1e00, 0x1fff},
		{0xac00, 0xd7a3}, {0x3041, 0x30ff}, {0xff00, 0xffef}, {0x900, 0x9ff}, {0x2100, 0x21ff}}
	for range 20_000 {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			in := ranges[random.IntN(len(ranges))]
			r := in[0] + random.Int32N(in[1]-in[0]+1)
			if propertyTable().of(r)&isLater == 0 || unicode.IsLetter(r) && r < 0x900 {
				b.WriteRune(r)
			}
		}
		text := b.String()
		for _, f := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
			want := f.String(text)
			p := form{f}.normalize(passage{text: text}, true)
			if p.text != want || p.spans != nil && len(p.spans) != len(want) {
				t.Fatalf("%d %+q: %+q, want %+q", f, text, p.text, want)
			}
		}
	}
}
