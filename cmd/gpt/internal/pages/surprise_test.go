package pages_test

// Scored texts as they are drawn. The digest of the page stands with its picture in docs/pictures.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"picogpt/cmd/gpt/internal/pages"
	drawn "picogpt/dev/picture"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/internal/webparts"
	"picogpt/model"
	"picogpt/tokenizer"
)

const text = "Once upon a time there was <b>a naïve 🙂 dragon</b> & \"friends\".\n\nThey \u009b[31mlived\x1b[0m.\n"

// picture returns text, scored with the demo checkpoint.
func picture(t testing.TB, text string, by webparts.Scale) pages.Surprise {
	t.Helper()
	m, o := testmodel.Demo(t, model.Options{}), eval.ScoreOptions{Top: 5}
	score, err := eval.ScoreOne(context.Background(), m, tokenizer.GPT2(), eval.Request{Text: text},
		o)
	if err != nil {
		t.Fatal(err)
	}
	return pages.Surprise{Model: "the demo", By: by, Score: score}
}

func TestTerminal(t *testing.T) {
	p := picture(t, text, webparts.ByRank)
	var b bytes.Buffer
	if err := p.Terminal(&b); err != nil {
		t.Fatal(err)
	}
	colours := regexp.MustCompile("\x1b\\[(0|30;48;5;\\d+)m")
	plain := colours.ReplaceAllString(b.String(), "")
	if strings.ContainsAny(plain, "\x1b\u009b") {
		t.Errorf("the text's own escape sequences got through: %q", plain)
	}
	body, legend, _ := strings.Cut(plain, "\n\nrank:")
	want := strings.NewReplacer("\n", "↵\n", "\x1b", "␛", "\u009b", "\uFFFD").Replace(text)
	if body != want {
		t.Errorf("the text is %q, want %q", body, want)
	}
	for _, name := range webparts.ByRank.Names() {
		if !strings.Contains(legend, name) {
			t.Errorf("no %q in the legend %q", name, legend)
		}
	}
	if n := strings.Count(legend, "\n"); n != 2 {
		t.Errorf("%d lines after the text, want the legend and the summary", n)
	}
}

func TestTable(t *testing.T) {
	p := picture(t, text, webparts.ByRank)
	var b bytes.Buffer
	if err := p.Table(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(b.String(), '\x1b') {
		t.Error("an escape character")
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != len(p.Score.Tokens)+2 {
		t.Fatalf("%d lines for %d tokens", len(lines), len(p.Score.Tokens))
	}
	whole := ""
	for i, token := range p.Score.Tokens {
		f := strings.Split(lines[i+1], "\t")
		s, err := strconv.Unquote(f[4])
		if err != nil {
			t.Fatal(err)
		}
		whole += s
		if i == 0 {
			continue
		}
		if f[0] != fmt.Sprint(token.Rank) || f[1] != fmt.Sprintf("%.4g", math.Exp(token.LogProb)) ||
			f[2] != fmt.Sprintf("%.2f", -math.Log2(math.Exp(token.LogProb))) {
			t.Errorf("%q: %+v", lines[i+1], token.Stat)
		}
	}
	if whole != text {
		t.Errorf("tokens make %q", whole)
	}
}

// TestTextWithoutTokensIsDrawn: bytes that the vocabulary drops are drawn with the token after them.
func TestTextWithoutTokensIsDrawn(t *testing.T) {
	token := func(start, end int) eval.Token {
		return eval.Token{Stat: eval.Stat{Rank: 0, LogProb: -1}, Start: start, End: end}
	}
	s := eval.Scored{Text: "<a<<bé<", Tokens: []eval.Token{token(1, 2), token(4, 5), token(6, 7)}}
	var b bytes.Buffer
	if err := (pages.Surprise{Score: s, By: webparts.ByRank}).Terminal(&b); err != nil {
		t.Fatal(err)
	}
	drawn := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(b.String(), "|")
	if want := "|<a||<<bé<|\n"; !strings.HasPrefix(drawn, want) {
		t.Errorf("%q, want %q first", drawn, want)
	}
	if p := page(t, pages.Surprise{Score: s}); !strings.Contains(p, ">&lt;&lt;bé&lt;</span>") {
		t.Error("the page lacks a part of the text")
	}
}

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		rank            int
		bits            float64
		byRank, byShock int
	}{{-1, math.NaN(), -1, -1}, {0, 0.5, 0, 0}, {1, 1.5, 1, 1}, {9, 3.5, 1, 2}, {10, 7, 2, 3},
		{99, 9.9, 2, 3}, {100, 10.1, 3, 4}, {999, 30, 3, 4}, {1000, 2, 4, 1}} {
		if got := webparts.ByRank.Level(c.rank, -c.bits*math.Ln2); got != c.byRank {
			t.Errorf("rank %d: level %d, want %d", c.rank, got, c.byRank)
		}
		if got := webparts.BySurprisal.Level(c.rank, -c.bits*math.Ln2); got != c.byShock {
			t.Errorf("%v bits: level %d, want %d", c.bits, got, c.byShock)
		}
	}
}

