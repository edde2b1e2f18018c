package constrain

// Regexes and grammars: what they accept, and which are refused.

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/walks"
)

// accepts feeds a text byte by byte. It reports whether the text can begin so, and whether it may
// end.
func accepts(t *testing.T, c *Constraint, text string) (begun, complete bool) {
	t.Helper()
	m := start(t, c)
	begun = walks.Feed(m, text)
	return begun, begun && m.Complete()
}

const jsonGrammar = `# JSON
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws

# Optional space: by convention, applied in this grammar after literal chars when allowed
ws ::= | " " | "\n" [ \t]{0,20}
`

func TestGrammarsAcceptWhatTheyDescribe(t *testing.T) {
	for _, c := range []struct {
		grammar string
		yes, no []string // complete texts; texts that are not
	}{
		{`root ::= "a"`, []string{"a"}, []string{"", "b", "aa"}},
		{"root ::= x\n  | \"b\" # two\n\n| (\"c\" \n| \"d\")\r\n\t| x x\nx ::= # one\n \"a\"\n# end\n",
			texts("a b c d aa"), texts("ab e aaa cd")},
		{"root ::= \"a\" |\n \"b\"\n", []string{"a", "b"}, []string{"", "ab"}},
		{`root ::= "ab"*`, []string{"", "ab", "abab"}, []string{"a", "aba", "abb"}},
		{`root ::= "a" "b"+ "c"?`, []string{"ab", "abbc"}, []string{"a", "ac", "abcc"}},
		{`root ::= [a-c]{2} [^a-c]{1,} .{0,2}`, []string{"abd", "ccd\n!", "aa😀bb"},
			[]string{"ab", "abc", "ad"}},
		{`root ::= ("a" | "b" "c"){1,2}`, []string{"a", "bca", "bcbc"}, []string{"", "aaa", "b"}},
		{`root ::= x{0} "b"
		x ::= "a"`, []string{"b"}, []string{"ab"}},
		{`root ::= "(" root ")" | ""`, []string{"", "((()))"}, []string{"(", "())"}},
		{`root ::= item ("," item)* # a list
		  item ::= [0-9]+ | "[" root "]"`, []string{"1,23,[4,[5],6]"}, []string{"1,", "[1"}},
		{`root ::= "\x41\u00e9\U0001F600\n\t\r\\\"\[\]"`, []string{"Aé😀\n\t\r\\\"[]"}, nil},
		{`root ::= [\]\\a-] [-x]`, []string{"]-", "\\x", "a-", "-x"}, []string{"[x", "bx"}},
		{`root ::= a_b-2 ` + "\r\n" + `a_b-2 ::= "x"`, []string{"x"}, nil},
		{`root ::= ("a"?)* "b"`, []string{"b", "aab"}, []string{"ba"}},
		{`root ::= a* "c"
a ::= "x" | "y"?`, []string{"c", "xyxc"}, []string{"cx"}},
		{"root ::= \"1\"\nroot ::= \"2\"", []string{"2"}, []string{"1"}},
		{jsonGrammar, []string{`{}`, `{ "a":[1.5e3,{"b" : null}]}`, "{\"k\":\"é\\u00ff\"\n  }"},
			[]string{`[`, `{"a"}`, `{"a":01}`, `{"a":"` + "\n" + `"}`}},
	} {
		g, err := Grammar(gpt2(), c.grammar)
		if err != nil {
			t.Errorf("%s: %v", c.grammar, err)
			continue
		}
		for _, text := range c.yes {
			if _, complete := accepts(t, g, text); !complete {
				t.Errorf("%s: %q is refused", c.grammar, text)
			}
		}
		for _, text := range c.no {
			if _, complete := accepts(t, g, text); complete {
				t.Errorf("%s: %q is accepted", c.grammar, text)
			}
		}
	}
}

