package constrain

// Random regexes and grammars: what is accepted, and written, is what package regexp matches.

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/walks"
)

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