func TestTheSurprisePageNeedsNothingBesidesItself(t *testing.T) {
	html := page(t, picture(t, text, webparts.ByRank))
	outside := regexp.MustCompile(`(?i)https?:|//[a-z]+\.|\bsrc\s*=|@import|url\(|<iframe|<object|fetch\(|XMLHttp|ZgotmplZ`)
	if found := outside.FindString(html); found != "" {
		t.Errorf("%q in the page", found)
	}
	for _, want := range []string{`<!DOCTYPE html>`, `lang="en"`, `default-src 'none'`,
		`role="listbox" tabindex="0"`, `name="viewport"`, `<noscript>`} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(html, "<b>a") {
		t.Error("the text's own tags got through")
	}
}

func TestTextDoesNotTurnWhatFollows(t *testing.T) {
	p := picture(t, "One \u202edlo\u202c \u2067dog\u2069 and שלום", webparts.ByRank)
	draw := map[string]func(io.Writer) error{"page": p.Page, "terminal": p.Terminal}
	for name, f := range draw {
		var b bytes.Buffer
		if err := f(&b); err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexAny(b.String(), "\u202e\u202c\u2067\u2069"); i >= 0 {
			t.Errorf("%s: %q", name, b.String()[max(0, i-20):i+20])
		}
		if name == "page" && !strings.Contains(b.String(), "\uFFFD") ||
			!strings.Contains(b.String(), "ש") {
			t.Errorf("%s: the text is not there", name)
		}
	}
}