func TestGrammarsThatCannotBeFollowedAreRefused(t *testing.T) {
	for grammar, want := range map[string]string{
		``:                                    "want a rule named root",
		`start ::= "a"`:                       "want a rule named root",
		`root = "a"`:                          "want ::=",
		`root ::= "a`:                         "want a character, found the end",
		`root ::= [a`:                         "want a character, found the end",
		`root ::= ("a"`:                       "want ), found the end",
		`root ::= "a")`:                       "want the end of the line",
		`root ::= *`:                          "want something before *",
		`root ::= "a"{3,2}`:                   "the smaller number first",
		`root ::= "a"{3001}`:                  "from 0 to 2000",
		`root ::= "\q"`:                       "want an escape",
		`root ::= b`:                          "rule b is not defined",
		"root ::= \"a\"\nx ::= (\n\n y":       "line 4",
		`root ::= <nothing at all>`:           "is not one token",
		`root ::= <[50257]>`:                  "want ids below 50257",
		`root ::= root "a"`:                   "no text can match it",
		"root ::= a\na ::= b\nb ::= \"x\"? a": "no text can match it",
		"root ::= \"a\"\n\"b\"":               "want the name of a rule",
		`root ::= "a" root`:                   "no text can match it",
		`root ::= [\uD800-\uDFFF] | "\uD800"`: "no text can match it",
		"root ::= " + strings.Repeat("(", 30000) + `"a"` + strings.Repeat(")", 30000): "500 groups in groups",
		`root ::= (("a"{2000}){2000}){2000}`:                                          "more than 131072 states",
		"root ::= \"\xff\"":                                                           "not valid UTF-8",
	} {
		_, err := Grammar(gpt2(), grammar)
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
			t.Errorf("%.60q: %v, want %q", grammar, err, want)
		}
	}
}

func TestGrammarsReadWholeTokens(t *testing.T) {
	v := gpt2()
	hello, world := 31373, 995 // "hello", " world"
	mask := make([]uint64, v.Words())
	open := func(m Matcher) []int {
		if err := m.Mask(mask); err != nil {
			t.Fatal(err)
		}
		return walks.Opened(mask)
	}
	g, err := Grammar(v, `root ::= <[31373]> !<[995]> "."`)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := g.Start()
	if ids := open(m); len(ids) != 1 || ids[0] != hello {
		t.Errorf("%v, want the id %d alone", ids, hello)
	}
	if err := m.Accept(hello); err != nil {
		t.Fatal(err)
	}
	if err := m.Accept(world); err == nil {
		t.Errorf("!<[995]> took 995")
	}
	if n := len(open(m)); n != 50255 { // all with bytes but one
		t.Errorf("%d ids are open, want 50255", n)
	}
	if err := m.Accept(262); err != nil {
		t.Fatal(err)
	}
	if ids := open(m); len(ids) != 1 || ids[0] != 13 {
		t.Errorf("%v, want the id of . alone", ids)
	}
}

// Python's and ECMA-262's regexes: lookaheads against a backtracking matcher, spellings by table.

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
	cases.NotShort(t)
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
		`^\\cJ[\\cI-\\cl]\\cj?$`:   {[]string{"\n\n", "\n\n\n"}, []string{"cJ\n", "\n\nj", "\nJ"}},
		`^(a{2}){3}$`:              {[]string{"aaaaaa"}, []string{"aaaaa"}},
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
		`a++b`:                    `"++": a possessive repetition is not supported: want it without the last +`,
		`[a-c]{2,3}+`:             `"{2,3}+": a possessive`,
		`a?+`:                     `"?+": a possessive`,
		`(a)?(?(1)b|c)`:           `"(?(": a condition is not supported: want each case written out, as in (?:with|without)`,
		`a{2}{3}`:                 `"{2}{3}": a repetition of a repetition: want a group, as in (?:a{2}){3}`,
		`a+?*`:                    `"+?*": a repetition of a repetition`,
		`[\cJ]`:                   `"\\c": a control letter is not supported: want its escape, such as \n or \x0a`,
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
	_, err = JSONSchema(gpt2(), []byte(`{"pattern":"a++"}`), SchemaOptions{})
	if err == nil || !strings.Contains(err.Error(), `"++": a possessive repetition`) {
		t.Errorf("++ in a pattern: %v", err)
	}
}

// Random regexes and grammars: what is accepted, and written, is what package regexp matches.

// string7 writes up to seven characters of those that forms are about.
func (m maker) string7() string {
	var b strings.Builder
	for range m.IntN(8) {
		b.WriteString(m.one("a", "b", "A", "é", "É", "ü", "😀", "😀b", "\n", " ", "1", "x", "_", "."))
	}
	return b.String()
}

// compare holds a constraint to what a regex matches, and returns how many strings match.
func (m maker) compare(t *testing.T, form string, c *Constraint, judge *regexp.Regexp) (matches int) {
	t.Helper()
	text, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	w := walks.New(m.Rand)
	if written, ok := w.Write(t, text, 30); ok && !judge.MatchString(written) {
		t.Errorf("%s: wrote %q, which %s does not match", form, written, judge)
	}
	for range 30 {
		s := m.string7()
		want := judge.MatchString(s)
		if _, got := accepts(t, c, s); got != want {
			t.Errorf("%s: %q: accepted %v, want %v", form, s, got, want)
		}
		if want {
			matches++
		}
	}
	return matches
}

