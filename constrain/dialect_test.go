package constrain

// Python's and ECMA-262's regexes: lookaheads against a backtracking matcher, spellings by table.

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// A lookRegex is a sequence of parts; parts that are lookaheads have look '=' or '!'.
type lookRegex []lookPart

type lookPart struct {
	look byte // 0 for text
	re   string
}

func (r lookRegex) String() string {
	var b strings.Builder
	for _, p := range r {
		if p.look != 0 {
			b.WriteString("(?" + string(p.look) + p.re + ")")
		} else {
			b.WriteString(p.re)
		}
	}
	return b.String()
}

// matches tries all ways to divide s among the parts from one on; package regexp judges each.
func (r lookRegex) matches(s string, at int) bool {
	if len(r) == 0 {
		return at == len(s)
	}
	if p := r[0]; p.look != 0 {
		found := false
		for end := at; end <= len(s); end++ {
			loc := regexp.MustCompile(`\A(?s:.{` + fmt.Sprint(at) + `})(?:` + p.re + `)`).MatchString(s)
			found = found || loc
		}
		return found == (p.look == '=') && r[1:].matches(s, at)
	}
	whole := regexp.MustCompile(`\A(?:` + r[0].re + `)\z`)
	for end := at; end <= len(s); end++ {
		if whole.MatchString(s[at:end]) && r[1:].matches(s, end) {
			return true
		}
	}
	return false
}

func TestRandomLookaheadsAreThoseOfBacktracking(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(9, 7))}
	matches, others := 0, 0
	for range cases.Of(150, 3000) {
		var r lookRegex
		for range 1 + m.IntN(4) {
			if m.IntN(2) == 0 {
				r = append(r, lookPart{"=!"[m.IntN(2)], m.one("a", "ab", "a*b", "[ab]c?$", "$", ".", ".*c", "(a|bc)", "", "b{2}", `\bb`, `^a`, "c|$")})
			}
			r = append(r, lookPart{0, m.one("a", "b?", "[ab]", "a*", "(ab|c)", ".", "[ab]*", "c{0,2}", ".*")})
		}
		c, err := Regex(gpt2(), r.String())
		if err != nil && !strings.Contains(err.Error(), "no text can match") {
			t.Errorf("%s: %v", r, err)
			continue
		}
		for range 40 {
			s := ""
			for range m.IntN(6) {
				s += m.one("a", "b", "c", "a", "b")
			}
			want, got := r.matches(s, 0), false
			if err == nil {
				_, got = accepts(t, c, s)
			}
			if got != want {
				t.Errorf("%s: %q: accepted %v, want %v", r, s, got, want)
			}
			if want {
				matches++
			} else {
				others++
			}
		}
	}
	if matches < 300 || others < 300 {
		t.Errorf("%d strings match and %d do not: want more", matches, others)
	}
}

func TestSpellingsOfPythonsRegexes(t *testing.T) {
	for re, c := range map[string]struct{ yes, no []string }{
		`a{,3}`:                           {texts(`a aaa`), texts(`aaaa a{,3}`)},
		`[{,3}]+a{,}`:                     {texts(`{ 3,aaa`), texts(`aa b`)},
		`\u4e00\U0001F600+\Z`:             {texts(`一😀 一😀😀`), texts(`一 u4e00`)},
		`(?#two letters)[a-z]{2}`:         {texts(`ab`), texts(`a abc`)},
		`[]a]+[^]]`:                       {texts(`]b a]c`), texts(`]] x`)},
		`(?P<n>a)b`:                       {texts(`ab`), texts(`a`)},
		`\Aab\Z`:                          {texts(`ab`), texts(`abZ`)},
		`(?!.*\.\.)(?!\.)[a-z.]{1,4}`:     {texts(`a a.b a.`), texts(`.a a..b abcde`)},
		`^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$`:  {texts(`1 -1.5 0 .5 +1.`), texts(`- . +. 1.2.3 a`)},
		`(?=.{3})(?:a|b)*c?`:              {texts(`aab abbc`), texts(`ab c`)},
		`\\u4e00\(?=a`:                    {[]string{`\u4e00(=a`, `\u4e00=a`}, texts(`一=a`)},
		`x(?:(?=a)|(?=b))[a-c]y(?![^z])z`: {texts(`xayz xbyz`), texts(`xcyz xaz`)},
	} {
		form, err := Regex(gpt2(), re)
		if err != nil {
			t.Errorf("%s: %v", re, err)
			continue
		}
		for i, text := range append(c.yes, c.no...) {
			if _, got := accepts(t, form, text); got != (i < len(c.yes)) {
				t.Errorf("%s: %s: accepted %v", re, text, got)
			}
		}
	}
}