func TestPageHoldsNoControlCharacters(t *testing.T) {
	p := picture(t, "One\x00 two\x1b[31m\r\nthree\tfour\u009b </script><!-- \x7f\xff\x0c five",
		webparts.ByRank)
	var b bytes.Buffer
	if err := p.Page(&b); err != nil {
		t.Fatal(err)
	}
	for i, r := range b.String() {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0) {
			t.Errorf("%q in %q", r, b.Bytes()[max(0, i-20):min(b.Len(), i+20)])
		}
	}
	for _, want := range []string{">\t<", ">␍<", "four", "> &lt;/<",
		"<title>Surprise: One␀ two␛[31m three four\uFFFD &lt;/script&gt;"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestPageShowsEachToken(t *testing.T) {
	p := picture(t, text, webparts.BySurprisal)
	html := page(t, p)
	spans := regexp.MustCompile(`<span id="p\d+"[^>]*>([^<]*)</span>`).FindAllStringSubmatch(html,
		-1)
	shown := ""
	for _, s := range spans {
		shown += s[1]
	}
	unescape := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&amp;", "&")
	if got := unescape.Replace(shown); got != strings.NewReplacer("\x1b", "␛", "\u009b",
		"\uFFFD").Replace(text) {
		t.Errorf("the page's text is %q", got)
	}
	raw := regexp.MustCompile(`(?s)<script id="data"[^>]*>(.*?)</script>`).FindStringSubmatch(html)
	var data struct {
		Tokens []struct {
			ID, Piece, Rank int
			P, Bits         float64
			Top             [][]any
		}
	}
	if err := json.Unmarshal([]byte(raw[1]), &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Tokens) != len(p.Score.Tokens) {
		t.Fatalf("%d tokens, want %d", len(data.Tokens), len(p.Score.Tokens))
	}
	for i, token := range data.Tokens {
		want := p.Score.Tokens[i]
		if token.ID != want.ID || token.Rank != want.Rank || i > 0 &&
			math.Abs(token.P-math.Exp(want.LogProb)) > 1e-5 || i > 0 && len(token.Top) != 5 {
			t.Errorf("token %d: %+v, want %+v", i, token, want.Stat)
		}
		if token.Piece >= len(spans) {
			t.Errorf("token %d: piece %d of %d", i, token.Piece, len(spans))
		}
	}
	if len(spans) >= len(p.Score.Tokens) {
		t.Errorf("%d pieces for %d tokens: the emoji's bytes want to be one", len(spans),
			len(p.Score.Tokens))
	}
	counts := regexp.MustCompile(`<td class="number">(\d+) \(`).FindAllStringSubmatch(html, -1)
	sum := 0
	for _, c := range counts {
		n, _ := strconv.Atoi(c[1])
		sum += n
	}
	if sum != p.Score.Count {
		t.Errorf("the histogram counts %d tokens, want %d", sum, p.Score.Count)
	}
}

// TestPageContrast: colours of text on their backgrounds, light and dark, have a contrast of at
// least 4.5 (WCAG 2.1, AA).
func TestPageContrast(t *testing.T) {
	html := page(t, picture(t, "a b", webparts.ByRank))
	schemes := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(html, -1)
	if len(schemes) != 2 {
		t.Fatalf("%d colour schemes, want light and dark", len(schemes))
	}
	for i, scheme := range schemes {
		colours := map[string]float64{}
		for _, c := range regexp.MustCompile(`--([a-z0-9-]+): #(\w{6});`).FindAllStringSubmatch(scheme[1], -1) {
			colours[c[1]] = luminance(t, c[2])
		}
		pairs := [][2]string{{"ink", "ground"}, {"ink", "card"}, {"quiet", "ground"},
			{"quiet", "card"}}
		for level := range webparts.Levels {
			pairs = append(pairs, [2]string{"token-ink", fmt.Sprint("level-", level)})
		}
		for _, p := range pairs {
			a, b := colours[p[0]], colours[p[1]]
			if contrast := (max(a, b) + 0.05) / (min(a, b) + 0.05); contrast < 4.5 || a == 0 &&
				b == 0 {
				t.Errorf("scheme %d: %s on %s has a contrast of %.2f", i, p[0], p[1], contrast)
			}
		}
	}
}

func luminance(t *testing.T, hex string) float64 {
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.03928 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func TestPicturesShowThePage(t *testing.T) {
	const story = "Once upon a time there was a little girl named Lily. She loved to play in the park " +
		"with her dog. One day, the dog drove a submarine to the moon. Lily was very sad. " +
		"\"Where is my dog?\" she said. Her mom gave her a big hug.\n" +
		"The next day the dog came back with a piece of cheese. They lived happily ever after."
	html := page(t, picture(t, story, webparts.ByRank))
	from := [][]byte{[]byte(html)}
	drawn.Page(t, "../../../../docs/pictures/surprise.png", from, func() drawn.Shot {
		path := filepath.Join(t.TempDir(), "page.html")
		if err := os.WriteFile(path, []byte(html), 0o666); err != nil {
			t.Fatal(err)
		}
		return drawn.Shot{Width: 960, Height: 772, URL: "file://" + path,
			Click: "document.getElementById('p30')"}
	})
}