// regex writes a regex of RE2's syntax.
func (m maker) regex(depth int) string {
	if depth == 0 {
		return m.one("a", "b", "é", "😀", ".", `\d`, `\w`, "[ab]", "[^a]", "[^é]", `\s`, `\n`, "(?s:.)",
			`\pL`, "[a-c😀]", `\x{e9}`, `\.`, "x")
	}
	switch m.IntN(11) {
	case 0, 1, 2:
		return m.regex(depth-1) + m.regex(depth-1)
	case 3:
		return "(" + m.regex(depth-1) + "|" + m.regex(depth-1) + ")"
	case 4, 5:
		return "(" + m.regex(depth-1) + ")" + m.one("*", "+?", "?", "{0,3}", "{2,3}")
	case 6, 7:
		return m.one(`\b`, `\B`, "^", "$", "(?m)^", "(?m)$", `\A`, `\z`, "(?i)", "(?U)") +
			m.regex(depth-1)
	case 8, 9:
		return m.regex(depth-1) + m.one(`\b`, `\B`, "$", "(?m:$)", "^", "(?m:^)")
	}
	return "(?i:" + m.regex(depth-1) + ")"
}

func TestRandomRegexesAreThoseOfPackageRegexp(t *testing.T) {
	n, matches := 300, 0
	if cases.Long {
		n = 30000
	}
	m := maker{rand.New(rand.NewPCG(1, 7))}
	for range n {
		re := m.regex(4)
		judge := regexp.MustCompile(`\A(?:` + re + `)\z`)
		c, err := Regex(gpt2(), re)
		if err == nil {
			matches += m.compare(t, re, c, judge)
			continue
		}
		if !strings.Contains(err.Error(), "no text can match") {
			t.Errorf("%s: %v", re, err)
		}
		for range 100 {
			if s := m.string7(); judge.MatchString(s) {
				t.Errorf("%s is refused, and matches %q", re, s)
			}
		}
	}
	if matches < n {
		t.Errorf("%d strings matched, want more", matches)
	}
}

// A twin writes rules of a grammar, and regexes that mean the same.
type twin struct {
	maker
	rules []string
}

func (m *twin) write(depth int) (grammar, re string) {
	if depth == 0 {
		both := [][2]string{{`"a"`, `a`}, {`"é"`, `é`}, {`"😀b"`, `(?:😀b)`}, {`[a-c]`, `[a-c]`},
			{`[^a]`, `[^a]`}, {`.`, `(?s:.)`}, {`"\n"`, `\n`}, {`[\x41é-ü]`, `[Aé-ü]`},
			{`"\u00e9"`, `é`}, {`[^\n\U0001F600]`, `[^\n😀]`}}
		one := both[m.IntN(len(both))]
		return one[0], one[1]
	}
	grammar, re = m.write(depth - 1)
	switch m.IntN(7) {
	case 0, 1:
		g, r := m.write(depth - 1)
		return grammar + " " + g, re + r
	case 2:
		g, r := m.write(depth - 1)
		return "(" + grammar + " | " + g + ")", "(?:" + re + "|" + r + ")"
	case 3, 4:
		often := m.one("*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}")
		return "(" + grammar + ")" + often, "(?:" + re + ")" + often
	}
	name := fmt.Sprintf("rule-%d", len(m.rules))
	m.rules = append(m.rules, name+" ::= "+grammar+m.one("", " # a comment", "  "))
	return name, "(?:" + re + ")"
}

func TestRandomGrammarsAreTheRegexesTheyMean(t *testing.T) {
	n, matches := 150, 0
	if cases.Long {
		n = 10000
	}
	m := maker{rand.New(rand.NewPCG(3, 7))}
	for range n {
		w := &twin{maker: m}
		grammar, re := w.write(4)
		text := "root ::= " + grammar + "\n" + strings.Join(w.rules, "\n") + "\n"
		c, err := Grammar(gpt2(), text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		matches += m.compare(t, text, c, regexp.MustCompile(`\A(?:`+re+`)\z`))
	}
	if matches < n {
		t.Errorf("%d strings matched, want more", matches)
	}
}