func TestPatternsAreThoseOfECMA(t *testing.T) {
	for pattern, c := range map[string]struct{ yes, no []string }{
		`^\\s+$`:                   {[]string{" ", "\u00a0", "\u3000\ufeff", "\u2029"}, []string{"a", "", "\u200b"}},
		`^[\\S]\\S$`:               {[]string{"ab", "é\u200b"}, []string{"a ", "a\u00a0", "\u2003b"}},
		`^[^\\s\\-]$`:              {[]string{"a"}, []string{"\u00a0", "-", " "}},
		`^\\ud83d\\ude00\\u{e9}$`:  {[]string{"😀é"}, []string{"é"}},
		`^(?=.{2,4}$)[a-z]+x?$`:    {[]string{"ab", "abcx"}, []string{"a", "abcde"}},
		`^(?=.{1,4}\\.?$)[a-z.]+$`: {[]string{"ab", "abc."}, []string{"", "abcde", "a\n"}},
		`(?=ab)..c`:                {[]string{"xabcx"}, []string{"xaxc", "ab"}},
		`^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+M)?(T(?=\\d)(\\d+H)?(\\d+M)?)?)$`: {
			[]string{"P1W", "P1Y2M", "PT1H", "P1MT2M"}, []string{"P", "PT", "P1YT", "P1Y1W", "1W"}},
	} {
		form := compile(t, `{"type":"string","pattern":"`+pattern+`"}`, SchemaOptions{})
		for i, text := range append(c.yes, c.no...) {
			if _, got := accepts(t, form, `"`+strings.ReplaceAll(text, "\n", `\n`)+`"`); got != (i < len(c.yes)) {
				t.Errorf("%s: %q: accepted %v", pattern, text, got)
			}
		}
	}
}

func TestWhatARegexCannotSayNamesThePart(t *testing.T) {
	for re, want := range map[string]string{
		`x(?<=a)b`:                `"(?<=a)b": a lookbehind is not supported: want what comes before`,
		`x(?<!a)b`:                `a lookbehind is not supported`,
		`(a)\1`:                   `"\\1": a back-reference is not supported: want what it repeats, written out`,
		`(?P<x>a)(?P=x)`:          `"(?P=x)": a back-reference`,
		`a(?=b(?!c))`:             `"(?!c))": a lookahead within a lookahead is not supported`,
		`(?>a)`:                   `an atomic group is not supported: want (?:`,
		`(?=a`:                    `missing closing )`,
		`(?#a`:                    `missing closing )`,
		`(?=a)[\x{10f000}]`:       `want no characters from U+10F000`,
		`(?=(a|b)*a(a|b){20}).*c`: `more than`,
	} {
		_, err := Regex(gpt2(), re)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", re, err, want)
		}
	}
	_, err := JSONSchema(gpt2(), []byte(`{"pattern":"a{,3}"}`), SchemaOptions{})
	if err == nil || !strings.Contains(err.Error(), `"{,3}": want {0,3}`) {
		t.Errorf("{,3} in a pattern: %v", err)
	}
}
